// The trace of a range of steps on one rank: who computed, communicated and waited when. The file
// is written again, whole, as the range goes on, so that a run that dies leaves what it had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "engine/comm/communicator.h"
#include "engine/train/settings.h"
#include "runs/trace.h"

namespace muster::train {

class StepTrace : public comm::Observer {
 public:
  StepTrace(std::filesystem::path directory, StepRange range)
      : directory_(std::move(directory)), range_(range) {}

  /// Puts the ranks on one clock, rank 0's. Collective. Before the first step.
  void align(comm::Communicator& comm);

  void begin_step(std::int64_t step);
  /// Writes the file when it is time to.
  void end_step();
  /// Writes what has not been written; nothing when nothing of the range was reached, or after a
  /// failure to write.
  void finish();

  std::filesystem::path file() const;
  /// Whole steps in the file; 0: there is none.
  std::int64_t steps_written() const { return written_; }
  /// Why the file could not be written; empty: it could.
  const std::string& problem() const { return problem_; }

  void phase(const char* name, Time begin, Time end);

  bool looks() const override { return looking_; }
  void operation(const Seen& seen) override;
  void waiting(const Seen& seen) override;

 private:
  std::int64_t on_clock(Time time) const;
  void add(runs::TraceSpan span);
  void write();

  std::filesystem::path directory_;
  StepRange range_;
  runs::RankTrace trace_;
  std::int64_t origin_ = 0;  ///< of the common clock
  std::int64_t step_ = 0;
  std::int64_t made_ = 0;     ///< steps traced
  std::int64_t written_ = 0;  ///< of them, in the file
  std::size_t spans_written_ = 0;
  Time begun_;
  std::thread::id thread_;
  bool looking_ = false;
  std::string problem_;
  std::mutex mutex_;  ///< over trace_.spans: operations may end in other threads
};

/// A part of a step, from here to the end of the scope. A null trace costs nothing.
class TracePhase {
 public:
  TracePhase(StepTrace* trace, const char* name)
      : trace_(trace != nullptr && trace->looks() ? trace : nullptr), name_(name) {
    if (trace_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~TracePhase() {
    if (trace_ != nullptr) trace_->phase(name_, begin_, std::chrono::steady_clock::now());
  }
  TracePhase(const TracePhase&) = delete;
  TracePhase& operator=(const TracePhase&) = delete;

 private:
  StepTrace* trace_;
  const char* name_;
  comm::Observer::Time begin_;
};

}  // namespace muster::train
