// Reads what was appended to a file since the last look.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace muster::launch {

/// Whole lines of a file that grows. A file that is not there yet has none; one that shrank is read
/// from its start.
class Tail {
 public:
  /// `position`: where to start.
  explicit Tail(std::filesystem::path path, std::uint64_t position = 0)
      : path_(std::move(path)), position_(position) {}

  /// Lines completed since the last call, without their line breaks.
  std::vector<std::string> lines();

  /// What follows the last line break: for when nothing more will be written.
  std::string take_rest() { return std::exchange(rest_, {}); }

  /// The text appended since the last call, whole lines or not.
  std::string text();

  /// Bytes read so far.
  std::uint64_t position() const { return position_; }

 private:
  std::filesystem::path path_;
  std::uint64_t position_ = 0;
  std::string rest_;  ///< of a line that is not whole yet
};

}  // namespace muster::launch
