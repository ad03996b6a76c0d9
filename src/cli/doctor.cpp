// muster doctor: what is there on this machine for each capability, what is missing, and the
// command that mends it.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "base/text.h"
#include "cli/doctor_needs.h"
#include "cli/engine_program.h"

namespace muster::cli {
namespace {

/// What was found for one need.
struct Examined {
  std::string capability;
  std::string name;
  bool present = false;
  std::string evidence;
  std::vector<std::string> packages;  ///< that mend it
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The first thing that looks like a version: figures with a dot between, else the first figure.
std::string version_in(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() &&
           (is_digit(text[end]) ||
            (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])))) {
      ++end;
    }
    std::string word = text.substr(i, end - i);
    if (word.find('.') != std::string::npos) return word;
    if (plain.empty()) plain = word;
    i = end;
  }
  return plain;
}

std::vector<int> parts_of(const std::string& version) {
  std::vector<int> parts{0};
  for (const char c : version) {
    if (c == '.') {
      parts.push_back(0);
    } else {
      parts.back() = std::min(parts.back(), 99999) * 10 + (c - '0');
    }
  }
  return parts;
}

bool at_least(const std::string& version, const std::string& minimum) {
  return parts_of(version) >= parts_of(minimum);
}

/// The version that the program tells; failure: why it does not.
Result<std::string> ask_version(Context& context, const std::string& path, const Need& need) {
  Command command;
  command.argv = {path};
  command.argv.insert(command.argv.end(), need.version_arguments.begin(),
                      need.version_arguments.end());
  command.time_limit = std::chrono::seconds(10);
  command.grace = std::chrono::seconds(1);
  const auto result = context.processes.run(command);
  if (!result) return result.error();
  if (result->timed_out) return failure("doctor", path + " does not answer within 10 s");
  const std::string version = version_in(result->out.empty() ? result->err : result->out);
  if (result->exit_code == 0 && !version.empty()) return version;
  return failure("doctor",
                 fmt::format("{} does not tell its version: {}", path,
                             first_line(result->err.empty() ? result->out : result->err)));
}

Examined find_program(Context& context, const Need& need, Examined finding) {
  finding.evidence = fmt::format("{} is not in PATH", fmt::join(need.programs, ", "));
  for (const std::string& program : need.programs) {
    const auto path = context.processes.find(program);
    if (!path) continue;
    if (need.version_arguments.empty()) {
      finding.present = true;
      finding.evidence = *path;
      return finding;
    }
    const auto version = ask_version(context, *path, need);
    if (!version) {
      finding.evidence = version.findings().front().message;
      finding.packages.clear();  // it is installed; something else is wrong
      continue;
    }
    if (!need.minimum.empty() && !at_least(*version, need.minimum)) {
      finding.evidence =
          fmt::format("{} is version {}, {} or newer is needed", *path, *version, need.minimum);
      continue;
    }
    finding.present = true;
    finding.packages = need.packages;
    finding.evidence = fmt::format("{} {}", *path, *version);
    return finding;
  }
  return finding;
}

/// Prefixes below which libraries are looked for.
std::vector<std::string> prefixes(const Context& context) {
  std::vector<std::string> result;
  const auto given = context.environment.find("CMAKE_PREFIX_PATH");
  if (given != context.environment.end()) {
    std::string word;
    for (const char c : given->second + ":") {
      if (c != ':' && c != ';') {
        word += c;
      } else if (!word.empty()) {
        result.push_back(std::exchange(word, {}));
      }
    }
  }
  result.insert(result.end(), {"/usr/local", "/usr"});
  return result;
}

Examined find_library(Context& context, const Need& need, Examined finding) {
  for (const std::string& prefix : prefixes(context)) {
    for (const std::string& file : need.files) {
      const std::string path = fmt::format("{}/{}", prefix, file);
      if (!context.files.exists(path)) continue;
      finding.present = true;
      finding.evidence = path;
      return finding;
    }
  }
  finding.evidence =
      fmt::format("no {} below {}", need.files.front(), fmt::join(prefixes(context), ", "));
  return finding;
}

std::vector<Examined> examine(Context& context, const Capability& capability) {
  std::vector<Examined> findings;
  for (const Need& need : capability.needs) {
    Examined finding{capability.name, need.name, false, "", need.packages};
    findings.push_back(need.programs.empty() ? find_library(context, need, std::move(finding))
                                             : find_program(context, need, std::move(finding)));
  }
  if (capability.engine) {
    const auto engine = find_engine(context);
    findings.push_back(
        {capability.name,
         "muster-train",
         engine.has_value(),
         engine ? engine->string() : fmt::format("no {}", engine_places(context).front().string()),
         {}});
  }
  return findings;
}

/// The commands that mend what is missing.
std::vector<std::string> mending(const std::vector<Examined>& findings) {
  std::set<std::string> packages;
  bool engine = false;
  for (const Examined& finding : findings) {
    if (finding.present) continue;
    packages.insert(finding.packages.begin(), finding.packages.end());
    engine = engine || finding.name == "muster-train";
  }
  std::vector<std::string> commands;
  if (!packages.empty())
    commands.push_back(fmt::format("apt-get install {}", fmt::join(packages, " ")));
  if (engine) commands.emplace_back(kBuildEngine);
  return commands;
}

void diagnose(Context& context, const std::vector<std::string>& wanted) {
  Output output;
  output.name = "doctor";
  output.judges = true;
  output.rows = "checks";
  output.columns = {{"CAPABILITY", "capability"},
                    {"NEEDS", "need"},
                    {"OUTCOME", "outcome"},
                    {"SEEN", "evidence"}};
  Verdict verdict;
  std::vector<Examined> all;
  auto rows = nlohmann::ordered_json::array();
  auto summary = nlohmann::ordered_json::array();
  for (const Capability& capability : capabilities()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), capability.name) == wanted.end())
      continue;
    const std::vector<Examined> findings = examine(context, capability);
    for (const Examined& finding : findings) {
      const Check check{capability.name + "/" + finding.name,
                        finding.present ? Outcome::kPass : Outcome::kUnknown, finding.evidence};
      verdict.add(check);
      nlohmann::ordered_json row = to_json(check);
      row["capability"] = capability.name;
      row["need"] = finding.name;
      rows.push_back(std::move(row));
    }
    const bool ready = std::all_of(findings.begin(), findings.end(),
                                   [](const Examined& one) { return one.present; });
    nlohmann::ordered_json line;
    line["name"] = capability.name;
    line["purpose"] = capability.purpose;
    line["ready"] = ready;
    line["mend"] = mending(findings);
    summary.push_back(std::move(line));
    all.insert(all.end(), findings.begin(), findings.end());
  }
  output.checks = verdict.checks();
  const std::vector<std::string> commands = mending(all);
  output.data["outcome"] = to_string(verdict.outcome());
  output.data["capabilities"] = std::move(summary);
  output.data["checks"] = std::move(rows);
  output.data["mend"] = commands;
  context.print(output);
  if (context.exit_code != kExitOk) return;
  const Format format = context.format();
  if ((format == Format::kTable || format == Format::kWide) && !commands.empty()) {
    context.out << "\nTo have all of it:\n";
    for (const std::string& command : commands) context.out << "  " << command << '\n';
  }
  context.exit_code = exit_code(verdict.outcome());
}

}  // namespace

void add_doctor(CLI::App& root, Context& context) {
  std::vector<std::string> names;
  for (const Capability& capability : capabilities()) names.push_back(capability.name);
  CLI::App* sub = root.add_subcommand(
      "doctor", "What is missing on this machine, and the command that mends it");
  sub->group("This machine");
  sub->footer(
      "Exit code 4 when something is missing for the capabilities named (none named: for any of "
      "them).");
  auto wanted = std::make_shared<std::vector<std::string>>();
  sub->add_option("capability", *wanted, "What you want to do; default: everything")
      ->check(CLI::IsMember(names))
      ->type_name("CAPABILITY");
  sub->callback([&context, wanted] { diagnose(context, *wanted); });
}

}  // namespace muster::cli
