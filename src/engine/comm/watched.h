// An operation that somebody looks at. Internal to comm/.
#pragma once

#include <memory>
#include <utility>

#include "engine/comm/communicator.h"

namespace muster::comm {

class WatchedWork : public Work {
 public:
  WatchedWork(std::shared_ptr<Observer> observer, Observer::Seen seen, Handle work)
      : observer_(std::move(observer)), seen_(std::move(seen)), work_(std::move(work)) {}

  bool test() override {
    const bool done = work_->test();
    if (done) tell();
    return done;
  }

  void wait() override {
    const Waiting waiting{*observer_, seen_};
    work_->wait();
    tell();
  }

  std::optional<Observer::Time> done_at() const override { return work_->done_at(); }

 private:
  /// Told even when the waiting ends in an exception: what was waited for last is worth knowing.
  struct Waiting {
    Observer& observer;
    Observer::Seen seen;
    Waiting(Observer& whom, const Observer::Seen& what) : observer(whom), seen(what) {
      seen.begin = std::chrono::steady_clock::now();
    }
    ~Waiting() {
      seen.end = std::chrono::steady_clock::now();
      observer.waiting(seen);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
  };

  void tell() {
    if (std::exchange(told_, true)) return;
    seen_.end = work_->done_at().value_or(std::chrono::steady_clock::now());
    observer_->operation(seen_);
  }

  std::shared_ptr<Observer> observer_;
  Observer::Seen seen_;
  Handle work_;
  bool told_ = false;
};

}  // namespace muster::comm
