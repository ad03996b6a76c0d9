#include "engine/bench/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/verdict.h"

namespace muster::measure {
namespace {

using std::chrono::milliseconds;

/// What rank 0 says, told to all.
std::string share(Fabric& fabric, const std::string& text) {
  std::vector<double> letters(2048, 0);
  for (std::size_t i = 0; i < std::min(text.size(), letters.size()); ++i)
    letters[i] = static_cast<unsigned char>(text[i]);
  fabric.sum(letters);
  std::string told;
  for (const double letter : letters) {
    if (letter > 0) told += static_cast<char>(letter);
  }
  return told;
}

[[noreturn]] void end_without(const std::vector<int>& missing, milliseconds limit) {
  std::string ranks;
  for (const int rank : missing) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  fmt::print(stderr, "error: start-up: after {:g} s (-T) these ranks have not joined: {}\n",
             static_cast<double>(limit.count()) / 1000, ranks);
  std::fflush(nullptr);
  // Past the ends of PMIx and MPI, which would wait for them.
  ::_exit(kExitTimeLimit);
}

}  // namespace

// The monitor lets the roll call speak first: it knows the names.
Job::Job(milliseconds limit, FabricKind kind) : monitor_(limit, milliseconds(2000)) {
  if (const auto missing = roll_call_.missing(limit); !missing.empty()) end_without(missing, limit);
  fabric_ = connect_mpi();
  monitor_.joined(fabric_->rank(), fabric_->seats(),
                  share(*fabric_, first() ? monitor_.listen() : std::string()));
  if (kind == FabricKind::kAuto) {
    std::vector<double> there = {has_nccl() ? 1.0 : 0.0};
    fabric_->min(there);
    if (there[0] > 0) kind = FabricKind::kNccl;
  }
  if (kind == FabricKind::kNccl) {
    monitor_.doing("start-up (NCCL)");
    fabric_ = connect_nccl(std::move(fabric_));
  }
}

void Job::finish() {
  monitor_.doing("the end of the job");
  fabric_->barrier();
}

}  // namespace muster::measure
