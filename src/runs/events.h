// The record a training process leaves, one JSON object a line, one file a rank: the only thing
// that the trainer and the judge share.
//
// File: RUN/metrics/rank-00000.jsonl (five digits). Every line has "event", and "seq": 0, 1, 2 … by
// which a lost line is noticed (the writer adds it). Times are seconds, sizes bytes, rates per
// second. A figure that is not finite is written as null, with "nonfinite": ["loss", …]. A resumed
// run appends to the same files, from another "start" on. Steps count from 1: the event of step n
// follows the n-th update, and a checkpoint of step n holds n updates. Every rank writes every
// step.
//
//   start       schema_version 1, rank, world, local_rank, host, pid, transport
//   (mpi|gloo|nccl|single),
//               device (cpu|cuda), threads, precision, strategy, parameters, tokens_per_step (whole
//               world), flops_per_token, versions {muster, libtorch, mpi, compiler}, time
//   peak        dtype, flops_per_second           the node's measured matrix-product peak, of one
//   rank resume      step, path, hash data        tokens, vocabulary, shards, tokenizer, hash step
//   step, loss (mean over the world), lr, grad_norm, tokens, seconds, wait_seconds (this rank's
//   waiting in
//               collectives), tokens_per_second, flops_per_second (one rank), mfu (null when no
//               peak), time
//   eval        step, loss, tokens
//   checkpoint  step, path, hash, bytes, seconds
//   reload      step, path, hash, saved_hash      the checkpoint read back
//   trace       steps (whole ones that the trace holds), file (none without steps), problem (why it
//   could not be written)
//   error       kind (timeout|comm|nonfinite|io|data|config), message, operation, missing [{rank,
//   host}], waiting [ranks] end         step, reason (complete|interrupted|error), parameter_hash,
//   peak_memory, seconds, start_to_first_step_seconds
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace muster::runs {

/// RUN/metrics/rank-NNNNN.jsonl.
std::string metrics_file(const std::string& run_directory, int rank);

/// Appends lines to a rank's file; each line is one write(2), so that a killed process leaves only
/// whole lines but the last. Taking up a file that exists cuts such a torn line off first.
class EventWriter {
 public:
  /// An empty path writes nowhere. Makes the folder when it is missing.
  explicit EventWriter(std::string path);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Adds "seq", replaces figures that are not finite by null and lists them in "nonfinite". False
  /// when the line could not be written (disk full, folder gone); then nothing of it is in the
  /// file.
  bool write(nlohmann::json event);

 private:
  std::string path_;
  int fd_ = -1;
  long long next_ = 0;  ///< the next "seq"; -1: the file can't be kept whole
};

/// What a rank's file holds: the events that can be read, and an error finding at each line that
/// can't.
struct EventLines {
  std::vector<nlohmann::json> events;
  Findings findings;
};

/// Reads as much as there is. A torn last line is left out without a finding: a killed process
/// leaves one.
EventLines read_event_lines(const std::string& text, const std::string& file);

/// As read_event_lines, all or nothing: any line but a torn last one that is not an event object is
/// an error.
Result<std::vector<nlohmann::json>> parse_events(const std::string& text, const std::string& file);

}  // namespace muster::runs
