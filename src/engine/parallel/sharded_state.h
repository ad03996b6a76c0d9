// What Sharded is made of; shared by its two halves, parameters (sharded.cpp) and gradients
// (gradients.cpp).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model/gradient_slot.h"
#include "engine/parallel/sharded.h"
#include "engine/parallel/unit.h"

namespace muster::parallel {

struct Sharded::State {
  State(std::shared_ptr<comm::Communicator> communicator, Options chosen);
  ~State();

  // Parameters.
  Unit* find(const torch::nn::Module& module) const;
  void begin_gather(Unit& unit);
  void end_gather(Unit& unit);
  void release(Unit& unit);
  void begin_gather_ahead(const Unit& unit, int direction);
  void before_backward(Unit& unit);
  void after_backward(Unit& unit);
  void passed(Unit& unit);
  bool keeps_after_forward(const Unit& unit) const;
  void note_gathered();

  // Gradients.
  void watch(Unit& unit);
  void ignore(Unit& unit);
  model::GradientSlot take_slot(Unit& unit, Part& part);
  void arrived(Unit& unit, Part& part);
  void reduce(Unit& unit);
  void reduce_here(Unit& unit);
  void begin_micro_batch(bool is_last);
  void finish_micro_batch();
  void advance_reductions(bool to_the_end);
  void make_room_for_gradients(const Unit& unit);
  void free_gradients(Unit& unit);
  bool sharded() const { return shard_group != nullptr; }
  bool replicated() const { return replicas != nullptr; }
  double mean() const { return 1.0 / world->size(); }

  std::shared_ptr<comm::Communicator> world;
  std::shared_ptr<comm::Communicator> shard_group;  ///< null: every rank owns all
  std::shared_ptr<comm::Communicator>
      replicas;  ///< ranks that own the same; null: there is only this one
  Options options;
  UnitPlace place;
  MemoryPool pool{torch::kCPU};

  std::vector<std::unique_ptr<Unit>> units;
  std::vector<Unit*>
      forward_order;  ///< units that are gathered, in the order in which they first ran
  std::unordered_map<const torch::nn::Module*, Unit*> by_module;
  std::vector<const c10::TensorImpl*> taken;
  std::vector<Shard> shards;
  std::vector<ParameterSlot> slots;

  // A reduction under way, and whether the replicas add theirs when it is done.
  struct Pending {
    Unit* unit = nullptr;
    comm::Handle handle;
    bool then_replicas = false;
  };
  std::deque<Pending> reductions;  ///< in the order in which they began, the same on all ranks
  std::deque<Pending> replications;
  bool last_micro_batch = true;
  bool backward_ran = false;  ///< in this micro-batch
  Held held;
};

}  // namespace muster::parallel
