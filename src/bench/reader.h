// How the readers of the tools' text see a log: line by line, each line without what launchers put
// around it. Internal to the readers; read.h is what others use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/document.h"
#include "bench/record.h"

namespace muster::bench {

struct LogLine {
  std::string text;
  std::string source;  ///< of which process, when a prefix says so
  int number = 0;      ///< from 1
};

/// The log as it grows.
class LogBuilder {
 public:
  explicit LogBuilder(const std::string& file) { log.file = file; }

  /// A new run, with the settings in force.
  Run& open(const std::string& tool, const LogLine& line);

  /// A variable of the environment that a line tells: of the runs that have no rows yet, and of
  /// those to come until a later command says otherwise. Names that say nothing about speed
  /// (NCCL_DEBUG) are left out.
  void set(const std::string& name, const std::string& value);

  void unread(const LogLine& line, const std::string& what);
  /// Something broke; of the latest run, else of the first to come.
  void broke(const LogLine& line);

  Log log;

 private:
  std::map<std::string, std::string> settings_;
  bool settings_used_ = false;
  std::vector<Remark> early_;
};

/// Whether a variable of the environment bears on what is measured.
bool is_setting(std::string_view name);

class TextReader {
 public:
  virtual ~TextReader() = default;
  /// True when the line was this tool's; then nobody else sees it.
  virtual bool take(const LogLine& line, LogBuilder& builder) = 0;
  virtual void finish(LogBuilder& /*builder*/) {}
};

std::unique_ptr<TextReader> make_nccl_reader();    ///< nccl-tests, rccl-tests
std::unique_ptr<TextReader> make_native_reader();  ///< muster-bench's own tables
std::unique_ptr<TextReader> make_osu_reader();
std::unique_ptr<TextReader> make_imb_reader();
std::unique_ptr<TextReader> make_nvshmem_reader();
std::unique_ptr<TextReader> make_nccom_reader();
std::unique_ptr<TextReader> make_expert_reader();  ///< DeepEP, UCCL-EP
std::unique_ptr<TextReader> make_pplx_reader();    ///< pplx-kernels' TSV
std::unique_ptr<TextReader> make_perftest_reader();
std::unique_ptr<TextReader> make_nvbandwidth_reader();

/// What any line may tell beside results: over which network, with which environment, that
/// something broke.
class Surroundings {
 public:
  Surroundings();
  ~Surroundings();
  void see(const LogLine& line, LogBuilder& builder);
  void finish(LogBuilder& builder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Readers of JSON documents: true when it was theirs.
bool read_nccl_json(const Node& document, LogBuilder& builder);
bool read_rccl_json(const Node& document, LogBuilder& builder);
bool read_perftest_json(const Node& document, LogBuilder& builder);
bool read_nvbandwidth_json(const Node& document, LogBuilder& builder);
bool read_pplx_json(const Node& document, LogBuilder& builder);
bool read_own_json(const Node& document, LogBuilder& builder);  ///< what `bench read -o json` wrote

/// Names of collectives in the spelling of nccl-tests: AllReduce, allreduce, all_reduce_perf.
/// Others are returned in lower case.
std::string operation_name(std::string_view name);

/// "2.30.4" of NCCL's number 23004; anything else as it is.
std::string nccl_version(std::string_view text);

/// "half", "f8e4m3": one spelling of a type, whatever the tool's.
std::string type_name(std::string_view name);

}  // namespace muster::bench
