// Brings ranks together that no MPI launcher started: before they have a transport, each must learn
// where the others are. Rank 0 listens at an address that all were told, by the variables that
// torchrun sets.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::measure {

/// Where the ranks are to meet, and who this one is.
struct Rendezvous {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";
  int port = 29500;
};

/// Whether mpirun, or srun with PMI or PMIx, started this process.
bool launched_by_mpi();
/// Whether RANK and WORLD_SIZE are set, and no launcher of MPI started this process.
bool launched_by_environment();
/// From RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Where torchrun's own store is at MASTER_PORT
/// (it says so in TORCHELASTIC_USE_AGENT_STORE) the port after it. Findings name the variable.
Result<Rendezvous> rendezvous_from_environment();

/// Some ranks did not come, or another failed before all had.
class NotMet : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What all ranks exchange before they can talk otherwise.
class Meeting {
 public:
  virtual ~Meeting() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What each rank gives, in their order. All ranks call it.
  virtual std::vector<std::string> all_gather(const std::string& own) = 0;
  /// The address under which this rank talks to the others; empty: not known.
  virtual std::string address() const { return {}; }
  /// What brought the ranks together, for the log: "127.0.0.1:29500", "Open MPI v4.1.4".
  virtual std::string name() const = 0;
};

/// Meets the others over TCP, and waits at most `limit` for them; each exchange later on waits that
/// long as well. Throws NotMet that names the ranks which have not come.
std::unique_ptr<Meeting> meet(const Rendezvous& where, std::chrono::milliseconds limit);

}  // namespace muster::measure
