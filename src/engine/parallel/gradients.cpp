// The gradients' half of Sharded: they arrive in flat buffers, and each buffer that is complete is
// reduced while backward goes on.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/torch.h>

#include "engine/comm/reduce.h"
#include "engine/parallel/sharded_state.h"

namespace muster::parallel {
namespace {

class ArrivalHook : public torch::autograd::FunctionPostHook {
 public:
  explicit ArrivalHook(std::function<void()> arrived) : arrived_(std::move(arrived)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    arrived_();
    return outputs;
  }

 private:
  std::function<void()> arrived_;
};

// The square of the 2-norm, in double. Sixteen sums side by side: fast, and the same for the same
// input.
double sum_of_squares(const torch::Tensor& tensor) {
  if (!tensor.is_cpu()) return tensor.to(torch::kFloat64).square().sum().item<double>();
  constexpr std::int64_t kLanes = 16;
  double lanes[kLanes] = {};
  const float* values = tensor.data_ptr<float>();
  const std::int64_t count = tensor.numel();
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

void Sharded::State::watch(Unit& unit) {
  for (Part& part : unit.parts) {
    if (!part.tensor.requires_grad()) continue;
    part.node = torch::autograd::impl::grad_accumulator(part.tensor);
    part.node->add_post_hook(
        std::make_unique<ArrivalHook>([this, &unit, &part] { arrived(unit, part); }));
    model::GradientSlots::instance().add(part.tensor,
                                         [this, &unit, &part] { return take_slot(unit, part); });
  }
}

void Sharded::State::ignore(Unit& unit) {
  for (Part& part : unit.parts) model::GradientSlots::instance().remove(part.tensor);
}

model::GradientSlot Sharded::State::take_slot(Unit& unit, Part& part) {
  backward_ran = true;
  if (unit.reduced) {
    throw comm::Error(
        fmt::format("the gradient of {} arrived after its unit {} was reduced: a parameter that "
                    "other units use too belongs to the root",
                    part.name, unit.name));
  }
  // The last micro-batch's may still be on their way.
  while (unit.in_flight) {
    reductions.front().handle->wait();
    advance_reductions(false);
  }
  if (!unit.direct() && !unit.gradients.attached()) {
    make_room_for_gradients(unit);
    unit.gradients.attach(pool);
    ++held.gradient_buffers;
    held.most_gradient_buffers = std::max(held.most_gradient_buffers, held.gradient_buffers);
  }
  if (unit.direct()) unit.make_sum();
  model::GradientSlot slot;
  slot.view = unit.gradient_view(part);
  slot.accumulate = part.written || (unit.direct() && unit.has_sum);
  part.written = true;
  return slot;
}

// Runs when autograd has brought all contributions to a parameter's gradient.
void Sharded::State::arrived(Unit& unit, Part& part) {
  const torch::NoGradGuard no_grad;
  backward_ran = true;
  torch::Tensor& gradient = part.tensor.mutable_grad();
  if (gradient.defined()) {
    const model::GradientSlot slot = take_slot(unit, part);
    if (slot.accumulate) {
      slot.view.add_(gradient);
    } else {
      slot.view.copy_(gradient);
    }
    gradient.reset();
  }
  part.arrived = true;
  const bool all = std::all_of(unit.parts.begin(), unit.parts.end(),
                               [](const Part& each) { return each.arrived || !each.node; });
  if (all) reduce(unit);
  advance_reductions(false);
}

// One unit's gradients may be under way while the next one's come in; a third waits. The root's are
// not counted: they come in from the first to the last moment of backward.
void Sharded::State::make_room_for_gradients(const Unit& unit) {
  if (!unit.runs) return;
  const auto attached = [&] {
    return std::count_if(units.begin(), units.end(),
                         [](const auto& each) { return each->runs && each->gradients.attached(); });
  };
  while (attached() >= 2 && !reductions.empty()) {
    reductions.front().handle->wait();
    advance_reductions(false);
  }
}

void Sharded::State::free_gradients(Unit& unit) {
  if (unit.direct() || !unit.gradients.attached()) return;
  unit.gradients.detach(pool);
  --held.gradient_buffers;
}

// Adds this rank's gradients to its sum, without the others'.
void Sharded::State::reduce_here(Unit& unit) {
  const torch::Tensor& in = unit.gradients.tensor();
  if (in.is_cpu()) {
    comm::reduce(unit.sum.data_ptr(), torch::kFloat32, {in.data_ptr()}, in.scalar_type(),
                 in.numel(), comm::Reduction(comm::Op::kSum, mean(), unit.has_sum));
  } else if (unit.has_sum) {
    unit.sum.add_(in, mean());
  } else {
    unit.sum.copy_(in).mul_(mean());
  }
  free_gradients(unit);
}

void Sharded::State::reduce(Unit& unit) {
  if (unit.reduced) return;
  const torch::NoGradGuard no_grad;
  // What had no gradient has one of zero; padding counts as such.
  for (Part& part : unit.parts) {
    if (part.written) continue;
    const model::GradientSlot slot = take_slot(unit, part);
    if (!slot.accumulate) slot.view.zero_();
  }
  unit.make_sum();
  const torch::Tensor& flat = unit.direct() ? unit.sum : unit.gradients.tensor();
  std::int64_t end = 0;
  for (const Part& part : unit.parts) {
    if (part.offset > end) flat.narrow(0, end, part.offset - end).zero_();
    end = part.offset + part.elements;
  }
  if (unit.elements > end) flat.narrow(0, end, unit.elements - end).zero_();
  const bool across = replicated() && last_micro_batch;
  if (sharded()) {
    reductions.push_back(
        {&unit,
         shard_group->reduce_scatter(unit.sum, unit.gradients.tensor(),
                                     comm::Reduction(comm::Op::kSum, mean(), unit.has_sum)),
         across});
  } else if (unit.direct()) {
    if (across)
      reductions.push_back(
          {&unit, replicas->all_reduce(unit.sum, comm::Reduction(comm::Op::kSum, mean())), false});
  } else if (across && !unit.has_sum) {
    reductions.push_back({&unit,
                          replicas->all_reduce(unit.sum, unit.gradients.tensor(),
                                               comm::Reduction(comm::Op::kSum, mean())),
                          false});
  } else {
    reduce_here(unit);
    if (across) reductions.push_back({&unit, replicas->all_reduce(unit.sum), false});
  }
  unit.in_flight = !reductions.empty() && reductions.back().unit == &unit;
  unit.has_sum = true;
  unit.reduced = true;
  after_backward(unit);
}

// Reductions finish in the order in which they began, so that what follows begins in the same order
// on all ranks.
void Sharded::State::advance_reductions(bool to_the_end) {
  while (!reductions.empty()) {
    Pending& pending = reductions.front();
    if (to_the_end) pending.handle->wait();
    if (!pending.handle->test()) break;
    free_gradients(*pending.unit);
    pending.unit->in_flight = false;
    if (pending.then_replicas)
      replications.push_back({pending.unit, replicas->all_reduce(pending.unit->sum), false});
    reductions.pop_front();
  }
  if (!to_the_end) return;
  for (Pending& pending : replications) pending.handle->wait();
  replications.clear();
}

void Sharded::State::begin_micro_batch(bool is_last) {
  finish_micro_batch();
  last_micro_batch = is_last;
}

void Sharded::State::finish_micro_batch() {
  if (backward_ran) {
    for (const auto& unit : units) reduce(*unit);
  }
  backward_ran = false;
  for (const auto& unit : units) {
    unit->forwards = unit->passed = 0;
    unit->reduced = false;
    for (Part& part : unit->parts) part.written = part.arrived = false;
    if (unit->runs) release(*unit);
  }
}

void Sharded::finish_backward() {
  state_->finish_micro_batch();
  State& state = *state_;
  state.advance_reductions(true);
  for (std::size_t i = 0; i < state.units.size(); ++i) {
    Unit& unit = *state.units[i];
    unit.make_sum();
    if (!unit.has_sum) unit.sum.zero_();  // no backward came through here
    unit.has_sum = false;
    state.shards[i].gradients = unit.sum;
  }
  state.last_micro_batch = true;
}

void Sharded::zero_gradients() {
  for (const auto& unit : state_->units) unit->has_sum = false;
}

double Sharded::clip_gradients(double limit) {
  const torch::NoGradGuard no_grad;
  State& state = *state_;
  double square = 0;
  for (const auto& unit : state.units) square += sum_of_squares(unit->sum);
  if (state.sharded()) {
    torch::Tensor parts = torch::empty({state.shard_group->size()}, torch::kFloat64);
    torch::Tensor own = torch::full({1}, square, torch::kFloat64);
    if (!state.units.empty()) {
      parts = parts.to(state.units[0]->sum.device());
      own = own.to(state.units[0]->sum.device());
    }
    state.shard_group->all_gather(parts, own)->wait();
    parts = parts.cpu();
    square = 0;
    for (std::int64_t rank = 0; rank < parts.numel(); ++rank)
      square += parts.data_ptr<double>()[rank];
  }
  const double norm = std::sqrt(square);
  if (limit > 0 && norm > limit) {
    for (const auto& unit : state.units) unit->sum.mul_(limit / norm);
  }
  return norm;
}

}  // namespace muster::parallel
