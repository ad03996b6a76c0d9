#include "launch/dockerfile_blocks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace muster::launch {

Result<std::string> fill_blocks(const std::string& text, const std::string& file,
                                const FileSystem& files, const std::filesystem::path& project) {
  constexpr std::string_view kBegin = "# >>> ";
  std::string filled;
  std::size_t at = 0;
  while (true) {
    std::size_t begin = text.find(kBegin, at);
    while (begin != std::string::npos && begin > 0 && text[begin - 1] != '\n')
      begin = text.find(kBegin, begin + 1);
    if (begin == std::string::npos) break;
    const std::size_t from = begin + kBegin.size();
    const std::string name = text.substr(from, text.find_first_of(":\n", from) - from);
    const std::string end_line = "# <<< " + name + "\n";
    const std::size_t end = text.find("\n" + end_line, begin);
    const std::string source = fmt::format("test_cases/common/{}.block", name);
    if (end == std::string::npos) {
      return Failure(error_at(position_at(text, begin, file), "render-block",
                              fmt::format("the block {} does not end", name),
                              "a line of its own: # <<< " + name));
    }
    const auto block = files.read(project / source);
    if (!block || name.find('/') != std::string::npos) {
      return Failure(error_at(position_at(text, begin, file), "render-block",
                              fmt::format("{} is not there", source)));
    }
    filled += text.substr(at, begin - at);
    filled += fmt::format("# >>> {}: rendered from {}, change that\n{}{}", name, source, *block,
                          end_line);
    at = end + 1 + end_line.size();
  }
  return filled + text.substr(std::min(at, text.size()));
}

}  // namespace muster::launch
