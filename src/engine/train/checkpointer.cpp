#include "engine/train/checkpointer.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cstring>

#include "base/verdict.h"
#include "engine/train/agreement.h"

namespace muster::train {

namespace {

constexpr std::chrono::minutes kWriteLimit{60};
constexpr std::int64_t kDigestLength = 32;
constexpr std::int64_t kReportBytes =
    8 + 8 + kDigestLength;  ///< of a rank about its file: well or not, bytes, digest

// The owned ranges of all ranks: [rank][unit].
std::vector<std::vector<Range>> gather_ranges(comm::Communicator& comm,
                                              const std::vector<Range>& mine) {
  const auto units = static_cast<std::int64_t>(mine.size());
  torch::Tensor in = torch::empty({units * 2}, torch::kInt64);
  for (std::int64_t unit = 0; unit < units; ++unit) {
    in.data_ptr<std::int64_t>()[2 * unit] = mine[static_cast<std::size_t>(unit)].first;
    in.data_ptr<std::int64_t>()[2 * unit + 1] = mine[static_cast<std::size_t>(unit)].second;
  }
  const torch::Tensor out = gather(comm, in);
  std::vector<std::vector<Range>> all(static_cast<std::size_t>(comm.size()));
  const std::int64_t* at = out.data_ptr<std::int64_t>();
  for (auto& ranges : all) {
    for (std::int64_t unit = 0; unit < units; ++unit, at += 2) ranges.emplace_back(at[0], at[1]);
  }
  return all;
}

Failure others_failed(const std::vector<int>& ranks, const std::filesystem::path& directory) {
  return Failure(error_at({directory.string()}, kWriteRule,
                          fmt::format("rank{} {} could not write {} part of the checkpoint",
                                      ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "),
                                      ranks.size() > 1 ? "their" : "its"),
                          "see the message of that rank"));
}

}  // namespace

Checkpointer::Checkpointer(std::shared_ptr<comm::Communicator> comm, CheckpointStore store,
                           TrainState state, Manifest base, int keep, Faults faults)
    : comm_(std::move(comm)),
      store_(std::move(store)),
      state_(std::move(state)),
      base_(std::move(base)),
      keep_(keep),
      faults_(std::move(faults)),
      written_by_(share_writing(state_.places, gather_ranges(*comm_, state_.owned))) {}

Checkpointer::~Checkpointer() {
  if (pending_) pending_->part.wait();
}

std::vector<std::array<torch::Tensor, kStateCount>> Checkpointer::snapshot() const {
  std::vector<std::array<torch::Tensor, kStateCount>> copies;
  for (const Piece& piece : written_by_[static_cast<std::size_t>(comm_->rank())]) {
    auto& copy = copies.emplace_back();
    for (std::size_t i = 0; i < kStateCount; ++i) {
      copy[i] = state_.shards[static_cast<std::size_t>(piece.unit)][i]
                    .narrow(0, piece.in_shard, piece.elements())
                    .to(torch::kCPU, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    }
  }
  return copies;
}

Result<void> Checkpointer::start(std::int64_t step, const std::string& parameter_hash) {
  Result<void> begun;
  if (comm_->rank() == 0) {
    if (auto directory = store_.begin(step); !directory) begun = directory.error();
  }
  if (from_first(*comm_, begun.ok() ? 0 : 1) != 0)
    return comm_->rank() == 0 ? begun : others_failed({0}, store_.path(step));

  Pending pending{step, parameter_hash, std::chrono::steady_clock::now(), {}};
  const std::filesystem::path directory = store_.path(step).string() + ".tmp";
  pending.part = std::async(std::launch::async, [this, step, directory, copies = snapshot()] {
    const auto& pieces = written_by_[static_cast<std::size_t>(comm_->rank())];
    const int middle = static_cast<int>(pieces.size()) / 2;
    return write_shard(
        directory, shard_name(comm_->rank(), comm_->size()), state_.places, pieces,
        [&](int piece, int state) {
          if (piece == middle && state == 0) faults_.strike(step, Place::kSave);
          return copies[static_cast<std::size_t>(piece)][static_cast<std::size_t>(state)]
              .data_ptr<float>();
        });
  });
  pending_ = std::move(pending);
  return {};
}

bool Checkpointer::written() const {
  return !pending_ || pending_->part.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Result<Saved> Checkpointer::finish() {
  const bool in_time = wait_together(*comm_, kWriteLimit, [&](std::chrono::milliseconds time) {
    return pending_->part.wait_for(time) == std::future_status::ready;
  });
  const std::int64_t step = pending_->step;
  if (!in_time) {
    return Failure(error_at(
        {store_.path(step).string()}, kWriteRule,
        fmt::format("not every rank had written its part of the checkpoint after {} minutes",
                    kWriteLimit.count())));
  }
  Pending pending = std::move(*pending_);
  pending_.reset();
  Result<CheckpointFile> mine = pending.part.get();

  // Everybody tells everybody how it went.
  torch::Tensor in = torch::zeros({kReportBytes}, torch::kUInt8);
  if (mine) {
    auto* report = in.data_ptr<std::uint8_t>();
    report[0] = 1;
    std::memcpy(report + 8, &mine->bytes, sizeof mine->bytes);
    std::memcpy(report + 16, mine->digest.data(), kDigestLength);
  }
  const torch::Tensor out = gather(*comm_, in);
  std::vector<CheckpointFile> files;
  std::vector<int> failed;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    const std::uint8_t* report = out.data_ptr<std::uint8_t>() + rank * kReportBytes;
    CheckpointFile file{shard_name(rank, comm_->size()), 0,
                        std::string(reinterpret_cast<const char*>(report) + 16, kDigestLength)};
    std::memcpy(&file.bytes, report + 8, sizeof file.bytes);
    if (report[0] == 0) failed.push_back(rank);
    files.push_back(std::move(file));
  }
  if (!failed.empty()) {
    if (comm_->rank() == 0) store_.discard(step);
    return mine ? others_failed(failed, store_.path(step)) : mine.error();
  }
  return commit(pending, files);
}

Result<Saved> Checkpointer::commit(const Pending& pending,
                                   const std::vector<CheckpointFile>& files) {
  Result<void> done;
  work_together(*comm_, [&] {
    if (comm_->rank() != 0) return;
    Manifest manifest = base_;
    manifest.step = pending.step;
    manifest.parameter_hash = pending.hash;
    manifest.files = files;
    manifest.tensors = index_tensors(state_.places, written_by_);
    if (auto committed = store_.commit(manifest); !committed) {
      done = committed.error();
      store_.discard(pending.step);
    } else {
      done = store_.prune(pending.step, keep_);
    }
  });
  if (from_first(*comm_, done.ok() ? 0 : 1) != 0)
    return comm_->rank() == 0 ? done.error() : others_failed({0}, store_.path(pending.step));
  Saved saved{
      pending.step, store_.path(pending.step).string(), pending.hash, 0,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - pending.start).count()};
  for (const CheckpointFile& file : files) saved.bytes += file.bytes;
  return saved;
}

Result<void> Checkpointer::load(const Checkpoint& checkpoint) {
  std::vector<std::size_t> tensors;
  Findings findings;
  for (const ParameterPlace& place : state_.places) {
    const auto tensor = checkpoint.find(place.name);
    if (!tensor) {
      findings.push_back(error_at({checkpoint.path().string()}, "checkpoint-model",
                                  fmt::format("has no parameter {}", place.name)));
    } else if (const auto& shape = checkpoint.manifest().tensors[*tensor].shape;
               shape != place.shape) {
      findings.push_back(
          error_at({checkpoint.path().string()}, "checkpoint-model",
                   fmt::format("{} has shape [{}] where the model has [{}]", place.name,
                               fmt::join(shape, ", "), fmt::join(place.shape, ", "))));
    }
    tensors.push_back(tensor.value_or(0));
  }
  if (!findings.empty()) return Failure(findings);
  for (const Piece& piece : pieces_of(state_.places, state_.owned)) {
    for (int state = 0; state < kStateCount; ++state) {
      torch::Tensor shard =
          state_.shards[static_cast<std::size_t>(piece.unit)][static_cast<std::size_t>(state)]
              .narrow(0, piece.in_shard, piece.elements());
      torch::Tensor staging =
          shard.is_cpu() ? shard : torch::empty({piece.elements()}, torch::kFloat32);
      checkpoint.read(tensors[static_cast<std::size_t>(piece.parameter)], state, piece.begin,
                      piece.end, staging.data_ptr<float>());
      if (!shard.is_cpu()) shard.copy_(staging);
    }
  }
  return {};
}

}  // namespace muster::train
