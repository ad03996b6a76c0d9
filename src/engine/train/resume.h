// Which checkpoint a run goes on from.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "engine/comm/communicator.h"
#include "engine/train/checkpoint.h"

namespace muster::train {

/// The checkpoint that all ranks go on from, and what was passed over to get there.
struct Resumption {
  std::optional<Checkpoint> checkpoint;  ///< nothing: begin at the first step
  Findings skipped;                      ///< damaged checkpoints, as this rank saw them (warnings)
};

/// `resume` is "auto" (the newest whole checkpoint of the store), "never" (refused when the store
/// has any) or a checkpoint's directory. Every file is verified before anything is used, the ranks
/// sharing the work. Errors, alike on all ranks: a named checkpoint that is damaged; with auto,
/// checkpoints of which none is whole. Collective.
Result<Resumption> choose_checkpoint(comm::Communicator& comm, const CheckpointStore& store,
                                     const std::string& resume);

}  // namespace muster::train
