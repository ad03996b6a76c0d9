#include "launch/tail.h"

#include <fstream>
#include <system_error>

namespace muster::launch {

std::string Tail::text() {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path_, error);
  if (error) return {};
  if (size < position_) {
    position_ = 0;
    rest_.clear();
  }
  if (size == position_) return {};
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(position_));
  std::string text(static_cast<std::size_t>(size - position_), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  position_ += text.size();
  return text;
}

std::vector<std::string> Tail::lines() {
  rest_ += text();
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos;
       end = rest_.find('\n', start)) {
    lines.push_back(rest_.substr(start, end - start));
    start = end + 1;
  }
  rest_.erase(0, start);
  return lines;
}

}  // namespace muster::launch
