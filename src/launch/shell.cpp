#include "launch/shell.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace muster::launch {

std::string shell_quote(const std::string& text) {
  const auto safe = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=,+@%^").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), safe)) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string exports(const Assignments& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text += "export " + name + "=" + shell_quote(value) + "\n";
  return text;
}

std::string command_lines(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool option = words[i].starts_with("-");
    if (i > 0) text += option ? " \\\n  " : " ";
    text += shell_quote(words[i]);
  }
  return text;
}

std::string slurm_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    pattern += c;
    if (c == '%') pattern += c;
  }
  return pattern;
}

std::string wait_for_all(const std::string& index, const std::string& count) {
  return fmt::format(
      "# 127 is also what bash says when all have ended already.\n"
      "for (({0} = 0; {0} < {1}; {0}++)); do\n"
      "  wait -n || {{ code=$?; [ $code = 127 ] && [ -z \"$(jobs -pr)\" ] && break\n"
      "    kill $(jobs -p) 2>/dev/null; wait; exit $code; }}\n"
      "done\n"
      "for pid in \"${{pids[@]}}\"; do wait \"$pid\" || exit; done",
      index, count);
}

}  // namespace muster::launch
