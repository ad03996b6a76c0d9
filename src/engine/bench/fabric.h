// What carries a measured operation between the ranks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/bench/meeting.h"
#include "engine/bench/operation.h"

namespace muster::measure {

/// One operation on this rank's buffers.
struct Call {
  Operation operation = Operation::kAllReduce;
  DataType type = DataType::kFloat;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  Counts counts;
  void* send = nullptr;
  void* recv = nullptr;
  /// The data to send lie where the result will be: `send` is not used, `recv` holds the larger of
  /// the two. This rank's part lies at its place in it.
  bool in_place = false;
};

/// Where the ranks are.
struct Seat {
  int rank = 0;
  int pid = 0;
  std::string host;
  int device = 0;
  std::string bus = "cpu";  ///< of a GPU its address on the bus
  std::string model = {};   ///< of a GPU its name; empty: the processor's
};

/// Not what a peer or the network did wrong, but what was asked of the fabric.
class Unsupported : public std::exception {
 public:
  explicit Unsupported(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// A connection to another rank broke: it ended, or the network did.
class PeerLost : public std::runtime_error {
 public:
  PeerLost(std::optional<int> peer, const std::string& what)
      : std::runtime_error(what), peer_(peer) {}
  std::optional<int> peer() const { return peer_; }  ///< when the fabric knows

 private:
  std::optional<int> peer_;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<Seat>& seats() const = 0;
  virtual std::string name() const = 0;  ///< "mpi: Open MPI v4.1.4"

  /// Throws Unsupported when this fabric does not carry such an operation. Same on every rank.
  virtual void check(const Call& call) const = 0;
  /// Prepares buffers' operation once, so that run() does only what is measured.
  virtual void prepare(const Call& call) = 0;
  /// Carries out the operation that was prepared; returns when this rank's part of it is done.
  virtual void run() = 0;
  /// Microseconds of so many operations, one after the other, by the fabric's own clock (a GPU's
  /// events); nothing when it has none: then whoever calls run() times it.
  virtual std::optional<double> run_timed(int /*times*/) { return std::nullopt; }
  /// What the call's buffers hold is what the operation finds, and the other way round. Between
  /// them, of a fabric with memory of its own, only that counts.
  virtual void stage() {}
  virtual void fetch() {}
  /// Bytes that buffers may take in the fabric's own memory, when it has one.
  virtual std::optional<std::size_t> memory() const { return std::nullopt; }

  virtual void barrier() = 0;
  /// Element by element over all ranks, to every rank.
  virtual void sum(std::vector<double>& values) = 0;
  virtual void max(std::vector<double>& values) = 0;
  virtual void min(std::vector<double>& values) = 0;
};

/// Joins the job that mpirun or srun started. With neither: one rank alone.
std::unique_ptr<Fabric> connect_mpi();

/// What carries the operations, as --fabric names it; auto: NCCL where there is a GPU for each rank
/// and the program was built with it, Gloo where no launcher of MPI started the ranks, else MPI.
enum class FabricKind { kAuto, kMpi, kNccl, kGloo };
std::optional<FabricKind> fabric_kind(std::string_view name);

/// Whether this program was built with NCCL and there is a GPU here.
bool has_nccl();
/// NCCL between GPUs, one for each rank; `base` brings the ranks together and stays for what is not
/// measured. Throws Unsupported when the program was built without, or GPUs are missing.
std::unique_ptr<Fabric> connect_nccl(std::unique_ptr<Fabric> base);

/// Ranks that are joined by MPI meet by it; `base` stays until the meeting ends.
std::unique_ptr<Meeting> meet_by_mpi(std::unique_ptr<Fabric> base);

/// Gloo, over TCP, between the ranks of a meeting. GLOO_SOCKET_IFNAME names the interface. A wait
/// of Gloo ends some time after `limit`, if nobody ended the process before.
std::unique_ptr<Fabric> connect_gloo(std::unique_ptr<Meeting> meeting, std::vector<Seat> seats,
                                     std::chrono::milliseconds limit);

}  // namespace muster::measure
