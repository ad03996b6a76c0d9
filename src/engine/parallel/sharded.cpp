#include "engine/parallel/sharded.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/parallel/parameter_hash.h"
#include "engine/parallel/recompute.h"
#include "engine/parallel/sharded_state.h"

namespace muster::parallel {

Sharded::State::State(std::shared_ptr<comm::Communicator> communicator, Options chosen)
    : world(std::move(communicator)), options(chosen) {
  const int size = world->size();
  int shard_size = size;
  if (options.strategy == Strategy::kDdp) shard_size = 1;
  if (options.strategy == Strategy::kHybrid) {
    shard_size = options.shard_size;
    if (shard_size < 1 || shard_size > size || size % shard_size != 0) {
      throw comm::Error(
          fmt::format("a shard group of {} ranks does not divide a world of {}", shard_size, size));
    }
  }
  if (options.compute_dtype != torch::kFloat32 && options.compute_dtype != torch::kBFloat16) {
    throw comm::Error("the compute type is float32 or bfloat16");
  }
  place = {world->rank() % shard_size, shard_size, options.compute_dtype};
  if (shard_size == size) {
    if (size > 1) shard_group = world;
  } else if (shard_size == 1) {
    replicas = world;
  } else {
    shard_group = world->split(world->rank() / shard_size);
    replicas = world->split(world->rank() % shard_size);
  }
}

Sharded::State::~State() {
  for (const auto& unit : units) ignore(*unit);
}

Unit* Sharded::State::find(const torch::nn::Module& module) const {
  const auto found = by_module.find(&module);
  return found == by_module.end() ? nullptr : found->second;
}

void Sharded::State::note_gathered() {
  held.gathered_units = static_cast<int>(
      std::count_if(forward_order.begin(), forward_order.end(),
                    [](const Unit* unit) { return unit->state != Unit::Compute::kReleased; }));
  held.most_gathered_units = std::max(held.most_gathered_units, held.gathered_units);
}

void Sharded::State::begin_gather(Unit& unit) {
  if (unit.state != Unit::Compute::kReleased) return;
  const torch::NoGradGuard no_grad;
  unit.compute.attach(pool);
  torch::Tensor own = unit.own_compute();
  own.copy_(unit.master);
  unit.gather = shard_group->all_gather(unit.compute.tensor(), own);
  unit.state = Unit::Compute::kGathering;
  note_gathered();
}

void Sharded::State::end_gather(Unit& unit) {
  begin_gather(unit);
  if (unit.state != Unit::Compute::kGathering) return;
  unit.gather->wait();
  unit.gather.reset();
  unit.state = Unit::Compute::kGathered;
}

void Sharded::State::release(Unit& unit) {
  if (!unit.runs || unit.state == Unit::Compute::kReleased) return;
  end_gather(unit);
  unit.compute.detach(pool);
  unit.state = Unit::Compute::kReleased;
  note_gathered();
}

void Sharded::State::begin_gather_ahead(const Unit& unit, int direction) {
  for (int step = 1; step <= options.prefetch; ++step) {
    const int next = unit.order + direction * step;
    if (next < 0 || next >= static_cast<int>(forward_order.size())) return;
    begin_gather(*forward_order[static_cast<std::size_t>(next)]);
  }
}

// What is needed first in backward is not released at the end of forward.
bool Sharded::State::keeps_after_forward(const Unit& unit) const {
  return options.strategy == Strategy::kShardGradOp ||
         unit.order + 1 == static_cast<int>(forward_order.size());
}

void Sharded::State::before_backward(Unit& unit) {
  end_gather(unit);
  begin_gather_ahead(unit, -1);
}

// Nothing of the unit is needed any more once its input's gradient and all its parameters' are
// there.
void Sharded::State::after_backward(Unit& unit) {
  if (unit.runs && unit.reduced && unit.passed == unit.forwards) release(unit);
}

// Autograd runs later nodes first: when it comes to the node before a unit, it is through with the
// unit. A parameter that has no gradient by now gets none.
void Sharded::State::passed(Unit& unit) {
  if (++unit.passed == unit.forwards) reduce(unit);
  after_backward(unit);
}

Sharded::Sharded(std::shared_ptr<comm::Communicator> world, Options options)
    : state_(std::make_unique<State>(std::move(world), options)) {}

Sharded::~Sharded() = default;

void Sharded::wrap(torch::nn::Module& module, const std::string& name) {
  State& state = *state_;
  std::vector<NamedParameter> parameters = take_parameters(module, name, state.taken);
  if (parameters.empty()) return;
  if (state.units.empty()) state.pool = MemoryPool(parameters[0].tensor.device());
  std::vector<std::vector<NamedParameter>> runs;
  if (state.sharded()) {
    runs.push_back(std::move(parameters));
  } else {
    runs = cut(std::move(parameters), state.options.bucket_bytes);
  }
  const std::string title = name.empty() ? "root" : name;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto unit = make_unit(i == 0 ? title : fmt::format("{}.{}", title, i), &module,
                          std::move(runs[i]), state.place, state.pool);
    const int index = static_cast<int>(state.units.size());
    for (const Part& part : unit->parts)
      state.slots.push_back({part.name, part.shape, index, part.offset, part.elements});
    Shard shard;
    shard.unit = unit->name;
    shard.parameters = unit->master;
    if (unit->compute.defined()) shard.compute = unit->own_compute();
    shard.undecayed = std::clamp<std::int64_t>(unit->undecayed - unit->begin, 0, unit->owned);
    state.shards.push_back(std::move(shard));
    state.watch(*unit);
    if (state.sharded()) state.by_module[&module] = unit.get();
    state.units.push_back(std::move(unit));
  }
}

torch::Tensor Sharded::run(torch::nn::Module& module, const Body& body,
                           const torch::Tensor& input) {
  State& state = *state_;
  const bool tracked = torch::GradMode::is_enabled();
  const auto compute = [&](const torch::Tensor& in) {
    return tracked && state.options.activation_checkpointing ? recompute(body, in) : body(in);
  };
  Unit* const unit = state.find(module);
  if (unit == nullptr) return compute(input);

  if (!unit->runs) {
    unit->runs = true;
    unit->order = static_cast<int>(state.forward_order.size());
    state.forward_order.push_back(unit);
    for (std::size_t i = 0; i < state.units.size(); ++i) {
      if (state.units[i].get() == unit) state.shards[i].compute = torch::Tensor();
    }
    state.note_gathered();
  }
  state.end_gather(*unit);
  state.begin_gather_ahead(*unit, 1);
  torch::Tensor in = input;
  if (tracked && input.requires_grad()) {
    ++unit->forwards;
    in = after_backward(input, [&state, unit] { state.passed(*unit); });
  }
  const torch::Tensor output = compute(in);
  const bool needed_again = tracked && output.requires_grad();
  if (needed_again)
    output.register_hook([&state, unit](const torch::Tensor&) { state.before_backward(*unit); });
  if (!needed_again || !state.keeps_after_forward(*unit)) state.release(*unit);
  return output;
}

void Sharded::parameters_changed(bool compute_written) {
  State& state = *state_;
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < state.units.size(); ++i) {
    state.units[i]->sum = state.shards[i].gradients = torch::Tensor();
  }
  for (const auto& unit : state.units) {
    if (!unit->compute.defined()) continue;
    if (unit->runs) {
      state.release(*unit);
      continue;
    }
    torch::Tensor own = unit->own_compute();
    if (!compute_written) own.copy_(unit->master);
    if (!state.sharded()) continue;
    unit->gather = state.shard_group->all_gather(unit->compute.tensor(), own);
    unit->state = Unit::Compute::kGathering;
  }
  for (const auto& unit : state.units) {
    if (!unit->runs) state.end_gather(*unit);
  }
}

void Sharded::begin_micro_batch(bool last) {
  state_->begin_micro_batch(last);
}

std::vector<Shard>& Sharded::shards() {
  return state_->shards;
}

const std::vector<ParameterSlot>& Sharded::slots() const {
  return state_->slots;
}

std::pair<std::int64_t, std::int64_t> Sharded::owned_range(int shard) const {
  const Unit& unit = *state_->units.at(static_cast<std::size_t>(shard));
  return {unit.begin, unit.begin + unit.owned};
}

std::string Sharded::parameter_hash() {
  PartialHash sum{};
  for (const auto& unit : state_->units) {
    const torch::Tensor values = unit->master.cpu();
    const std::int64_t end = unit->begin + unit->owned;
    for (const Part& part : unit->parts) {
      const std::int64_t from = std::max(unit->begin, part.offset);
      const std::int64_t to = std::min(end, part.offset + part.elements);
      if (from >= to) continue;
      add_to_hash(sum, part.name, values.data_ptr<float>() + (from - unit->begin),
                  from - part.offset, to - from);
    }
  }
  if (state_->sharded()) {
    torch::Tensor sums = torch::tensor(
        {static_cast<std::int64_t>(sum[0]), static_cast<std::int64_t>(sum[1])}, torch::kInt64);
    if (!state_->units.empty()) sums = sums.to(state_->units[0]->master.device());
    state_->shard_group->all_reduce(sums)->wait();
    sums = sums.cpu();
    sum = {static_cast<std::uint64_t>(sums[0].item<std::int64_t>()),
           static_cast<std::uint64_t>(sums[1].item<std::int64_t>())};
  }
  return to_string(sum);
}

Held Sharded::held() const {
  return state_->held;
}

}  // namespace muster::parallel
