// Carries tokens to the ranks of their experts and their results back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/bench/expert_data.h"
#include "engine/bench/expert_shape.h"

namespace muster::measure {

/// One rank's end of it. All ranks call load(), dispatch() and combine() together; what happens
/// between them is this rank's own.
class ExpertExchange {
 public:
  virtual ~ExpertExchange() = default;

  /// This rank's tokens and where they go, until the next load(). Nothing is sent.
  virtual void load(const Routing& routing, unsigned seed) = 0;
  /// From the router's choice to rows that have arrived here.
  virtual void dispatch() = 0;
  /// Rows that arrived, in the order of due_rows() or due_slots().
  virtual std::size_t received() const = 0;
  virtual const std::byte* row(std::size_t index) const = 0;
  /// The experts' work on what arrived, where combine() finds it.
  virtual void apply() = 0;
  /// From the experts' results to this rank's tokens, summed.
  virtual void combine() = 0;
  /// `hidden` bf16 values.
  virtual const std::uint16_t* combined(int token) const = 0;
};

/// Throws Unsupported when the nodes have unlike numbers of ranks.
std::unique_ptr<ExpertExchange> make_normal_exchange(const ExpertPlan& plan,
                                                     const Placement& placement, int rank);
std::unique_ptr<ExpertExchange> make_low_latency_exchange(const ExpertPlan& plan,
                                                          const Placement& placement, int rank);

}  // namespace muster::measure
