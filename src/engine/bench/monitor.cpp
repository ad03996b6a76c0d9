#include "engine/bench/monitor.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "base/verdict.h"

namespace muster::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPeriod{200};
/// Not heard for so long: several datagrams in a row did not come.
constexpr milliseconds kSilence{1500};
/// How long the others let rank 0 speak first.
constexpr milliseconds kAfterRankZero{3000};

struct Datagram {
  std::uint32_t nonce;
  std::uint32_t rank;
  std::uint64_t begun;
};

std::string seconds(milliseconds time) {
  return fmt::format("{:.1f} s", static_cast<double>(time.count()) / 1000);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// Before the job is complete only the launcher's environment knows who this is.
std::string launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return "?";
}

}  // namespace

std::string name_missing(const std::vector<Seat>& seats, std::uint64_t own,
                         const std::vector<Heard>& heard, milliseconds silence) {
  std::string text;
  const auto add = [&](std::size_t rank, const std::string& what) {
    if (!text.empty()) text += "; ";
    text += fmt::format("rank {} (host {}) {}", rank, seats[rank].host, what);
  };
  for (std::size_t rank = 1; rank < heard.size(); ++rank) {
    const Heard& other = heard[rank];
    if (!other.ever) {
      add(rank, "has never been heard");
    } else if (other.ago >= silence) {
      add(rank, fmt::format("has not been heard for {}", seconds(other.ago)));
    } else if (other.begun < own) {
      add(rank, fmt::format("is {} operations behind", own - other.begun));
    }
  }
  return text.empty() ? "all ranks wait for each other" : text;
}

Monitor::Monitor(milliseconds limit, milliseconds more)
    : limit_(limit), more_at_start_(more), thread_([this] { watch(); }) {}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (socket_ >= 0) ::close(socket_);
}

std::string Monitor::listen() {
  const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return {};
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&any), &length) != 0) {
    ::close(descriptor);
    return {};
  }
  std::random_device random;
  std::string where;
  {
    const std::lock_guard lock(mutex_);
    socket_ = descriptor;
    nonce_ = random();
    where = fmt::format("{} {}", any.sin_port, nonce_);
  }
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return where + fmt::format(" {}", htonl(INADDR_LOOPBACK));
  for (const ifaddrs* i = interfaces; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    where += fmt::format(" {}", reinterpret_cast<sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr);
  }
  ::freeifaddrs(interfaces);
  return where;
}

void Monitor::joined(int rank, std::vector<Seat> seats, const std::string& where) {
  const std::lock_guard lock(mutex_);
  rank_ = rank;
  seats_ = std::move(seats);
  their_begun_.assign(seats_.size(), 0);
  their_time_.assign(seats_.size(), Clock::time_point{});
  begun_.fetch_add(1, std::memory_order_relaxed);
  if (rank == 0) return;
  std::istringstream words(where);
  std::uint16_t port = 0;
  std::uint32_t address = 0;
  words >> port >> nonce_;
  while (words >> address) targets_.push_back({address, port});
  socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void Monitor::doing(std::string what) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(what);
}

std::string Monitor::silent() {
  const std::lock_guard lock(mutex_);
  if (rank_ != 0) return {};
  std::string text;
  for (std::size_t rank = 1; rank < seats_.size(); ++rank) {
    if (their_time_[rank] == Clock::time_point{}) continue;
    const auto ago = std::chrono::duration_cast<milliseconds>(Clock::now() - their_time_[rank]);
    if (ago < kSilence) continue;
    text += fmt::format("{}rank {} (host {}) has not been heard for {}", text.empty() ? "" : "; ",
                        rank, seats_[rank].host, seconds(ago));
  }
  return text;
}

void Monitor::tell() const {
  if (socket_ < 0) return;
  const Datagram datagram{nonce_, static_cast<std::uint32_t>(rank_),
                          begun_.load(std::memory_order_relaxed)};
  for (const Target& target : targets_) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = target.address;
    to.sin_port = target.port;
    // An address that does not lead there is no harm: another does, or rank 0 says so.
    (void)!::sendto(socket_, &datagram, sizeof datagram, 0, reinterpret_cast<sockaddr*>(&to),
                    sizeof to);
  }
}

void Monitor::hear() {
  if (socket_ < 0) return;
  Datagram datagram{};
  while (::recv(socket_, &datagram, sizeof datagram, 0) == sizeof datagram) {
    if (datagram.nonce != nonce_ || datagram.rank >= their_begun_.size()) continue;
    their_begun_[datagram.rank] = datagram.begun;
    their_time_[datagram.rank] = Clock::now();
  }
}

void Monitor::watch() {
  auto moved = Clock::now();
  std::uint64_t seen = begun_.load(std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, std::min(kPeriod, limit_));
    if (stop_) return;
    if (rank_ > 0) tell();
    if (rank_ == 0) hear();
    const std::uint64_t now = begun_.load(std::memory_order_relaxed);
    if (now != seen || apart_) {
      seen = now;
      moved = Clock::now();
    }
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - moved);
    const milliseconds more = rank_ < 0   ? more_at_start_
                              : rank_ > 0 ? kAfterRankZero
                                          : milliseconds(0);
    if (waited >= limit_ + more) give_up(waited);
  }
}

void Monitor::give_up(milliseconds waited) {
  std::string who;
  if (rank_ < 0) {
    who =
        fmt::format("rank {} (host {}) waits for the others to join", launched_rank(), host_name());
  } else if (rank_ > 0) {
    who = fmt::format("rank 0 (host {}) did not end it: it is missing", seats_[0].host);
  } else {
    std::vector<Heard> heard;
    for (std::size_t r = 0; r < seats_.size(); ++r) {
      const bool ever = their_time_[r] != Clock::time_point{};
      heard.push_back({their_begun_[r],
                       std::chrono::duration_cast<milliseconds>(Clock::now() - their_time_[r]),
                       ever});
    }
    who = name_missing(seats_, begun_.load(std::memory_order_relaxed), heard, kSilence);
  }
  // stdio may be locked by the thread that hangs: written past it.
  const std::string text =
      fmt::format("error: {} did not go on for {} (-T): {}\n", doing_, seconds(waited), who);
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(kExitTimeLimit);
}

}  // namespace muster::measure
