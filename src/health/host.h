// What a health check looks at, and what it knows of the host: texts that tools print, and the
// facts that they are judged by.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "facts/dcgm.h"
#include "facts/health.h"
#include "facts/instances.h"
#include "facts/versions.h"
#include "facts/xid.h"

namespace muster::health {

/// The output of a tool, or a file, as it was read.
struct Text {
  std::string file;  ///< its name, for places
  std::string content;
};

/// What the readers are told beside the text.
struct Host {
  const facts::KernelPolicy* kernel = nullptr;
  const facts::DcgmErrors* dcgm = nullptr;
  const facts::Thresholds* thresholds = nullptr;
  std::optional<facts::Instance> instance;  ///< what the node should be
  std::optional<int> nodes;                 ///< of the job or cluster
  std::optional<double> window;             ///< only the last so many seconds of a log
  bool all_boots = false;                   ///< also what a log holds from before the last boot
  std::vector<int> ignored_xids;
  int dcgm_level = 2;                               ///< of dcgmi diag, 1 to 4
  bool quick = false;                               ///< seconds only: what a prolog may take
  const facts::VersionCatalog* versions = nullptr;  ///< floors, and what goes together
  std::vector<std::string> mounts;                  ///< that the node should have
  std::string scratch;        ///< folder to measure the speed of; empty: nothing is written
  std::string python;         ///< that has the PyTorch to look at
  std::string pytorch_probe;  ///< the probe to run with it
  const Node* pytorch_expect = nullptr;  ///< what each rank should tell

  /// Accelerators and EFA devices that the node should have; nothing: not known.
  std::optional<int> accelerators(std::string_view kind) const;
  std::optional<int> efa_devices() const;
  std::string model() const;  ///< of its accelerators, e.g. A100; may be empty
};

/// A line of a tool's output without what launchers and terminals put around it.
struct Line {
  std::string text;
  std::string source;  ///< of which node or process, when a prefix says so
  int number = 0;      ///< from 1
};

/// Lines without prefixes of srun, mpirun and pdsh, colors and carriage returns.
std::vector<Line> lines_of(std::string_view text);

/// Lines by the node or process that printed them, in the order in which these first appear.
std::vector<std::vector<Line>> streams_of(std::string_view text);

}  // namespace muster::health
