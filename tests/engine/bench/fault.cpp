// Preloaded into a rank: damages what MPI carries, in one byte. What arrives by MPI_Alltoallv gets
// a wrong byte; so do the first bytes of the memory that the rank shares with its node, each time
// it is synchronised. 0x7f is no byte of the data that is sent.
//
// What MPI_Put carries is treated as FAULT_OF_PUT asks: a number damages what goes to that rank,
// and "stop" and "kill" do so to this process, in its tenth put.
#include <mpi.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace {
char* shared = nullptr;
}  // namespace

extern "C" {

int MPI_Alltoallv(const void* send, const int counts[], const int places[], MPI_Datatype type,
                  void* receive, const int from_counts[], const int from_places[],
                  MPI_Datatype from_type, MPI_Comm comm) {
  const int code = PMPI_Alltoallv(send, counts, places, type, receive, from_counts, from_places,
                                  from_type, comm);
  int ranks = 0, width = 0;
  PMPI_Comm_size(comm, &ranks);
  PMPI_Type_size(from_type, &width);
  for (int rank = 0; rank < ranks; ++rank) {
    if (from_counts[rank] == 0) continue;
    static_cast<char*>(receive)[static_cast<long>(from_places[rank]) * width] = 0x7f;
    break;
  }
  return code;
}

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  const int code = PMPI_Win_allocate_shared(bytes, unit, info, comm, base, window);
  shared = *static_cast<char**>(base);
  return code;
}

int MPI_Put(const void* data, int count, MPI_Datatype type, int rank, MPI_Aint place,
            int place_count, MPI_Datatype place_type, MPI_Win window) {
  static int puts = 0;
  const char* fault = std::getenv("FAULT_OF_PUT");
  if (fault != nullptr && ++puts == 10) {
    if (std::strcmp(fault, "stop") == 0) raise(SIGSTOP);
    if (std::strcmp(fault, "kill") == 0) raise(SIGKILL);
  }
  if (fault != nullptr && *fault >= '0' && *fault <= '9' && std::atoi(fault) == rank)
    static_cast<char*>(const_cast<void*>(data))[count - 1] = 0x7f;
  return PMPI_Put(data, count, type, rank, place, place_count, place_type, window);
}

int MPI_Win_sync(MPI_Win window) {
  if (shared != nullptr) shared[0] = 0x7f;
  return PMPI_Win_sync(window);
}

}  // extern "C"
