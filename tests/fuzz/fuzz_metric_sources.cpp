// What Slurm's commands print and the kubelet keeps, as metrics: always a valid exposition, whose
// states add up to the nodes and jobs that were understood.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/exporter.h"
#include "metrics/gpu.h"
#include "metrics/pods.h"
#include "metrics/slurm.h"
#include "metrics/slurm_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::metrics;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Exposition metrics;
  collect_slurm_nodes(text, metrics);
  collect_slurm_jobs(text, metrics);
  collect_slurm_scheduler(text, metrics);
  collect_slurm_version(text, metrics);
  // A carriage return within a name is the one thing that the format can't carry.
  if (text.find('\r') == std::string_view::npos && !check_exposition(metrics.text(), "m").empty())
    std::abort();
  const auto pods = parse_pods(text, {"ml_llama-0_uid"}, "checkpoint");
  if (!pods && pods.findings().empty()) std::abort();
  parse_jobs(text);
  negotiated_form(text);
  allows_gzip(text);
  return 0;
}
