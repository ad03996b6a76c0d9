#include "health/json_text.h"

namespace muster::health {

std::vector<JsonText> json_texts(const std::vector<Line>& stream) {
  std::vector<JsonText> found;
  JsonText now;
  int depth = 0;
  bool in_string = false, escaped = false;
  for (const Line& line : stream) {
    const std::size_t start = line.text.find_first_not_of(" \t");
    for (std::size_t i = 0; i < line.text.size(); ++i) {
      const char c = line.text[i];
      if (depth == 0) {
        // Talk may hold brackets: a document starts its line.
        if ((c == '{' || c == '[') && (i == start || !found.empty())) {
          now = {std::string(1, c), line.number, true, line.source};
          depth = 1;
        }
        continue;
      }
      now.text += c;
      if (in_string) {
        if (escaped)
          escaped = false;
        else if (c == '\\')
          escaped = true;
        else if (c == '"')
          in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        found.push_back(std::move(now));
        now = {};
      }
    }
    if (depth > 0) now.text += '\n';
  }
  if (depth > 0) {
    now.whole = false;
    found.push_back(std::move(now));
  }
  return found;
}

}  // namespace muster::health
