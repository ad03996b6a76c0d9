#include "engine/bench/mpi_support.h"

#include <exception>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace muster::measure {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{} failed: {}", call, text));
}

Communicator::Communicator(int colour, int key) {
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm_), "MPI_Comm_split");
}

Communicator::~Communicator() {
  // While an exception ends this rank the others may not come.
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

RowType::RowType(std::size_t bytes) {
  check_mpi(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type_), "MPI_Type_contiguous");
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
}

RowType::~RowType() {
  MPI_Type_free(&type_);
}

NodeMemory::NodeMemory(const Communicator& node, std::size_t bytes) {
  void* own = nullptr;
  const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                                           node.get(), static_cast<void*>(&own), &window_);
  if (code != MPI_SUCCESS)
    throw std::runtime_error(fmt::format(
        "MPI_Win_allocate_shared failed: is there room for {} bytes a rank in /dev/shm?", bytes));
  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
}

NodeMemory::~NodeMemory() {
  if (std::uncaught_exceptions() > 0) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

std::byte* NodeMemory::of(int local) const {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  check_mpi(MPI_Win_shared_query(window_, local, &size, &unit, static_cast<void*>(&base)),
            "MPI_Win_shared_query");
  return static_cast<std::byte*>(base);
}

}  // namespace muster::measure
