// A directory that goes away with the test, and damage to files in it.
#pragma once

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace muster::train {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    // In memory where there is such a place: these tests flush thousands of files.
    const std::filesystem::path shared_memory = "/dev/shm";
    const std::filesystem::path parent = std::filesystem::is_directory(shared_memory)
                                             ? shared_memory
                                             : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "muster-train-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void spill(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// Flips one bit of a file while it lives.
class FlippedBit {
 public:
  FlippedBit(std::filesystem::path path, std::size_t offset, int bit = 0)
      : path_(std::move(path)), content_(slurp(path_)) {
    std::string changed = content_;
    changed[offset] = static_cast<char>(changed[offset] ^ (1 << bit));
    spill(path_, changed);
  }
  ~FlippedBit() { spill(path_, content_); }

 private:
  std::filesystem::path path_;
  std::string content_;
};

/// Cuts a file to a length while it lives.
class CutFile {
 public:
  CutFile(std::filesystem::path path, std::size_t length)
      : path_(std::move(path)), content_(slurp(path_)) {
    spill(path_, content_.substr(0, length));
  }
  ~CutFile() { spill(path_, content_); }

 private:
  std::filesystem::path path_;
  std::string content_;
};

}  // namespace muster::train
