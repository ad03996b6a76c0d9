// What Slurm's commands print: never crashes, and what was not understood says so.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/launcher_errors.h"
#include "launch/slurm_parse.h"

namespace {

template <typename Parsed>
void check(const Parsed& parsed) {
  if (!parsed && parsed.findings().empty()) std::abort();
}

void check_status(const muster::launch::SlurmStatus& status) {
  if (muster::launch::describe(status).empty()) std::abort();
  muster::launch::conclude(status);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace launch = muster::launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto job = launch::parse_sbatch(text);
  check(job);
  if (job && job->id.empty()) std::abort();
  for (const auto& status : {launch::parse_squeue(text, "7"), launch::parse_sacct(text, "7")}) {
    check(status);
    if (status && *status) check_status(**status);
  }
  const auto shown = launch::parse_scontrol(text);
  check(shown);
  if (shown) check_status(*shown);
  launch::says_unknown_job(text);
  launch::explain_launcher(text);
  return 0;
}
