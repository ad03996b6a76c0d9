// Small helpers that tests share.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace muster::testing {

/// A directory of its own, removed with everything in it at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("can't make " + pattern);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The root of the checkout.
inline std::filesystem::path source_dir() {
  return MUSTER_SOURCE_DIR;
}

/// The root of the build; programs are in its bin/.
inline std::filesystem::path binary_dir() {
  return MUSTER_BINARY_DIR;
}

}  // namespace muster::testing
