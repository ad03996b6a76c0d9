// From a run directory to what the report says.
#include <algorithm>

#include <fmt/format.h>

#include "base/file_system.h"
#include "runs/report.h"

namespace muster::runs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Null when the file is not there: a run that has not come so far.
Result<json> read_json(const fs::path& path) {
  if (!real_file_system().exists(path)) {
    return json();
  }
  const auto text = real_file_system().read(path);
  if (!text) {
    return text.error();
  }
  json value = json::parse(*text, nullptr, false);
  if (!value.is_object()) {
    return Failure(error_at({path.string(), 1, 1}, "run-file", "this is not a JSON object",
                            "the file as muster wrote it"));
  }
  return value;
}

Result<std::string> read_text(const fs::path& path) {
  return real_file_system().exists(path) ? real_file_system().read(path) : std::string();
}

Result<Verdict> parse_verdict(const json& document, const std::string& file) {
  Verdict verdict;
  if (document.is_null()) {
    return verdict;
  }
  const auto bad = [&file](const std::string& message) {
    return Failure(error_at({file, 1, 1}, "run-verdict", message, "the file as muster wrote it"));
  };
  const auto checks = document.find("checks");
  if (checks == document.end() || !checks->is_array()) {
    return bad("there is no list \"checks\"");
  }
  for (const json& check : *checks) {
    if (!check.is_object()) {
      return bad("a check is not an object");
    }
    const auto text = [&check](const char* key) {
      const auto found = check.find(key);
      return found != check.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const std::string outcome = text("outcome");
    const auto same = [&outcome](Outcome one) { return outcome == to_string(one); };
    constexpr Outcome kOutcomes[] = {Outcome::kPass, Outcome::kUnknown, Outcome::kFail};
    const auto* found = std::find_if(std::begin(kOutcomes), std::end(kOutcomes), same);
    if (found == std::end(kOutcomes)) {
      return bad(fmt::format("check \"{}\" has no known outcome", text("name")));
    }
    verdict.add(text("name"), *found, text("evidence"));
  }
  return verdict;
}

}  // namespace

Result<ReportRun> load_report_run(const RunRecord& record) {
  ReportRun run;
  run.record = record;
  const fs::path& directory = record.directory;
  for (const auto& [name, into] : {std::pair{"versions.json", &run.versions},
                                   {"topology.json", &run.topology},
                                   {"environment.json", &run.environment},
                                   {"bench.json", &run.bench}}) {
    auto value = read_json(directory / name);
    if (!value) {
      return value.error();
    }
    *into = std::move(*value);
  }
  const auto document = read_json(directory / "verdict.json");
  if (!document) {
    return document.error();
  }
  auto verdict = parse_verdict(*document, (directory / "verdict.json").string());
  if (!verdict) {
    return verdict.error();
  }
  run.verdict = std::move(*verdict);
  auto manifest = read_text(directory / "manifest.yaml");
  if (!manifest) {
    return manifest.error();
  }
  run.manifest = std::move(*manifest);
  const auto sums = read_text(directory / "checksums.sha256");
  if (!sums) {
    return sums.error();
  }
  auto files = parse_checksums(*sums, (directory / "checksums.sha256").string());
  if (!files) {
    return files.error();
  }
  run.files = std::move(*files);
  run.ranks = read_rank_events(directory.string());
  return run;
}

}  // namespace muster::runs
