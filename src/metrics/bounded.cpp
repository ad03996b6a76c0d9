#include "metrics/bounded.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace muster::metrics {

using SteadyClock = std::chrono::steady_clock;

/// A thread and what it needs, which outlives the collector when a read hangs.
struct BoundedCollector::Worker {
  std::string root;
  Collect collect;
  Watch watch;
  OpenFiles open;  ///< of its thread alone
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> left_out;
  bool wanted = false, ending = false, ended = false;
  std::optional<std::pair<CollectorState, Exposition>> answer;

  static void start(const std::shared_ptr<Worker>& worker) {
    std::thread([worker] { worker->work(); }).detach();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return wanted || ending; });
      if (ending) break;
      wanted = false;
      lock.unlock();
      Exposition metrics;
      const CollectorState state = collect(WatchedView(root, watch, left_out, open), metrics);
      open.close_unused();
      lock.lock();
      answer.emplace(state, std::move(metrics));
      changed.notify_all();
    }
    ended = true;
    changed.notify_all();
  }

  void end() {
    const std::lock_guard lock(mutex);
    ending = true;
    changed.notify_all();
  }
};

BoundedCollector::BoundedCollector(std::string root, Collect collect, Limits limits)
    : root_(std::move(root)), collect_(std::move(collect)), limits_(limits) {}

BoundedCollector::~BoundedCollector() {
  for (const auto& [file, left] : stuck_) left->end();
  if (worker_ == nullptr) return;
  worker_->end();
  std::unique_lock lock(worker_->mutex);
  worker_->changed.wait_for(lock, limits_.whole, [&] { return worker_->ended; });
}

std::shared_ptr<BoundedCollector::Worker> BoundedCollector::worker() {
  if (worker_ == nullptr) {
    worker_ = std::make_shared<Worker>();
    worker_->root = root_;
    worker_->collect = collect_;
    Worker::start(worker_);
  }
  return worker_;
}

std::vector<std::string> BoundedCollector::stuck_files() {
  std::vector<std::string> files;
  for (auto at = stuck_.begin(); at != stuck_.end();) {
    bool back = false;
    {
      const std::lock_guard lock(at->second->mutex);
      back = at->second->ended || at->second->answer.has_value();
    }
    if (back) {  // the file has answered after all
      at->second->end();
      at = stuck_.erase(at);
    } else {
      files.push_back((at++)->first);
    }
  }
  return files;
}

CollectorState BoundedCollector::run(Exposition& to) {
  const auto start = SteadyClock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
  };
  CollectorState failed;
  failed.success = false;
  while (SteadyClock::now() - start < limits_.whole) {
    failed.stuck = stuck_files();
    if (failed.stuck.size() >= limits_.left_behind) break;
    const auto one = worker();
    std::unique_lock lock(one->mutex);
    one->left_out = {failed.stuck.begin(), failed.stuck.end()};
    one->answer.reset();
    one->wanted = true;
    one->changed.notify_all();
    std::string stuck;
    while (stuck.empty() && SteadyClock::now() - start < limits_.whole) {
      constexpr std::chrono::milliseconds kLook(20);
      if (one->changed.wait_for(lock, kLook, [&] { return one->answer.has_value(); })) {
        CollectorState state = std::move(one->answer->first);
        to.add_missing(std::move(one->answer->second));
        one->answer.reset();
        state.success = state.success && failed.stuck.empty();
        state.stuck = failed.stuck;
        state.seconds = seconds();
        return state;
      }
      stuck = one->watch.longer_than(limits_.file);
    }
    lock.unlock();
    // Left behind: it ends by itself when what it reads answers.
    stuck_[stuck.empty() ? "(no single file)" : stuck] = one;
    worker_.reset();
  }
  failed.stuck = stuck_files();
  failed.seconds = seconds();
  return failed;
}

}  // namespace muster::metrics
