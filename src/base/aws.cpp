#include "base/aws.h"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCommandLimit{60'000};

/// "aws batch describe-jobs".
std::string aws_verb(const std::vector<std::string>& argv) {
  return fmt::format("{} {} {}", argv[0], argv[1], argv[2]);
}

/// "arn:aws:batch:us-east-1:…" -> "us-east-1". The settings of this machine may name another.
std::string region_of(const std::string& arn) {
  std::size_t from = 0;
  for (int part = 0; part < 3; ++part) {
    from = arn.find(':', from);
    if (from == std::string::npos) return {};
    ++from;
  }
  return arn.substr(from, arn.find(':', from) - from);
}

std::string first_aws_line(const std::string& text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find_first_of("\r\n", start) - start);
}

}  // namespace

Result<std::string> ask_aws(ProcessRunner& processes, std::vector<std::string> argv,
                            const std::string& arn) {
  const std::string what = aws_verb(argv);
  Command command;
  command.argv = std::move(argv);
  if (const std::string region = region_of(arn); !region.empty()) {
    command.argv.emplace_back("--region");
    command.argv.push_back(region);
  }
  command.argv.emplace_back("--output");
  command.argv.emplace_back("json");
  command.env = {{"AWS_PAGER", ""}};
  command.time_limit = kCommandLimit;
  command.grace = milliseconds(1000);
  auto answer = processes.run(command);
  if (!answer) return answer.error();
  if (answer->timed_out || answer->exit_code != 0) return Failure(aws_failure(what, *answer));
  return std::move(answer->out);
}

Failure odd_aws_answer(const std::string& command, const std::string& text) {
  constexpr std::size_t kShown = 200;
  return failure("aws-output", fmt::format("the answer of {} is not understood: {}", command,
                                           text.empty() ? "it is empty" : text.substr(0, kShown)));
}

Finding aws_failure(const std::string& what, const ProcessResult& result) {
  if (result.timed_out)
    return error_at({}, "aws-time", what + " did not answer within its time limit");
  const std::string said = first_aws_line(result.err);
  static constexpr std::array<std::pair<std::string_view, const char*>, 8> kMended = {{
      {"Unable to locate credentials", "aws configure, or export AWS_PROFILE"},
      {"could not be found", "aws configure list-profiles shows the profiles there are"},
      {"must specify a region", "export AWS_REGION"},
      {"ExpiredToken", "new credentials: aws sso login, or as your site does it"},
      {"expired", "new credentials: aws sso login, or as your site does it"},
      {"security token included in the request is invalid",
       "aws sts get-caller-identity shows whose"},
      {"AccessDenied", "a role that allows the action named"},
      {"Could not connect to the endpoint", "is the Region right, and the network there?"},
  }};
  std::string hint;
  for (const auto& [words, mended] : kMended) {
    if (said.find(words) == std::string::npos) continue;
    hint = mended;
    break;
  }
  return error_at({}, "aws-failed",
                  fmt::format("{}: {}", what,
                              said.empty() ? fmt::format("exit code {}", result.exit_code) : said),
                  hint);
}

std::string aws_words(const Findings& findings) {
  const Finding& first = findings.front();
  return first.hint.empty() ? first.message : first.message + " (" + first.hint + ")";
}

}  // namespace muster
