// muster profile: what a profile says about where the time went.
#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "base/text.h"
#include "cli/context.h"
#include "runs/profile.h"
#include "runs/run_store.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

struct ProfileRequest {
  std::vector<std::string> sources;
  std::string merged;
};

/// What `nsys stats` says of a report, as it would print it.
Result<std::string> statistics_of(Context& context, const fs::path& report,
                                  const facts::Nsight& rules) {
  if (!context.processes.find("nsys")) {
    return Failure(error_at({report.string(), 0, 0}, "profile-nsys",
                            "only nsys can read a report, and there is none in PATH",
                            "install Nsight Systems, or `nsys stats --format csv` where it is"));
  }
  Command command;
  command.argv = {"nsys", "stats"};
  for (const std::string& name : rules.statistics) {
    command.argv.insert(command.argv.end(), {"--report", name});
  }
  command.argv.insert(command.argv.end(),
                      {"--format", "csv", "--force-export=true", report.string()});
  command.time_limit = std::chrono::minutes(10);
  auto ended = context.processes.run(command);
  if (!ended) return ended.error();
  if (ended->exit_code != 0) {
    return Failure(error_at({report.string(), 0, 0}, "profile-nsys",
                            fmt::format("nsys stats ended with {}", ended->exit_code),
                            first_line(ended->err)));
  }
  return std::move(ended->out);
}

/// Reads one source. False: it was refused, and why has been said.
bool read_source(Context& context, const std::string& source, const facts::Nsight& rules,
                 runs::Profile& profile) {
  fs::path path = (context.directory / source).lexically_normal();
  auto info = context.files.info(path);
  if (!info) {
    auto store = context.files.exists(context.runs_dir())
                     ? runs::RunStore::open(context.runs_dir(), context.clock)
                     : Result<runs::RunStore>(failure(
                           "profile-source", fmt::format("there is no file and no run {}", source),
                           "a file, a folder, or a run as `muster list runs` names it"));
    const auto record = store ? store->find(source) : Result<runs::RunRecord>(store.error());
    if (!record) {
      context.fail(record.findings(), kExitBadInput);
      return false;
    }
    path = record->directory;
    info = context.files.info(path);
  }
  if (info && info->kind == FileInfo::Kind::kDirectory) {
    // Of a run's directory only what is a profile.
    if (context.files.exists(path / "run.json")) path /= runs::kProfileFolder;
    if (!context.files.exists(path)) return true;
    if (auto read = runs::read_profile_folder(context.files, path, rules, profile); !read) {
      context.fail(read.findings(), kExitBadInput);
      return false;
    }
    return true;
  }
  const std::string end = path.extension().string();
  const bool report = end == ".nsys-rep" || end == ".sqlite" || end == ".qdrep";
  const auto text = report ? statistics_of(context, path, rules) : context.files.read(path);
  if (!text) {
    context.fail(text.findings(), report ? kExitUnverified : kExitBadInput);
    return false;
  }
  runs::read_profile(*text, path.string(), rules, profile);
  return true;
}

std::string seconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

/// A line for each rank, then what is remarkable.
std::string text_of(const runs::Breakdown& profile) {
  const bool nsys = profile.source == "nsys";
  std::string out = fmt::format("bound by: {} ({})\n", profile.bound, profile.source);
  if (!profile.evidence.empty()) out += profile.evidence + "\n";
  out += fmt::format("{:>5}  {:<16}  {:>10}  {:>13}  {:>10}  {:>10}  {:>10}  {}\n", "RANK", "HOST",
                     "OWN s", "COMMUNICATION", "HIDDEN", "WAITING", nsys ? "MEMORY" : "LATE",
                     "BOUND BY");
  for (const runs::RankBreakdown& rank : profile.ranks) {
    const runs::TimeShares& shares = rank.shares;
    out += fmt::format("{:>5}  {:<16}  {:>10}  {:>13}  {:>10}  {:>10}  {:>10}  {}\n", rank.rank,
                       rank.host.empty() ? "-" : rank.host, seconds(shares.own),
                       seconds(shares.communication), seconds(shares.hidden),
                       seconds(shares.waiting), seconds(nsys ? shares.memory : shares.late),
                       profile.straggler && *profile.straggler == rank.rank
                           ? "straggler: the others wait for it"
                           : rank.bound);
  }
  for (const runs::Remark& remark : profile.remarks)
    out += fmt::format("{}: {}{}\n", remark.rule, remark.message,
                       remark.hint.empty() ? "" : "; look at: " + remark.hint);
  for (const std::string& gap : profile.gaps) out += "not known: " + gap + "\n";
  return out;
}

void analyse(Context& context, const ProfileRequest& request) {
  const auto rules = facts::load_nsight(context.files, context.project());
  if (!rules) return context.fail(rules.findings(), kExitBadInput);
  runs::Profile profile;
  for (const std::string& source : request.sources) {
    if (!read_source(context, source, *rules, profile)) return;
  }
  const auto breakdowns = runs::break_down(profile, *rules);
  Output output;
  output.name = "profile";
  output.text = "";
  auto& list = output.data["profiles"] = nlohmann::ordered_json::array();
  bool known = false;
  for (const runs::Breakdown& one : breakdowns) {
    list.push_back(runs::to_json(one));
    *output.text += (output.text->empty() ? "" : "\n") + text_of(one);
    known |= one.bound != "unknown";
  }
  output.data["gaps"] = profile.gaps;
  for (const std::string& gap : profile.gaps) *output.text += "not known: " + gap + "\n";
  if (breakdowns.empty()) {
    output.data["bound"] = "unknown";
    *output.text += fmt::format("unknown: no profile in {} file{}\n", profile.files,
                                profile.files == 1 ? "" : "s");
  } else {
    output.data["bound"] = breakdowns.front().bound;
  }
  if (!request.merged.empty() && !profile.traces.empty()) {
    const auto written = context.files.write(
        (context.directory / request.merged).lexically_normal(), runs::merged_text(profile.traces));
    if (!written) return context.fail(written.findings(), kExitBadInput);
  }
  context.print(output);
  if (!known && context.exit_code == kExitOk) context.exit_code = kExitUnverified;
}

}  // namespace

void add_profile(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("profile", "Where the time of a run went");
  sub->group("Runs");
  sub->require_subcommand(1);
  CLI::App* of = sub->add_subcommand(
      "analyse",
      "What a profile is bound by, rank by rank: traces of the native engine, and CSV "
      "or JSON of nsys stats");
  auto request = std::make_shared<ProfileRequest>();
  of->add_option("source", request->sources,
                 "Files, folders, or runs (id, the beginning of one, last)")
      ->required()
      ->type_name("FILE|DIR|RUN");
  of->add_option("--merged", request->merged,
                 "Write the traces of all ranks into this file, for a viewer that opens one")
      ->type_name("FILE");
  of->footer(
      "Exit code 4 when nothing could be told. Reports of Nsight Systems (.nsys-rep) are read with "
      "nsys, which must be there.\n\nExample:\n  muster profile analyse last");
  of->callback([&context, request] { analyse(context, *request); });
}

}  // namespace muster::cli
