#include "engine/parallel/unit.h"

#include <algorithm>

#include <torch/torch.h>

namespace muster::parallel {
namespace {

// Elements: parameters start on cache lines, in float32 and in bfloat16.
constexpr std::int64_t kAlign = 32;

std::int64_t aligned(std::int64_t elements, std::int64_t to) {
  return (elements + to - 1) / to * to;
}

// Copies the elements of [begin, begin + out.numel()) of the flat buffer that a parameter covers.
void copy_overlap(torch::Tensor& out, std::int64_t begin, const Part& part,
                  const torch::Tensor& values) {
  const std::int64_t from = std::max(begin, part.offset);
  const std::int64_t to = std::min(begin + out.numel(), part.offset + part.elements);
  if (from >= to) return;
  out.narrow(0, from - begin, to - from).copy_(values.narrow(0, from - part.offset, to - from));
}

}  // namespace

std::vector<NamedParameter> take_parameters(const torch::nn::Module& module,
                                            const std::string& prefix,
                                            std::vector<const c10::TensorImpl*>& taken) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : module.named_parameters()) {
    const c10::TensorImpl* identity = item.value().unsafeGetTensorImpl();
    if (std::find(taken.begin(), taken.end(), identity) != taken.end()) continue;
    taken.push_back(identity);
    parameters.push_back({prefix.empty() ? item.key() : prefix + "." + item.key(), item.value()});
  }
  std::stable_partition(parameters.begin(), parameters.end(),
                        [](const NamedParameter& p) { return p.tensor.dim() < 2; });
  return parameters;
}

std::vector<std::vector<NamedParameter>> cut(std::vector<NamedParameter> parameters,
                                             std::int64_t bytes) {
  std::vector<std::vector<NamedParameter>> runs;
  std::int64_t filled = 0;
  for (NamedParameter& parameter : parameters) {
    const auto size = parameter.tensor.numel() * static_cast<std::int64_t>(sizeof(float));
    if (runs.empty() || (filled > 0 && filled + size > bytes)) {
      runs.emplace_back();
      filled = 0;
    }
    filled += size;
    runs.back().push_back(std::move(parameter));
  }
  return runs;
}

void Unit::make_sum() {
  if (!sum.defined()) sum = torch::empty({owned}, master.options());
}

torch::Tensor Unit::gradient_view(const Part& part) const {
  const torch::Tensor& flat = direct() ? sum : gradients.tensor();
  return flat.narrow(0, part.offset, part.elements).view(part.shape);
}

std::unique_ptr<Unit> make_unit(std::string name, const torch::nn::Module* module,
                                std::vector<NamedParameter> parameters, const UnitPlace& place,
                                MemoryPool& pool) {
  const torch::NoGradGuard no_grad;
  auto unit = std::make_unique<Unit>();
  unit->name = std::move(name);
  unit->module = module;
  for (NamedParameter& parameter : parameters) {
    Part part;
    part.name = std::move(parameter.name);
    part.tensor = parameter.tensor;
    part.offset = unit->elements;
    part.elements = parameter.tensor.numel();
    part.shape = parameter.tensor.sizes().vec();
    unit->elements = aligned(unit->elements + part.elements, kAlign);
    if (parameter.tensor.dim() < 2) unit->undecayed = unit->elements;
    unit->parts.push_back(std::move(part));
  }
  unit->elements =
      std::max(aligned(unit->elements, kAlign * place.shard_size), kAlign * place.shard_size);
  unit->owned = unit->elements / place.shard_size;
  unit->begin = unit->owned * place.shard_rank;

  const torch::Device device =
      unit->parts.empty() ? torch::Device(torch::kCPU) : unit->parts[0].tensor.device();
  const auto floats = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  unit->master = torch::zeros({unit->owned}, floats);
  const bool whole = place.shard_size == 1;
  if (!whole || place.compute_dtype != torch::kFloat32) {
    unit->compute = FlatTensor(unit->elements, place.compute_dtype, device);
    unit->gradients = FlatTensor(unit->elements, place.compute_dtype, device);
    unit->compute.attach(pool);
    torch::Tensor flat = unit->compute.tensor();
    flat.zero_();
  }
  const torch::Tensor flat = unit->compute.defined() ? unit->compute.tensor() : unit->master;
  for (Part& part : unit->parts) {
    const torch::Tensor values = part.tensor.detach().reshape({-1});
    copy_overlap(unit->master, unit->begin, part, values);
    const torch::Tensor view = flat.narrow(0, part.offset, part.elements).view(part.shape);
    if (unit->compute.defined()) view.copy_(values.view(part.shape));
    part.tensor.set_data(view);
  }
  return unit;
}

}  // namespace muster::parallel
