// Work in turns on several threads, each with things of its own: handles of libgit2 are for one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"

namespace muster::reorg {

/// Calls `work(own, i)` for each i below `count`, where `own` is what `open()` gave to the thread;
/// both return a Result. `threads` 0: as many as there are processors, at most 8. Failure: the
/// first one; what had not begun by then is not done.
template <typename Open, typename Work>
Result<void> spread(std::size_t count, unsigned threads, const Open& open, const Work& work) {
  constexpr unsigned kMostThreads = 8;
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Failure> failed;
  const auto turn = [&] {
    auto own = open();
    Result<void> done = own ? Result<void>() : own.error();
    for (std::size_t i = next++; done && i < count; i = next++) done = work(*own, i);
    if (done) return;
    next = count;
    const std::lock_guard lock(mutex);
    if (!failed) failed = done.error();
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads && i < count; ++i) others.emplace_back(turn);
  turn();
  for (std::thread& other : others) other.join();
  if (failed) return *failed;
  return {};
}

}  // namespace muster::reorg
