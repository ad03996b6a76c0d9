// What a benchmark's output says, in one schema whatever the tool: records (one measured row each),
// runs (one start of a program), and the log that held them. Units: bytes, microseconds, and GB/s
// of 10^9 bytes. What a tool did not say is absent, never zero.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"

namespace muster::bench {

/// One measured row.
struct Record {
  std::string tool;       ///< nccl-tests, rccl-tests, osu, imb, nvshmem, nccom-test, deepep, …
  std::string version;    ///< of the tool, as it says
  std::string operation;  ///< all_reduce, alltoall, sendrecv, dispatch, write_bw, …
  std::string type;       ///< float, bfloat16, f8e4m3, …; empty: not said
  std::string reduction;  ///< sum, max, …; empty: none
  std::string placement;  ///< out-of-place or in-place; empty: the tool has no such two
  std::string variant;    ///< what else tells rows apart: a scope, a GPU pair, a rank, FP8
  std::optional<int> root;
  std::optional<int> ranks, nodes;
  std::optional<std::uint64_t> size;   ///< bytes, as the tool counts them
  std::optional<std::uint64_t> count;  ///< elements
  std::optional<double> time;          ///< microseconds
  std::optional<double> algbw, busbw;  ///< GB/s
  std::optional<double> wrong;         ///< elements that were wrong; absent: not checked
  int line = 0;                        ///< in the log, from 1
};

/// One rank as the log's list of devices gives it.
struct Device {
  int rank = 0;
  std::string host;
  std::string pid;
  std::string name;  ///< NVIDIA H100 80GB HBM3
  int line = 0;
};

/// Something that the log says of the run beside its rows, with the line that says it.
struct Remark {
  int line = 0;
  std::string text;
};

/// One start of a program: a header with the rows that follow it.
struct Run {
  std::string tool, version;
  std::string operation;  ///< of all its rows, when it has only one
  std::string stream;     ///< whose output it is, when the log tells several apart
  int line = 0;           ///< of its header
  std::vector<Device> devices;
  std::optional<int> ranks, nodes;
  std::vector<Record> records;
  std::optional<double> out_of_bounds;          ///< of its summary
  std::optional<double> average_busbw;          ///< of its summary, GB/s
  bool ended = false;                           ///< its summary was read
  bool has_summary = false;                     ///< its tool ends with one
  std::vector<Remark> wrong;                    ///< data that was not what it should be
  std::vector<Remark> broken;                   ///< aborts, crashes, tests that did not finish
  std::map<std::string, std::string> settings;  ///< what makes it unlike other runs: NCCL_ALGO, …
};

/// How one line of the log bears on the question over which network the bytes went.
struct Transport {
  enum class Kind { kFast, kSlow, kFailed };
  Kind kind = Kind::kFast;
  std::string name;  ///< efa, ib, socket, …; of kFailed what did not load
  int line = 0;
  std::string text;            ///< the line
  std::optional<int> devices;  ///< "found 32 nics"
};

struct Log {
  std::string file;
  std::vector<Run> runs;
  std::vector<Transport> transports;
  std::optional<double> topology_busbw;  ///< GB/s that the GPUs' links allow at most, when told
  std::string topology_how;              ///< how that was computed, from which lines
  std::string nccl;                      ///< version of the library, when told
  std::optional<int> nranks;             ///< the largest world that NCCL says it made
  std::string separate;                  ///< of records read back: that the runs were several
  Findings findings;                     ///< lines that look like results and could not be read

  bool empty() const;
};

/// What two results must share to be compared: everything but size, time and rates. One line.
std::string series_key(const Run& run, const Record& record);

/// Hosts of the run's devices, in order of rank, each once.
std::vector<std::string> hosts_of(const Run& run);

/// Ranks of a run: as said, else as many devices as it lists, else as its rates imply.
std::optional<int> ranks_of(const Run& run);

/// Nodes of a run: as said, else as many hosts as its devices name.
std::optional<int> nodes_of(const Run& run);

}  // namespace muster::bench
