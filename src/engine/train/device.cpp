#include "engine/train/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/train/process_info.h"

namespace muster::train {

Result<torch::Device> take_device(const Settings& settings) {
  if (settings.device != "cuda") {
    if (settings.transport == "nccl")
      return failure("option", "--transport nccl: it moves tensors of CUDA devices only",
                     "--device cuda, or --transport gloo");
    return torch::Device(torch::kCPU);
  }
  const auto devices = static_cast<int>(torch::cuda::device_count());
  if (devices == 0)
    return failure("option", "--device cuda: no CUDA device that this build can use",
                   "--device cpu, or a build with MUSTER_CUDA on a machine with a GPU");
  if (local_rank() >= devices)
    return failure("option",
                   fmt::format("--device cuda: {} CUDA devices leave none for rank {} of this node",
                               devices, local_rank()),
                   "as many ranks on a node as it has devices");
  const torch::Device device(torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank()));
  c10::impl::VirtualGuardImpl(torch::kCUDA).setDevice(device);
  return device;
}

}  // namespace muster::train
