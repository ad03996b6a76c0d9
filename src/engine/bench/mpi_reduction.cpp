#include "engine/bench/mpi_reduction.h"

#include <map>

#include "engine/bench/reduction.h"

namespace muster::measure {
namespace {

/// As MPI calls it.
template <DataType kType, Reduction kHow>
void software(void* in, void* inout, int* length, MPI_Datatype*) {
  static const Combine kCombine = combine_function(kType, kHow);
  kCombine(in, inout, static_cast<std::size_t>(*length));
}

template <Reduction kHow>
MPI_User_function* function_for(DataType type) {
  switch (type) {
    case DataType::kHalf:
      return &software<DataType::kHalf, kHow>;
    case DataType::kBfloat16:
      return &software<DataType::kBfloat16, kHow>;
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

}  // namespace muster::measure
