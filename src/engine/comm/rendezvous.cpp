#include "engine/comm/rendezvous.h"

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "engine/comm/checked.h"

namespace muster::comm {
namespace {

using Clock = std::chrono::steady_clock;

int number_from(const char* variable, int least, int most, const char* fallback = nullptr) {
  const char* text = std::getenv(variable);
  if (text == nullptr) text = fallback;
  if (text == nullptr)
    throw Error(fmt::format(
        "{} is not set: c10d needs RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT", variable));
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    throw Error(fmt::format("{}={} is not a number from {} to {}", variable, text, least, most));
  }
  return value;
}

Error not_met(const Rendezvous& where, std::chrono::milliseconds limit, const char* why) {
  return Error(fmt::format("rank {} could not meet the others at {}:{} within {:g} s: {}",
                           where.place.rank, where.address, where.port,
                           static_cast<double>(limit.count()) / 1000, why));
}

std::string joined_key(int rank) {
  return fmt::format("muster/joined/{}", rank);
}

std::vector<std::uint8_t> bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

Rendezvous rendezvous_from_environment() {
  Rendezvous where;
  where.place.size = number_from("WORLD_SIZE", 1, 1 << 20);
  where.place.rank = number_from("RANK", 0, where.place.size - 1);
  const char* address = std::getenv("MASTER_ADDR");
  where.address = address != nullptr ? address : "127.0.0.1";
  where.port = number_from("MASTER_PORT", 1, 65535, "29500");
  return where;
}

Store meet(const Rendezvous& where, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(where.port);
  options.isServer = where.place.rank == 0;
  options.numWorkers = static_cast<std::size_t>(where.place.size);
  options.waitWorkers = false;
  options.timeout = limit;
  Store store;
  try {
    store = c10::make_intrusive<c10d::TCPStore>(where.address, options);
    store->set(joined_key(where.place.rank), bytes(this_process(where.place.rank).host));
    std::vector<int> absent;
    do {
      absent.clear();
      for (int rank = 0; rank < where.place.size; ++rank) {
        if (!store->check({joined_key(rank)})) absent.push_back(rank);
      }
      if (absent.empty()) return store;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (Clock::now() < deadline);
    std::vector<Member> waiting;
    std::vector<Member> missing;
    for (int rank = 0; rank < where.place.size; ++rank) {
      const bool is_absent = std::find(absent.begin(), absent.end(), rank) != absent.end();
      (is_absent ? missing : waiting).push_back({rank, "", 0});
    }
    throw Timeout(fmt::format("the meeting at {}:{}", where.address, where.port), waiting, missing,
                  limit);
  } catch (const Timeout&) {
    throw;
  } catch (const c10::Error& error) {
    throw not_met(where, limit, error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw not_met(where, limit, error.what());
  }
}

struct WaitBoard::Shared {
  explicit Shared(Store where) : store(std::move(where)) {}
  Store store;
  std::mutex mutex;
  std::condition_variable answered;
  bool saying = false;
};

WaitBoard::WaitBoard(Store store, Place place)
    : shared_(std::make_shared<Shared>(std::move(store))), place_(place) {}

namespace {
std::string wait_key(int rank) {
  return fmt::format("muster/waits/{}", rank);
}
}  // namespace

void WaitBoard::say() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->saying, true)) return;  // the last one has not been answered
  }
  std::thread([shared = shared_, key = wait_key(place_.rank)] {
    try {
      shared->store->add(key, 1);
    } catch (const std::exception&) {  // the store is gone: then nobody can listen either
      return;
    }
    const std::lock_guard lock(shared->mutex);
    shared->saying = false;
  }).detach();
}

std::vector<bool> WaitBoard::listen(std::chrono::milliseconds window) {
  using Counts = std::vector<std::int64_t>;
  struct Answer {
    bool there = false;
    Counts counts;
  };
  const auto ask = [&](std::chrono::milliseconds limit) {
    auto answer = std::make_shared<Answer>();
    std::thread([shared = shared_, answer, size = place_.size] {
      Counts counts;
      try {
        for (int rank = 0; rank < size; ++rank)
          counts.push_back(shared->store->add(wait_key(rank), 0));
      } catch (const std::exception&) {
        return;
      }
      const std::lock_guard lock(shared->mutex);
      answer->counts = std::move(counts);
      answer->there = true;
      shared->answered.notify_all();
    }).detach();
    std::unique_lock lock(shared_->mutex);
    shared_->answered.wait_for(lock, limit, [&] { return answer->there; });
    return answer->there ? answer->counts : Counts{};
  };
  std::vector<bool> waits(static_cast<std::size_t>(place_.size), false);
  const Counts before = ask(window);
  if (before.empty()) {
    // Only rank 0 is known to be silent. The others are not to blame for that.
    waits.assign(waits.size(), true);
    waits[0] = false;
    return waits;
  }
  std::this_thread::sleep_for(window / 2);
  say();
  std::this_thread::sleep_for(window / 2);
  const Counts after = ask(window);
  for (std::size_t rank = 0; rank < after.size(); ++rank) waits[rank] = after[rank] > before[rank];
  return waits;
}

}  // namespace muster::comm
