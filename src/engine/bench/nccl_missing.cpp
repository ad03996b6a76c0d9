// A program that was built without NCCL says so.
#include "engine/bench/fabric.h"

namespace muster::measure {

bool has_nccl() {
  return false;
}

std::unique_ptr<Fabric> connect_nccl(std::unique_ptr<Fabric> /*base*/) {
  throw Unsupported(
      "--fabric nccl: this muster-bench was built without NCCL; the preset `cuda` builds it with");
}

}  // namespace muster::measure
