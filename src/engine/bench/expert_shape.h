// What an expert-parallel exchange is asked to move: DeepEP's parameters, and ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/formulas.h"
#include "engine/bench/fabric.h"

namespace CLI {
class App;
}

namespace muster::measure {

/// How often the router picks each expert.
struct Skew {
  enum class Kind { kUniform, kZipf, kHot };
  Kind kind = Kind::kUniform;
  double exponent = 1;     ///< zipf: the i-th favourite is picked in proportion to i^-exponent
  int hot_experts = 1;     ///< hot: so many experts draw …
  double hot_share = 0.5;  ///< … this share of the picks
};

/// "uniform", "zipf", "zipf:1.2", "hot", "hot:4:0.5".
Result<Skew> parse_skew(const std::string& text);
std::string to_string(const Skew& skew);

/// As typed. Below 0: what the form has by itself.
struct ExpertSettings {
  std::string operation = "both", payload = "bf16", path = "hierarchical", routing = "uniform";
  bool low_latency = false, against_alltoallv = false, per_rank = false;
  int tokens = -1, hidden = 7168, top_k = 8, experts = -1, groups = -1, masked = 0;
  unsigned seed = 0;
  int ranks_per_node = 0;  ///< 0: ranks of one host are a node
  int iterations = 20, warmup = 3, checks = 1;
  double time_limit = 300;
  std::string json;
};

enum class ExpertPath { kHierarchical, kAllToAllV };

/// What every rank knows of the exchange. Tokens are per rank; experts lie on ranks in blocks.
struct ExpertShape {
  int ranks = 1, nodes = 1;
  int tokens = 4096, hidden = 7168, top_k = 8, experts = 256;
  int groups = 1;  ///< a token's experts lie on at most so many nodes; `nodes`: no limit
  int masked = 0;  ///< selections of a rank that are void (-1)
  bench::Payload payload = bench::Payload::kBf16;  ///< of dispatch; combine always moves bf16
  Skew skew;

  int experts_per_rank() const { return experts / ranks; }
  int rank_of(int expert) const { return expert / experts_per_rank(); }
};

struct ExpertPlan {
  ExpertShape shape;
  bool dispatch = true, combine = true;
  bool low_latency = false;
  ExpertPath path = ExpertPath::kHierarchical;
  bool against_alltoallv = false, per_rank = false;
  unsigned seed = 0;
  int iterations = 20, warmup = 3, checks = 1;
  std::chrono::milliseconds time_limit{300000};
  std::string json;
};

void add_options(CLI::App& app, ExpertSettings& settings);

/// Where ranks are: nodes are numbered by their first rank.
struct Placement {
  std::vector<int> node_of;                ///< by rank
  std::vector<int> local_of;               ///< by rank: its number within its node
  std::vector<std::vector<int>> ranks_at;  ///< by node
};

/// Ranks of one host are a node; above 0, `ranks_per_node` consecutive ranks of one host are.
Placement place(const std::vector<Seat>& seats, int ranks_per_node);

/// Checks what was typed; findings name the option. Before the ranks are known (`ranks` 0) what
/// depends on them is not looked at.
Result<ExpertPlan> make_plan(const ExpertSettings& settings, int ranks, int nodes);

}  // namespace muster::measure
