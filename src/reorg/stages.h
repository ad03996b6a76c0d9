// The steps of a reorganisation as a model: the tag, the consumers' pins, the move, the consumers'
// new paths. Consumers lag: what they were asked to do happens at any time later. Every order is
// walked, and a state in which somebody reads what is not there is shown with the way to it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::reorg {

enum class StepKind {
  kTag,     ///< the old layout gets a tag
  kPin,     ///< a consumer is asked to read the tag
  kMove,    ///< the layout changes on the branch
  kFollow,  ///< a consumer is asked to read the new paths on the branch
};
const char* to_string(StepKind kind);

struct Step {
  StepKind kind = StepKind::kTag;
  std::size_t consumer = 0;  ///< of kPin and kFollow
  /// The step waits until all that consumers were asked before has happened: a gate.
  bool gated = false;
};

/// A state that breaks somebody, and the events that led there.
struct CounterExample {
  std::string what;
  std::vector<std::string> events;
};

struct StageReport {
  std::size_t states = 0;               ///< that were visited
  std::vector<CounterExample> invalid;  ///< the shortest way to each way of breaking
};

/// Walks every interleaving of the steps in their order with what lags behind them.
StageReport walk_stages(const std::vector<Step>& steps, const std::vector<std::string>& consumers);

/// The steps of an order: those that ask consumers, once for each. Gated: the first of each kind
/// waits.
std::vector<Step> steps_in(const std::vector<StepKind>& order, std::size_t consumers, bool gated);

/// One order of the four kinds of step and what came of it.
struct OrderReport {
  std::vector<StepKind> order;
  StageReport report;
};
/// All orders of the four kinds, each gated or not as `gated` says.
std::vector<OrderReport> all_orders(const std::vector<std::string>& consumers, bool gated);

}  // namespace muster::reorg
