// What one rank did when: the trace that the native engine writes, as a file of the Chrome trace
// event format (Perfetto, chrome://tracing), and read back. Pure.
//
// File: RUN/profile/rank-00000.trace.json. Track 1 of a rank holds the program: steps, the phases
// in them, the waiting in those; track 2 the waiting of other threads; tracks from 10 on the
// operations under way, as many tracks as there are at a time. All ranks' times are on one clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::runs {

struct TraceSpan {
  enum class Kind { kStep, kPhase, kWait, kOperation };
  Kind kind = Kind::kPhase;
  std::string name;           ///< "step 3", "forward", "all_gather"
  std::int64_t begin = 0;     ///< nanoseconds on the common clock
  std::int64_t end = 0;       ///< not before `begin`
  std::int64_t step = 0;      ///< in which it began; 0: between steps
  bool other_thread = false;  ///< of a waiting: not in the thread that makes the steps
  std::string group;          ///< of waiting and operations: which communicator
  std::uint64_t number = 0;   ///< of the operation in its group; 0: a send or a receive
  std::int64_t bytes = 0;

  bool operator==(const TraceSpan&) const = default;
};

struct RankTrace {
  int rank = 0;
  int world = 1;
  std::string host;
  int pid = 0;
  std::int64_t clock_offset = 0;       ///< nanoseconds, taken off this rank's own clock
  std::int64_t clock_uncertainty = 0;  ///< nanoseconds
  bool cut = false;                    ///< more happened than a file may hold
  std::vector<TraceSpan> spans;        ///< by begin, those around before those within
};

/// RUN/profile/rank-NNNNN.trace.json below `directory`.
std::string trace_file(const std::string& directory, int rank);

/// Puts spans into the order of RankTrace.
void sort_spans(std::vector<TraceSpan>& spans);

/// The file's text. Same input, same bytes.
std::string trace_text(const RankTrace& trace);

/// Reads a file of trace_text(). Errors: no JSON, no trace of ours, a duration below zero, spans of
/// a track that neither nest nor follow each other.
Result<RankTrace> parse_trace(const std::string& text, const std::string& file);

/// One file of all ranks' files, for a viewer that opens one.
std::string merged_text(const std::vector<RankTrace>& traces);

}  // namespace muster::runs
