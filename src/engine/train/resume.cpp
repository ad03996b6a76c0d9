#include "engine/train/resume.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/train/agreement.h"

namespace muster::train {

namespace {

// Rank 0's steps, on all ranks.
std::vector<std::int64_t> agreed_steps(comm::Communicator& comm, const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  if (comm.rank() == 0) steps = store.steps();
  const std::int64_t count = from_first(comm, static_cast<std::int64_t>(steps.size()));
  steps.resize(static_cast<std::size_t>(count));
  for (std::int64_t& step : steps) step = from_first(comm, step);
  return steps;
}

// Opens a checkpoint and verifies this rank's share of its files. The second value: whether all
// ranks found theirs whole.
std::pair<Result<Checkpoint>, bool> open_together(comm::Communicator& comm,
                                                  const std::filesystem::path& path) {
  Result<Checkpoint> checkpoint = failure("checkpoint-missing", "not opened");
  work_together(comm, [&] {
    checkpoint = Checkpoint::open(path);
    if (!checkpoint) return;
    const std::size_t files = checkpoint->manifest().files.size();
    for (auto index = static_cast<std::size_t>(comm.rank()); index < files;
         index += static_cast<std::size_t>(comm.size())) {
      if (auto verified = checkpoint->verify_file(index); !verified) {
        checkpoint = verified.error();
        return;
      }
    }
  });
  const bool whole = largest(comm, checkpoint.ok() ? 0 : 1) == 0;
  return {std::move(checkpoint), whole};
}

Finding seen_by_others(const std::filesystem::path& path) {
  return error_at({path.string()}, "checkpoint-damaged",
                  "another rank found this checkpoint damaged", "see the message of that rank");
}

}  // namespace

Result<Resumption> choose_checkpoint(comm::Communicator& comm, const CheckpointStore& store,
                                     const std::string& resume) {
  Resumption result;
  if (resume != "auto" && resume != "never") {
    auto [checkpoint, whole] = open_together(comm, resume);
    if (!checkpoint) return checkpoint.error();
    if (!whole) return Failure(seen_by_others(resume));
    result.checkpoint = std::move(*checkpoint);
    return result;
  }
  const std::vector<std::int64_t> steps = agreed_steps(comm, store);
  if (steps.empty()) return result;
  if (resume == "never") {
    return Failure(error_at({store.path(steps.front()).string()}, "checkpoint-present",
                            "--resume never, but there are checkpoints of an earlier run here",
                            "choose another --out, remove them, or pass --resume auto"));
  }
  for (const std::int64_t step : steps) {
    auto [checkpoint, whole] = open_together(comm, store.path(step));
    if (whole) {
      result.checkpoint = std::move(*checkpoint);
      return result;
    }
    Findings why =
        checkpoint.ok() ? Findings{seen_by_others(store.path(step))} : checkpoint.findings();
    result.skipped.insert(result.skipped.end(), why.begin(), why.end());
  }
  Findings findings = result.skipped;
  findings.push_back(error_at({store.root().string()}, "checkpoint-none-whole",
                              fmt::format("none of the {} checkpoints here is whole", steps.size()),
                              "restore one, or begin anew with another --out"));
  return Failure(findings);
}

}  // namespace muster::train
