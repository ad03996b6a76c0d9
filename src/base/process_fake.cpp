#include <utility>

#include "base/process.h"

namespace muster {

void FakeProcessRunner::answer(std::string prefix, Answer answer) {
  answers_[std::move(prefix)] = std::move(answer);
}

void FakeProcessRunner::answer(std::string prefix, ProcessResult result) {
  answer(std::move(prefix),
         [result = std::move(result)](const Command&) -> Result<ProcessResult> { return result; });
}

Result<ProcessResult> FakeProcessRunner::run(const Command& command, const Watcher& watcher) {
  asked_.push_back(command);
  std::string line;
  for (const std::string& argument : command.argv) line += (line.empty() ? "" : " ") + argument;
  const Answer* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [prefix, answer] : answers_) {
    if (line.rfind(prefix, 0) != 0 || (best != nullptr && prefix.size() < best_length)) continue;
    best = &answer;
    best_length = prefix.size();
  }
  if (best == nullptr) {
    const std::string program = command.argv.empty() ? "" : command.argv[0];
    return failure("process-start", "can't start '" + program + "': No such file or directory");
  }
  Result<ProcessResult> result = (*best)(command);
  if (result && watcher && !watcher()) result->interrupted = true;
  return result;
}

std::optional<std::string> FakeProcessRunner::find(const std::string& program) const {
  for (const auto& [prefix, answer] : answers_) {
    if (prefix.substr(0, prefix.find(' ')) == program) return "/usr/bin/" + program;
  }
  return std::nullopt;
}

}  // namespace muster
