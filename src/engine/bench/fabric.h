// What carries a measured operation between the ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
};

/// Not what a peer or the network did wrong, but what was asked of the fabric.
class Unsupported : public std::exception {
 public:
  explicit Unsupported(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
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

  virtual void barrier() = 0;
  /// Element by element over all ranks, to every rank.
  virtual void sum(std::vector<double>& values) = 0;
  virtual void max(std::vector<double>& values) = 0;
  virtual void min(std::vector<double>& values) = 0;
};

/// Joins the job that mpirun or srun started. With neither: one rank alone.
std::unique_ptr<Fabric> connect_mpi();

}  // namespace muster::measure
