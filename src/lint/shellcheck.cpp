#include "lint/shellcheck.h"

#include <chrono>

#include <fmt/format.h>

#include "base/schema.h"

namespace muster::lint {

Result<Findings> parse_shellcheck(const std::string& text) {
  const auto document = parse_json(text, "shellcheck");
  if (!document) return document.error();
  const Node* comments = document->is_mapping() ? document->find("comments") : nullptr;
  if (!comments || !comments->is_sequence())
    return failure("shellcheck-output", "shellcheck's answer has no comments");
  Findings findings;
  for (const Node& comment : comments->items()) {
    const std::string level = text_at(comment, "level");
    if (level != "error" && level != "warning") continue;
    const Position where{text_at(comment, "file"),
                         static_cast<int>(integer_at(comment, "line").value_or(1)),
                         static_cast<int>(integer_at(comment, "column").value_or(1))};
    const std::string rule =
        fmt::format("shellcheck-SC{:04}", integer_at(comment, "code").value_or(0));
    const std::string message = text_at(comment, "message");
    findings.push_back(level == "error" ? error_at(where, rule, message)
                                        : warning_at(where, rule, message));
  }
  return findings;
}

Result<Findings> shellcheck(ProcessRunner& processes,
                            const std::vector<std::filesystem::path>& files) {
  if (!processes.find("shellcheck")) return failure("shellcheck-missing", "it is not installed");
  Command command;
  command.argv = {"shellcheck", "--format=json1", "--shell=bash", "--norc"};
  for (const std::filesystem::path& file : files) command.argv.push_back(file.string());
  command.time_limit = std::chrono::minutes(1);
  const auto result = processes.run(command);
  if (!result) return result.error();
  if (result->timed_out) return failure("shellcheck-time", "it did not end within a minute");
  // 1 means that it found something.
  if (result->exit_code != 0 && result->exit_code != 1)
    return failure("shellcheck-failed", fmt::format("it ended with {}", result->exit_code));
  return parse_shellcheck(result->out);
}

}  // namespace muster::lint
