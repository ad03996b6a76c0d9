#include "engine/bench/mpi_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

namespace muster::measure {
namespace {

template <Reduction kHow>
float combine(float a, float b) {
  if constexpr (kHow == Reduction::kProd) return a * b;
  if constexpr (kHow == Reduction::kMin) return std::min(a, b);
  if constexpr (kHow == Reduction::kMax) return std::max(a, b);
  return a + b;
}

template <DataType kType, Reduction kHow>
void software(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    store(kType, inout, at,
          combine<kHow>(static_cast<float>(load(kType, in, at)),
                        static_cast<float>(load(kType, inout, at))));
  }
}

float widen(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The type of most training: written so that the compiler makes vector code of it. No NaN is
/// looked for.
template <Reduction kHow>
void bfloat16(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  auto* to = static_cast<std::uint16_t*>(inout);
  for (int i = 0; i < *length; ++i) {
    const float value = combine<kHow>(widen(from[i]), widen(to[i]));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    to[i] = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

template <Reduction kHow>
MPI_User_function* function_for(DataType type) {
  switch (type) {
    case DataType::kHalf:
      return &software<DataType::kHalf, kHow>;
    case DataType::kBfloat16:
      return &bfloat16<kHow>;
    case DataType::kFloat8E4m3:
      return &software<DataType::kFloat8E4m3, kHow>;
    case DataType::kFloat8E5m2:
      return &software<DataType::kFloat8E5m2, kHow>;
    default:
      return nullptr;
  }
}

MPI_User_function* function_for(DataType type, Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return function_for<Reduction::kProd>(type);
    case Reduction::kMin:
      return function_for<Reduction::kMin>(type);
    case Reduction::kMax:
      return function_for<Reduction::kMax>(type);
    default:
      return function_for<Reduction::kSum>(type);
  }
}

MPI_Op builtin(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return MPI_PROD;
    case Reduction::kMin:
      return MPI_MIN;
    case Reduction::kMax:
      return MPI_MAX;
    default:
      return MPI_SUM;
  }
}

}  // namespace

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return MPI_INT8_T;
    case DataType::kUint8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return MPI_UINT8_T;
    case DataType::kInt32:
      return MPI_INT32_T;
    case DataType::kUint32:
      return MPI_UINT32_T;
    case DataType::kInt64:
      return MPI_INT64_T;
    case DataType::kUint64:
      return MPI_UINT64_T;
    case DataType::kHalf:
    case DataType::kBfloat16:
      return MPI_UINT16_T;
    case DataType::kFloat:
      return MPI_FLOAT;
    case DataType::kDouble:
      return MPI_DOUBLE;
  }
  return MPI_BYTE;
}

MPI_Op mpi_op(DataType type, Reduction reduction) {
  MPI_User_function* function = function_for(type, reduction);
  if (function == nullptr) return builtin(reduction);
  static std::map<MPI_User_function*, MPI_Op> made;
  MPI_Op& op = made.try_emplace(function, MPI_OP_NULL).first->second;
  if (op == MPI_OP_NULL) MPI_Op_create(function, /*commute=*/1, &op);
  return op;
}

void scale(DataType type, double factor, const void* from, void* to, std::size_t elements) {
  if (type == DataType::kFloat) {
    const auto* source = static_cast<const float*>(from);
    auto* target = static_cast<float*>(to);
    const auto narrow = static_cast<float>(factor);
    for (std::size_t i = 0; i < elements; ++i) target[i] = source[i] * narrow;
    return;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = load(type, from, i) * factor;
    // 21 * (1.0 / 7) is a little less than 3.
    store(type, to, i, is_floating(type) ? value : std::floor(value + 1e-9));
  }
}

}  // namespace muster::measure
