// What kubectl prints of objects, pods, events and logs: never crashes, and what was not understood
// says so.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/kubernetes_logs.h"
#include "launch/kubernetes_parse.h"

namespace {

namespace launch = muster::launch;

void check_pods(std::string_view text, const launch::KubeObject& status) {
  const auto pods = launch::parse_kube_pods(text);
  if (!pods && pods.findings().empty()) std::abort();
  if (!pods) return;
  for (const launch::KubePod& pod : *pods) {
    if (launch::describe(pod).empty()) std::abort();
  }
  const launch::KubeJob job{"job.v1.batch", "Job", "x", "ml", {}, 2};
  if (launch::describe(job, status, *pods).find('\n') != std::string::npos) std::abort();
  // A state that is not known is no end.
  const auto end = launch::conclude(job, status, *pods).end;
  if (status.phase == launch::KubePhase::kUnknown &&
      end != muster::runs::LauncherResult::End::kUnknown)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = launch::parse_kube_object(text);
  if (!object && object.findings().empty()) std::abort();
  check_pods(text, object ? *object : launch::KubeObject{});
  for (const auto& warning : launch::parse_kube_warnings(text)) {
    if (warning.empty()) std::abort();
  }
  if (launch::kube_error(text).find('\n') != std::string::npos) std::abort();
  launch::says_not_found(text);
  launch::KubeLogs logs;
  logs.take(text);
  // The same answer again brings nothing new.
  if (!logs.take(text).empty()) std::abort();
  return 0;
}
