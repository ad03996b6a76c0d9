#include "engine/bench/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "base/verdict.h"

namespace muster::measure {
namespace {

using std::chrono::milliseconds;

/// Longer than the monitor takes to call a rank silent.
constexpr milliseconds kStay{3000};

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

[[noreturn]] void end_without(const std::string& what) {
  fmt::print(stderr, "error: start-up: {}\n", what);
  std::fflush(nullptr);
  // Past the ends of PMIx and MPI, which would wait for them.
  ::_exit(kExitTimeLimit);
}

/// Who sits where, told at a meeting.
std::vector<Seat> exchange_seats(Meeting& meeting) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::vector<Seat> seats;
  for (const std::string& told : meeting.all_gather(fmt::format("{} {}", ::getpid(), host))) {
    const std::size_t space = told.find(' ');
    seats.push_back({static_cast<int>(seats.size()), std::atoi(told.c_str()),
                     space == std::string::npos ? told : told.substr(space + 1)});
  }
  return seats;
}

}  // namespace

// The monitor lets the roll call speak first: it knows the names.
Job::Job(milliseconds limit, FabricKind kind) : monitor_(limit, milliseconds(2000)), limit_(limit) {
  const bool by_environment = launched_by_environment();
  if (kind == FabricKind::kAuto && by_environment) kind = FabricKind::kGloo;
  if (kind == FabricKind::kGloo && by_environment) {
    join_by_environment();
    return;
  }
  if (const char* size = std::getenv("WORLD_SIZE"); by_environment && std::atoi(size) > 1)
    throw Unsupported(
        "this is one of several ranks by RANK and WORLD_SIZE, and MPI needs its own launcher: "
        "mpirun, or srun --mpi=pmix");
  join_by_mpi();
  if (kind == FabricKind::kAuto) {
    std::vector<double> there = {has_nccl() ? 1.0 : 0.0};
    fabric_->min(there);
    if (there[0] > 0) kind = FabricKind::kNccl;
  }
  if (kind == FabricKind::kNccl) {
    monitor_.doing("start-up (NCCL)");
    fabric_ = connect_nccl(std::move(fabric_));
  } else if (kind == FabricKind::kGloo) {
    monitor_.doing("start-up (Gloo)");
    const std::vector<Seat> seats = fabric_->seats();
    fabric_ = connect_gloo(meet_by_mpi(std::move(fabric_)), seats, limit_);
  }
}

void Job::join_by_mpi() {
  if (const auto missing = roll_call_.missing(limit_); !missing.empty()) {
    std::string ranks;
    for (const int rank : missing) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    end_without(fmt::format("after {:g} s (-T) these ranks have not joined: {}",
                            static_cast<double>(limit_.count()) / 1000, ranks));
  }
  fabric_ = connect_mpi();
  monitor_.joined(fabric_->rank(), fabric_->seats(),
                  share(*fabric_, first() ? monitor_.listen() : std::string()));
}

void Job::join_by_environment() {
  monitor_.doing("start-up (Gloo)");
  const auto where = rendezvous_from_environment();
  if (!where) throw Unsupported(to_string(where.findings().front()));
  try {
    std::unique_ptr<Meeting> meeting = meet(*where, limit_);
    const std::vector<Seat> seats = exchange_seats(*meeting);
    const bool listens = meeting->rank() == 0;
    const auto told = meeting->all_gather(listens ? monitor_.listen() : std::string());
    monitor_.joined(meeting->rank(), seats, told.front());
    fabric_ = connect_gloo(std::move(meeting), seats, limit_);
  } catch (const NotMet& missing) {
    end_without(missing.what());
  }
}

// A rank that ends tears the connections of those that wait for it; whoever comes first to this
// stays a little, so that the others see who was silent before them.
void Job::end_for(const PeerLost& lost) {
  const auto deadline = std::chrono::steady_clock::now() + kStay;
  std::string silent;
  do {
    std::this_thread::sleep_for(milliseconds(100));
    silent = monitor_.silent();
  } while (silent.empty() && std::chrono::steady_clock::now() < deadline);
  const auto& seats = fabric_->seats();
  std::string who = silent;
  if (who.empty() && lost.peer())
    who = fmt::format("rank {} (host {}) closed its connection", *lost.peer(),
                      seats[static_cast<std::size_t>(*lost.peer())].host);
  fmt::print(stderr, "error: rank {}: {}{}{}\n", fabric_->rank(), who, who.empty() ? "" : ": ",
             lost.what());
  std::fflush(nullptr);
  // Past the ends of what would wait for the lost.
  ::_exit(kExitInternal);
}

void Job::finish() {
  monitor_.doing("the end of the job");
  fabric_->barrier();
}

}  // namespace muster::measure
