// One process alone: needs neither MPI nor a rendezvous.
#pragma once

#include <memory>

#include "engine/comm/communicator.h"

namespace muster::comm {

std::shared_ptr<Communicator> connect_single(const Options& options);

}  // namespace muster::comm
