// The states of a Slurm cluster's nodes, from sinfo and scontrol of any version: base state and
// every modifier, adding up to the number of nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/outcome.h"

namespace muster::health {

/// A state as Slurm writes it, taken apart: "IDLE+DRAIN", "idle*", "mixed-", "allocated+".
struct NodeState {
  std::string base;                 ///< lower case, long form: idle, allocated, mixed, down, …
  std::set<std::string> modifiers;  ///< drain, not_responding, powered_down, planned, …
  std::string text;                 ///< as written

  bool operator==(const NodeState&) const = default;
};

NodeState parse_node_state(std::string_view text);

/// Whether the node can take jobs, and how bad it is when it can't.
Health health_of(const NodeState& state);

/// One row of sinfo or one node of scontrol.
struct NodeRow {
  std::string node;  ///< a name, or an expression; may be empty
  int count = 1;
  NodeState state;
  std::string reason;
  int line = 0;
};

/// `scontrol show nodes`, in lines or one line a node.
std::vector<NodeRow> parse_scontrol_nodes(std::string_view text);

}  // namespace muster::health
