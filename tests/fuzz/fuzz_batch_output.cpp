// What the AWS command line prints of jobs and their logs: never crashes, and what was not
// understood says so.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/aws.h"
#include "launch/batch_parse.h"

namespace {

template <typename Parsed>
void check(const Parsed& parsed) {
  if (!parsed && parsed.findings().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace launch = muster::launch;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& name : {launch::parse_registered(text), launch::parse_submitted(text)}) {
    check(name);
    if (name && name->empty()) std::abort();
  }
  const auto jobs = launch::parse_jobs(text);
  check(jobs);
  if (jobs) {
    for (const launch::BatchStatus& job : *jobs) {
      if (job.id.empty() || launch::describe(job).empty()) std::abort();
      const auto end = launch::conclude_batch(job, *jobs).end;
      const bool ended = job.phase() == launch::BatchPhase::kEnded;
      if (ended == (end == muster::runs::LauncherResult::End::kUnknown)) std::abort();
    }
  }
  check(launch::parse_log_events(text));
  muster::ProcessResult failed;
  failed.exit_code = 255;
  failed.err = text;
  const auto failure = muster::aws_failure("aws batch", failed);
  if (failure.message.find('\n') != std::string::npos) std::abort();
  if (muster::aws_words({failure}).empty()) std::abort();
  return 0;
}
