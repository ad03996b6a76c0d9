#include "metrics/periodic.h"

namespace muster::metrics {

PeriodicCollector::PeriodicCollector(Collect collect, std::chrono::milliseconds interval)
    : collect_(std::move(collect)), interval_(interval), thread_([this] { work(); }) {}

PeriodicCollector::~PeriodicCollector() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<const PeriodicCollector::Snapshot> PeriodicCollector::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void PeriodicCollector::wait_for_first(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return last_ != nullptr; });
}

void PeriodicCollector::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    auto snapshot = std::make_shared<Snapshot>();
    Exposition metrics;
    snapshot->state = collect_(metrics);
    snapshot->time = std::chrono::steady_clock::now();
    snapshot->state.seconds = std::chrono::duration<double>(snapshot->time - start).count();
    snapshot->metrics.text = metrics.text(Form::kText);
    snapshot->metrics.open_metrics = metrics.text(Form::kOpenMetrics);
    for (std::string& name : metrics.names()) snapshot->metrics.names.insert(std::move(name));
    lock.lock();
    last_ = std::move(snapshot);
    changed_.notify_all();
    changed_.wait_for(lock, interval_, [&] { return ending_; });
  }
}

}  // namespace muster::metrics
