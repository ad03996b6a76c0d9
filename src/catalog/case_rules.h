// Rules between the fields of a case: arithmetic of the world, names, secrets, pins.
#pragma once

#include "base/finding.h"
#include "catalog/case.h"

namespace muster::catalog {

/// All rules on a settled case; `manifest` gives the places. Rule identifiers:
///   case-name            name is not what the manifest's folder asks for
///   case-world           tp·pp·cp·dp is not the world
///   case-batch           the global batch is not a multiple of micro × data-parallel ranks
///   case-experts         ep does not divide dp·cp·tp
///   case-heads           heads or kv_heads of a known model cannot be split by tp
///   case-layers          layers of a known model cannot be split by pp·vpp
///   case-sequence        seq_len cannot be split by 2·cp, or exceeds the model's context
///   case-rendezvous      elastic rendezvous and a fixed rank exclude each other
///   case-nodes           min_nodes above nodes
///   case-instance        more accelerators a node than the instance type has, or another kind
///   case-shard           shard_size does not fit the strategy or the world
///   case-data            not exactly one of data.name and data.path
///   case-optimizer       min_lr above lr; warning: warm-up longer than the run
///   case-checkpoint      a run that resumes by itself on several nodes keeps checkpoints on no
///   shared mount case-secret          a secret is written into the manifest case-latest an image
///   or pin floats ("latest", or no tag) case-pin             a pinned version is below its floor
///   case-dns             a name that Kubernetes does not take
///   case-band            eval_loss min above max
///   case-native          what the native engine cannot do (tp, pp, cp, an unknown model)
Findings check_case(const Case& values, const Node& manifest, const std::string& expected_name,
                    const facts::Facts& known);

}  // namespace muster::catalog
