// What the units that call MPI by themselves share.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace muster::measure {

/// Throws std::runtime_error that names the call and MPI's reason.
void check_mpi(int code, const char* call);

/// A communicator of some of the ranks, given back at its end.
class Communicator {
 public:
  /// Of those that give the same colour, ordered by `key`. All ranks call it.
  Communicator(int colour, int key);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  MPI_Comm get() const { return comm_; }
  void barrier() const { check_mpi(MPI_Barrier(comm_), "MPI_Barrier"); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// So many bytes as one element, which MPI's counts of int can count many of.
class RowType {
 public:
  explicit RowType(std::size_t bytes);
  ~RowType();
  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Memory of the ranks of a node, `bytes` each, that all of them reach by loads and stores.
class NodeMemory {
 public:
  /// The ranks of `node` call it, which must be able to share memory.
  NodeMemory(const Communicator& node, std::size_t bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// The part of the rank with this number in `node`.
  std::byte* of(int local) const;
  /// What was stored here before is seen by the others after a barrier, and theirs here.
  void sync() const { check_mpi(MPI_Win_sync(window_), "MPI_Win_sync"); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace muster::measure
