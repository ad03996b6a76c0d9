#include "engine/comm/communicator.h"

#include <fmt/format.h>

#include "engine/comm/c10d.h"
#include "engine/comm/mpi.h"
#include "engine/comm/single.h"

namespace muster::comm {
namespace {

std::string list(const std::vector<Member>& members) {
  std::string text;
  for (const Member& member : members) {
    text += fmt::format("{}rank {}", text.empty() ? "" : ", ", member.rank);
    if (!member.host.empty()) text += fmt::format(" (host {}, pid {})", member.host, member.pid);
  }
  return text;
}

std::string message(const std::string& operation, const std::vector<Member>& waiting,
                    const std::vector<Member>& missing, std::chrono::milliseconds limit) {
  const std::string absent =
      missing.empty() ? "no rank is missing: they wait for each other, so their operations differ"
                      : fmt::format("missing: {}", list(missing));
  return fmt::format("{} did not finish within {:g} s; {}; waiting: {}", operation,
                     static_cast<double>(limit.count()) / 1000.0, absent, list(waiting));
}

}  // namespace

Timeout::Timeout(std::string operation, std::vector<Member> waiting, std::vector<Member> missing,
                 std::chrono::milliseconds limit)
    : std::runtime_error(message(operation, waiting, missing, limit)),
      operation_(std::move(operation)),
      waiting_(std::move(waiting)),
      missing_(std::move(missing)) {}

std::shared_ptr<Communicator> connect(Transport transport, const Options& options,
                                      torch::Device device) {
  switch (transport) {
    case Transport::kSingle:
      return connect_single(options);
    case Transport::kMpi:
      if (!launched_by_mpi())
        throw Error(
            "MPI was asked for, but no launcher (mpirun, srun --mpi=pmix) started this process");
      return connect_mpi(options);
    case Transport::kGloo:
      return connect_gloo(options);
    case Transport::kNccl:
      return connect_nccl(options, device);
    case Transport::kAuto:
      break;
  }
  if (launched_by_mpi() && device.is_cpu()) return connect_mpi(options);
  if (launched_by_environment())
    return device.is_cuda() ? connect_nccl(options, device) : connect_gloo(options);
  if (launched_by_mpi())
    throw Error(
        "started by MPI on a CUDA device: NCCL needs RANK, WORLD_SIZE, MASTER_ADDR and "
        "MASTER_PORT");
  return connect_single(options);
}

}  // namespace muster::comm
