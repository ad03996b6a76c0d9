#include "engine/bench/meeting.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace muster::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t kMagic = 0x4d75u << 16 | 0x7374u;
/// More than any exchange needs: what is longer was not sent by one of us.
constexpr std::uint32_t kLongest = 64U << 20;
constexpr milliseconds kBetweenTries{50};

struct Hello {
  std::uint32_t magic, rank, size;
};

/// The peer is gone, or did not send in time.
class Broken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
  }
  int get() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor_;
};

bool ready(int descriptor, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{descriptor, events, 0};
    const int found = ::poll(&waiting, 1, static_cast<int>(std::min<long>(left, 60000)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

/// Sends or receives all of it; the descriptors do not block.
template <typename Byte, typename Move>
void move_all(int descriptor, Byte* data, std::size_t bytes, short events,
              Clock::time_point deadline, Move move) {
  while (bytes > 0) {
    const auto moved = move(descriptor, data, bytes);
    if (moved > 0) {
      data += moved;
      bytes -= static_cast<std::size_t>(moved);
    } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw Broken("the connection was closed");
    } else if (!ready(descriptor, events, deadline)) {
      throw Broken("nothing came in time");
    }
  }
}

void send_all(int descriptor, const void* data, std::size_t bytes, Clock::time_point deadline) {
  move_all(descriptor, static_cast<const char*>(data), bytes, POLLOUT, deadline,
           [](int to, const char* from, std::size_t size) {
             return ::send(to, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
           });
}

void receive_all(int descriptor, void* data, std::size_t bytes, Clock::time_point deadline) {
  move_all(
      descriptor, static_cast<char*>(data), bytes, POLLIN, deadline,
      [](int from, char* to, std::size_t size) { return ::recv(from, to, size, MSG_DONTWAIT); });
}

void send_text(const Socket& to, const std::string& text, Clock::time_point deadline) {
  const auto length = static_cast<std::uint32_t>(text.size());
  send_all(to.get(), &length, sizeof length, deadline);
  send_all(to.get(), text.data(), text.size(), deadline);
}

std::string receive_text(const Socket& from, Clock::time_point deadline) {
  std::uint32_t length = 0;
  receive_all(from.get(), &length, sizeof length, deadline);
  if (length > kLongest) throw Broken("what came is not of this program");
  std::string text(length, '\0');
  receive_all(from.get(), text.data(), length, deadline);
  return text;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const Rendezvous& where) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(where.address.c_str(), std::to_string(where.port).c_str(), &hints, &found);
  if (code != 0)
    throw NotMet(fmt::format("MASTER_ADDR {}: {}", where.address, ::gai_strerror(code)));
  return {found, &::freeaddrinfo};
}

std::string local_address(int descriptor) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  char text[NI_MAXHOST] = {};
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {};
  }
  return text;
}

std::string place_of(const Rendezvous& where) {
  return fmt::format("{}:{}", where.address, where.port);
}

double seconds(milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

class TcpMeeting : public Meeting {
 public:
  TcpMeeting(Rendezvous where, milliseconds limit) : where_(std::move(where)), limit_(limit) {
    if (where_.size == 1) return;
    const auto deadline = Clock::now() + limit_;
    if (where_.rank == 0)
      receive_others(deadline);
    else
      join(deadline);
  }

  int rank() const override { return where_.rank; }
  int size() const override { return where_.size; }
  std::string address() const override { return address_; }
  std::string name() const override { return place_of(where_); }

  std::vector<std::string> all_gather(const std::string& own) override {
    const auto deadline = Clock::now() + limit_;
    std::vector<std::string> all(static_cast<std::size_t>(where_.size));
    all[static_cast<std::size_t>(where_.rank)] = own;
    int waiting_for = 0;
    try {
      if (where_.rank > 0) {
        send_text(peers_[0], own, deadline);
        // Rank 0 waits for the others as long, and then says so.
        for (std::string& text : all)
          text = receive_text(peers_[0], deadline + std::chrono::seconds(1));
        return all;
      }
      for (int rank = 1; rank < where_.size; ++rank) {
        waiting_for = rank;
        all[static_cast<std::size_t>(rank)] = receive_text(peer(rank), deadline);
      }
      for (int rank = 1; rank < where_.size; ++rank) {
        waiting_for = rank;
        for (const std::string& text : all) send_text(peer(rank), text, deadline);
      }
    } catch (const Broken& error) {
      throw NotMet(
          fmt::format("rank {} did not take part in the start-up: {}", waiting_for, error.what()));
    }
    return all;
  }

 private:
  const Socket& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  Socket listen() const {
    const Addresses addresses = resolve(where_);
    std::string why;
    for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
      Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const int yes = 1;
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (socket.open() && ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
          ::listen(socket.get(), where_.size) == 0) {
        return socket;
      }
      why = std::strerror(errno);
    }
    throw NotMet(
        fmt::format("rank 0 can't listen at {} (MASTER_ADDR, MASTER_PORT): {}", name(), why));
  }

  void receive_others(Clock::time_point deadline) {
    const Socket door = listen();
    peers_.resize(static_cast<std::size_t>(where_.size));
    for (int came = 1; came < where_.size;) {
      if (!ready(door.get(), POLLIN, deadline)) break;
      Socket socket(::accept4(door.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.open() && welcome(std::move(socket), deadline)) ++came;
    }
    std::string missing;
    for (int rank = 1; rank < where_.size; ++rank) {
      if (!peer(rank).open()) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
    }
    const std::string text = missing.empty()
                                 ? std::string()
                                 : fmt::format("after {:g} s (-T) these ranks have not joined: {}",
                                               seconds(limit_), missing);
    // Those that have come are told, whichever it is; one that is gone again shows later.
    for (const Socket& socket : peers_) {
      if (!socket.open()) continue;
      try {
        send_text(socket, text, Clock::now() + std::chrono::seconds(1));
      } catch (const Broken&) {
        continue;
      }
    }
    if (!text.empty()) throw NotMet(text);
  }

  /// Whoever it is that connected: one of the ranks, or something else, which is sent away.
  bool welcome(Socket socket, Clock::time_point deadline) {
    Hello hello{};
    try {
      receive_all(socket.get(), &hello, sizeof hello,
                  std::min(deadline, Clock::now() + std::chrono::seconds(1)));
    } catch (const Broken&) {
      return false;
    }
    if (hello.magic != kMagic) return false;
    if (hello.size != static_cast<std::uint32_t>(where_.size) || hello.rank >= hello.size ||
        hello.rank == 0) {
      throw NotMet(fmt::format("at {} came rank {} of {}, to a job of {}", name(), hello.rank,
                               hello.size, where_.size));
    }
    if (peer(static_cast<int>(hello.rank)).open())
      throw NotMet(fmt::format("at {} rank {} came twice", name(), hello.rank));
    address_ = local_address(socket.get());
    peers_[hello.rank] = std::move(socket);
    return true;
  }

  void join(Clock::time_point deadline) {
    const Addresses addresses = resolve(where_);
    std::string why = "no address";
    peers_.resize(1);
    // Rank 0 may start later, and waits until its limit is over.
    const auto last = deadline + std::chrono::seconds(1);
    while (!peers_[0].open() && Clock::now() < deadline) {
      for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
        Socket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!connects(socket, *at, deadline)) {
          why = std::strerror(errno);
          continue;
        }
        peers_[0] = std::move(socket);
        break;
      }
      if (!peers_[0].open()) std::this_thread::sleep_for(kBetweenTries);
    }
    if (!peers_[0].open())
      throw NotMet(fmt::format("after {:g} s (-T) rank 0 was not reached at {}: {}",
                               seconds(limit_), name(), why));
    address_ = local_address(peers_[0].get());
    const Hello hello{kMagic, static_cast<std::uint32_t>(where_.rank),
                      static_cast<std::uint32_t>(where_.size)};
    std::string answer;
    try {
      send_all(peers_[0].get(), &hello, sizeof hello, deadline);
      answer = receive_text(peers_[0], last);
    } catch (const Broken& error) {
      throw NotMet(fmt::format("rank 0 at {} did not end the start-up: {}", name(), error.what()));
    }
    if (!answer.empty()) throw NotMet(answer);
  }

  static bool connects(const Socket& socket, const addrinfo& at, Clock::time_point deadline) {
    if (::connect(socket.get(), at.ai_addr, at.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !ready(socket.get(), POLLOUT, deadline)) return false;
    int code = 0;
    socklen_t length = sizeof code;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &length);
    errno = code;
    return code == 0;
  }

  Rendezvous where_;
  milliseconds limit_;
  std::string address_ = "127.0.0.1";
  std::vector<Socket> peers_;  ///< of rank 0 all others, by rank; of another rank 0 alone
};

Result<int> number_from(const char* variable, int least, int most) {
  const char* text = std::getenv(variable);
  int value = 0;
  const char* end = text != nullptr ? text + std::strlen(text) : nullptr;
  const auto [stop, code] = text != nullptr ? std::from_chars(text, end, value)
                                            : std::from_chars_result{nullptr, std::errc()};
  if (text != nullptr && code == std::errc() && stop == end && value >= least && value <= most)
    return value;
  return Failure{{error_at({}, "bench-environment",
                           text != nullptr ? fmt::format("{}={}", variable, text)
                                           : fmt::format("{} is not set", variable),
                           fmt::format("a number from {} to {}", least, most))}};
}

}  // namespace

bool launched_by_mpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

bool launched_by_environment() {
  return !launched_by_mpi() && std::getenv("RANK") != nullptr &&
         std::getenv("WORLD_SIZE") != nullptr;
}

Result<Rendezvous> rendezvous_from_environment() {
  Rendezvous where;
  const auto size = number_from("WORLD_SIZE", 1, 1 << 16);
  if (!size) return Failure{size.findings()};
  const auto rank = number_from("RANK", 0, *size - 1);
  if (!rank) return Failure{rank.findings()};
  where.size = *size;
  where.rank = *rank;
  if (const char* address = std::getenv("MASTER_ADDR")) where.address = address;
  if (std::getenv("MASTER_PORT") != nullptr) {
    const auto port = number_from("MASTER_PORT", 1, 65534);
    if (!port) return Failure{port.findings()};
    where.port = *port;
  }
  const char* taken = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (taken != nullptr && std::strcmp(taken, "True") == 0) ++where.port;
  return where;
}

std::unique_ptr<Meeting> meet(const Rendezvous& where, std::chrono::milliseconds limit) {
  return std::make_unique<TcpMeeting>(where, limit);
}

}  // namespace muster::measure
