#include "engine/train/step_trace.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/file_system.h"
#include "engine/train/agreement.h"

namespace muster::train {

namespace {

/// About 30 MB of JSON.
constexpr std::size_t kMostSpans = 200'000;
constexpr int kClockRounds = 9;

std::int64_t nanoseconds(comm::Observer::Time time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

void StepTrace::align(comm::Communicator& comm) {
  const int rank = comm.rank();
  const comm::Member& me = comm.members()[static_cast<std::size_t>(rank)];
  trace_.rank = rank;
  trace_.world = comm.size();
  trace_.host = me.host;
  trace_.pid = static_cast<int>(::getpid());
  // All leave a barrier at about the same time. What one round tells is off by how late a rank was
  // let go on; the median of several hardly is, and their spread says how far it may be.
  torch::Tensor mine = torch::zeros({kClockRounds}, torch::kInt64);
  comm.barrier()->wait();
  for (int round = 0; round < kClockRounds; ++round) {
    comm.barrier()->wait();
    mine[round] = nanoseconds(std::chrono::steady_clock::now());
  }
  const torch::Tensor all = gather(comm, mine);
  std::vector<std::int64_t> differences;
  for (int round = 0; round < kClockRounds; ++round)
    differences.push_back((all[rank * kClockRounds + round] - all[round]).item<std::int64_t>());
  std::sort(differences.begin(), differences.end());
  const std::int64_t median = differences[kClockRounds / 2];
  trace_.clock_uncertainty = (differences.back() - differences.front() + 1) / 2;
  // Clocks whose difference lies within what the measurement can't tell are taken for one clock:
  // the ranks of a node share it.
  trace_.clock_offset = std::abs(median) <= trace_.clock_uncertainty ? 0 : median;
  origin_ = all[kClockRounds - 1].item<std::int64_t>();
}

std::int64_t StepTrace::on_clock(Time time) const {
  return nanoseconds(time) - trace_.clock_offset - origin_;
}

void StepTrace::begin_step(std::int64_t step) {
  if (step < range_.first || step > range_.last || trace_.cut || !problem_.empty()) return;
  step_ = step;
  thread_ = std::this_thread::get_id();
  looking_ = true;
  begun_ = std::chrono::steady_clock::now();
}

void StepTrace::end_step() {
  if (!looking_) return;
  looking_ = false;
  runs::TraceSpan span;
  span.kind = runs::TraceSpan::Kind::kStep;
  span.name = fmt::format("step {}", step_);
  span.begin = on_clock(begun_);
  span.end = on_clock(std::chrono::steady_clock::now());
  span.step = step_;
  add(std::move(span));
  ++made_;
  if (trace_.spans.size() >= kMostSpans) trace_.cut = true;
  // Each writing holds all before it: seldom enough that their sum stays in proportion.
  if (step_ == range_.last || trace_.cut || made_ - written_ > made_ / 8) write();
}

void StepTrace::finish() {
  looking_ = false;
  if (trace_.spans.size() > spans_written_ && problem_.empty()) write();
}

std::filesystem::path StepTrace::file() const {
  return runs::trace_file(directory_.string(), trace_.rank);
}

void StepTrace::phase(const char* name, Time begin, Time end) {
  runs::TraceSpan span;
  span.name = name;
  span.begin = on_clock(begin);
  span.end = on_clock(end);
  add(std::move(span));
}

void StepTrace::operation(const Seen& seen) {
  runs::TraceSpan span;
  span.kind = runs::TraceSpan::Kind::kOperation;
  span.name = seen.name;
  span.begin = on_clock(seen.begin);
  span.end = std::max(span.begin, on_clock(seen.end));
  span.group = seen.group;
  span.number = seen.number;
  span.bytes = seen.bytes;
  add(std::move(span));
}

void StepTrace::waiting(const Seen& seen) {
  // What was begun in the range may be waited for after it.
  if (!looking_) return;
  runs::TraceSpan span;
  span.kind = runs::TraceSpan::Kind::kWait;
  span.name = "wait for " + seen.name;
  span.begin = on_clock(seen.begin);
  span.end = on_clock(seen.end);
  span.group = seen.group;
  span.number = seen.number;
  span.bytes = seen.bytes;
  span.other_thread = std::this_thread::get_id() != thread_;
  add(std::move(span));
}

void StepTrace::add(runs::TraceSpan span) {
  span.step = step_;
  const std::lock_guard lock(mutex_);
  trace_.spans.push_back(std::move(span));
}

void StepTrace::write() {
  const std::lock_guard lock(mutex_);
  runs::RankTrace sorted = trace_;
  runs::sort_spans(sorted.spans);
  const auto written = real_file_system().write(file(), runs::trace_text(sorted));
  if (written) {
    written_ = made_;
    spans_written_ = trace_.spans.size();
  } else {
    problem_ = written.findings().front().message;
  }
}

}  // namespace muster::train
