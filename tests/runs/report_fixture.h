// A run as the report shows it, in memory and on disk: four ranks, one of them slow.
#pragma once

#include <filesystem>
#include <fstream>

#include "runs/evidence.h"
#include "runs/fixture.h"
#include "runs/report.h"

namespace muster::runs::testing {

inline ReportRun sample_run(const std::string& id = "20261130-101500-llama-tiny-a1f3",
                            int world = 4) {
  ReportRun run;
  run.record.id = id;
  run.record.case_name = "training/native/llama/tiny";
  run.record.target = "slurm";
  run.record.profile = "smoke";
  run.record.nodes = world;
  run.record.world = world;
  run.record.state = RunState::kFailed;
  run.record.created = TimePoint(std::chrono::seconds(1796033700));
  run.record.started = TimePoint(std::chrono::seconds(1796033702));
  run.record.ended = TimePoint(std::chrono::seconds(1796033760));
  run.record.outcome = Outcome::kFail;
  run.ranks = good_run({.world = world});
  for (RankEvents& rank : run.ranks) {
    for (json& event : rank.events) {
      if (event["event"] == "step") {
        event["wait_seconds"] = rank.rank == world - 1 ? 0.01 : 0.3;
        event["lr"] = 1e-3 * std::min(1.0, event["step"].get<int>() / 8.0);
      } else if (event["event"] == "end") {
        event["peak_memory"] = 912000000 + 1000000 * rank.rank;
      }
    }
  }
  Expectations asked = ask_all(world);
  asked.mfu_min = {};
  asked.tokens_per_second_min = {};
  run.verdict = judge(asked, run.ranks, exited());
  run.versions = versions(run.ranks);
  run.topology = topology(run.ranks);
  run.environment = {{"HOME", "/home/someone"}, {"HF_TOKEN", "REDACTED"}, {"OMP_NUM_THREADS", "1"}};
  run.manifest =
      "apiVersion: muster/v1\nkind: Case\nname: training/native/llama/tiny\nbatch: {micro: 2, "
      "seq_len: 128, steps: 40}\n";
  run.files = {{"manifest.yaml", std::string(64, 'a')},
               {"metrics/rank-00000.jsonl", std::string(64, 'b')}};
  return run;
}

/// The same as a run directory with its checksums; the record's directory is set.
inline ReportRun write_sample_run(const std::filesystem::path& directory) {
  ReportRun run = sample_run();
  run.record.directory = directory;
  std::filesystem::create_directories(directory / "metrics");
  const auto spill = [&directory](const std::string& file, const std::string& text) {
    std::ofstream(directory / file, std::ios::trunc) << text;
  };
  for (const RankEvents& rank : run.ranks) {
    std::ofstream(metrics_file(directory.string(), rank.rank)) << as_text(rank.events);
  }
  spill("run.json", to_json(run.record).dump());
  spill("manifest.yaml", run.manifest);
  spill("versions.json", run.versions.dump());
  spill("topology.json", run.topology.dump());
  spill("environment.json", run.environment.dump());
  spill("verdict.json", verdict_document(run.verdict).dump());
  if (!write_checksums(directory)) {
    throw std::runtime_error("no checksums");
  }
  return run;
}

}  // namespace muster::runs::testing
