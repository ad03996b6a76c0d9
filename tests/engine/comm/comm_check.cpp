// One rank of a job that checks its communicator, started by jobs_test under mpirun or by
// launch_ranks:
//   comm_check collectives TRANSPORT SIZE [native]   every operation x type x length against a
//   plain reference comm_check silent RANK sleep|stop                 a rank never comes: the
//   others must name it comm_check mismatch                               all wait, in different
//   operations: nobody is missing comm_check dead RANK                              a rank is
//   killed: the others end with an error comm_check split                                  groups
//   of even and odd ranks work at the same time comm_check speed MEBIBYTES prints GB/s
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <torch/torch.h>

#include "engine/comm/communicator.h"

namespace {

using namespace muster::comm;  // NOLINT: a test program of one idea

int failures = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  ++failures;
  if (failures < 20) std::cerr << "FAILED: " << what << '\n';
}

/// What a rank contributes: small whole numbers, exact in every type, different for each rank and
/// place.
torch::Tensor contribution(int rank, std::int64_t count, torch::ScalarType type) {
  return ((torch::arange(count, torch::kInt64) * 7 + rank * 13) % 23).to(type);
}

torch::Tensor reduced(int size, std::int64_t count, torch::ScalarType type, Op op) {
  torch::Tensor result = contribution(0, count, torch::kFloat64);
  for (int rank = 1; rank < size; ++rank) {
    const torch::Tensor next = contribution(rank, count, torch::kFloat64);
    result = op == Op::kSum   ? result + next
             : op == Op::kMax ? torch::max(result, next)
                              : torch::min(result, next);
  }
  return result.to(type);
}

constexpr torch::ScalarType kTypes[] = {torch::kFloat32, torch::kBFloat16, torch::kFloat64,
                                        torch::kInt64,   torch::kInt32,    torch::kUInt8};

void check_reductions(Communicator& comm, std::int64_t count, torch::ScalarType type) {
  const int size = comm.size();
  const int rank = comm.rank();
  for (const Op op : {Op::kSum, Op::kMax, Op::kMin}) {
    if (op != Op::kSum && count != 7) continue;
    const std::string what =
        fmt::format("{} {} op {}", count, c10::toString(type), static_cast<int>(op));
    torch::Tensor data = contribution(rank, count, type);
    comm.all_reduce(data, op)->wait();
    expect(torch::equal(data, reduced(size, count, type, op)), "all_reduce " + what);

    const torch::Tensor in = contribution(rank, count * size, type);
    torch::Tensor out = torch::empty({count}, type);
    comm.reduce_scatter(out, in, op)->wait();
    const torch::Tensor expected =
        reduced(size, count * size, type, op).slice(0, rank * count, (rank + 1) * count);
    expect(torch::equal(out, expected), "reduce_scatter " + what);
    expect(torch::equal(in, contribution(rank, count * size, type)),
           "reduce_scatter leaves its input: " + what);
  }
  if (type != torch::kBFloat16) return;
  // Half the bytes travel, the sum is made in float32, scaled and added.
  const torch::Tensor in = contribution(rank, count * size, type);
  torch::Tensor out = torch::ones({count});
  comm.reduce_scatter(out, in, Reduction(Op::kSum, 0.5, true))->wait();
  const torch::Tensor sum = reduced(size, count * size, torch::kFloat32, Op::kSum);
  expect(torch::equal(out, sum.slice(0, rank * count, (rank + 1) * count) * 0.5 + 1),
         fmt::format("widening reduce_scatter {}", count));
  torch::Tensor all = torch::empty({count * size});
  comm.all_reduce(all, in, Reduction(Op::kSum, 0.5))->wait();
  expect(torch::equal(all, sum * 0.5), fmt::format("widening all_reduce {}", count));
}

void check_movement(Communicator& comm, std::int64_t count, torch::ScalarType type) {
  const int size = comm.size();
  const int rank = comm.rank();
  const std::string what = fmt::format("{} {}", count, c10::toString(type));
  torch::Tensor all = torch::empty({count * size}, type);
  std::vector<torch::Tensor> parts;
  for (int peer = 0; peer < size; ++peer) parts.push_back(contribution(peer, count, type));
  comm.all_gather(all, contribution(rank, count, type))->wait();
  expect(torch::equal(all, torch::cat(parts)), "all_gather " + what);
  all.zero_();
  torch::Tensor own = all.slice(0, rank * count, (rank + 1) * count);
  own.copy_(contribution(rank, count, type));
  comm.all_gather(all, own)->wait();
  expect(torch::equal(all, torch::cat(parts)), "all_gather in place " + what);

  torch::Tensor exchanged = torch::empty({count * size}, type);
  comm.all_to_all(exchanged, contribution(rank, count * size, type))->wait();
  for (int peer = 0; peer < size; ++peer) {
    expect(torch::equal(
               exchanged.slice(0, peer * count, (peer + 1) * count),
               contribution(peer, count * size, type).slice(0, rank * count, (rank + 1) * count)),
           "all_to_all " + what);
  }
  // Uneven: rank r sends count + r + p elements to peer p.
  std::vector<std::int64_t> in_counts;
  std::vector<std::int64_t> out_counts;
  std::int64_t total = 0;
  for (int peer = 0; peer < size; ++peer) {
    in_counts.push_back(count + rank + peer);
    out_counts.push_back(count + rank + peer);
    total += count + rank + peer;
  }
  torch::Tensor uneven = torch::empty({total}, type);
  comm.all_to_all(uneven, contribution(rank, total, type), out_counts, in_counts)->wait();
  std::int64_t begin = 0;
  for (int peer = 0; peer < size; ++peer) {
    std::int64_t their_begin = 0;
    std::int64_t their_total = 0;
    for (int other = 0; other < size; ++other) {
      if (other < rank) their_begin += count + peer + other;
      their_total += count + peer + other;
    }
    const std::int64_t length = count + rank + peer;
    expect(torch::equal(
               uneven.slice(0, begin, begin + length),
               contribution(peer, their_total, type).slice(0, their_begin, their_begin + length)),
           "uneven all_to_all " + what);
    begin += length;
  }

  for (int root = 0; root < size; ++root) {
    torch::Tensor data = contribution(rank, count, type);
    comm.broadcast(data, root)->wait();
    expect(torch::equal(data, contribution(root, count, type)), "broadcast " + what);
  }
  if (size > 1) {
    torch::Tensor arrived = torch::empty({count}, type);
    torch::Tensor second = torch::empty({count}, type);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    const Handle handles[] = {comm.recv(arrived, from, 5), comm.recv(second, from, 5),
                              comm.send(contribution(rank, count, type), to, 5),
                              comm.send(contribution(rank + 1, count, type), to, 5)};
    for (const Handle& handle : handles) handle->wait();
    expect(torch::equal(arrived, contribution(from, count, type)), "send and recv " + what);
    expect(torch::equal(second, contribution(from + 1, count, type)),
           "the second message of a pair " + what);
  }
  comm.barrier()->wait();
}

void check_overlap(Communicator& comm) {
  constexpr int kMany = 24;
  constexpr std::int64_t kCount = 3001;
  std::vector<torch::Tensor> sums;
  std::vector<torch::Tensor> gathered;
  std::vector<Handle> handles;
  for (int i = 0; i < kMany; ++i) {
    sums.push_back(contribution(comm.rank() + i, kCount + i, torch::kFloat32));
    gathered.push_back(torch::empty({kCount * comm.size()}, torch::kFloat32));
    handles.push_back(comm.all_reduce(sums.back()));
    handles.push_back(comm.all_gather(gathered.back(),
                                      contribution(comm.rank() * 3 + i, kCount, torch::kFloat32)));
  }
  for (std::size_t i = handles.size(); i-- > 0;) handles[i]->wait();  // in any order
  for (int i = 0; i < kMany; ++i) {
    torch::Tensor expected = torch::zeros({kCount + i});
    for (int rank = 0; rank < comm.size(); ++rank)
      expected += contribution(rank + i, kCount + i, torch::kFloat32);
    expect(torch::equal(sums[static_cast<std::size_t>(i)], expected), "overlapping all_reduce");
    for (int rank = 0; rank < comm.size(); ++rank) {
      expect(torch::equal(
                 gathered[static_cast<std::size_t>(i)].slice(0, rank * kCount, (rank + 1) * kCount),
                 contribution(rank * 3 + i, kCount, torch::kFloat32)),
             "overlapping all_gather");
    }
  }
}

void check_rank_order(Communicator& comm) {
  // Values whose sum depends on the order: equal bits for equal order, on every rank, each time.
  constexpr std::int64_t kCount = 10007;
  torch::manual_seed(3);
  std::vector<torch::Tensor> parts;
  for (int rank = 0; rank < comm.size(); ++rank)
    parts.push_back(torch::randn({kCount}) * std::pow(1000.0, rank));
  torch::Tensor expected = parts[0].clone();
  for (std::size_t rank = 1; rank < parts.size(); ++rank) expected += parts[rank];
  torch::Tensor data = parts[static_cast<std::size_t>(comm.rank())].clone();
  comm.all_reduce(data)->wait();
  expect(torch::equal(data, expected), "all_reduce sums in rank order");
}

template <typename Function>
void expect_error(Function function, const std::string& what) {
  try {
    function();
    expect(false, what + " is refused");
  } catch (const Error&) {
  }
}

int collectives(const std::string& transport, int size, bool native) {
  Options options;
  options.time_limit = std::chrono::seconds(60);
  options.deterministic = !native;
  const auto comm = connect(Transport::kAuto, options);
  expect(comm->transport() == transport,
         fmt::format("transport is {}, not {}", comm->transport(), transport));
  expect(comm->size() == size, fmt::format("size is {}, not {}", comm->size(), size));
  expect(comm->members().size() == static_cast<std::size_t>(size), "members are known");
  const Member self = comm->members().at(static_cast<std::size_t>(comm->rank()));
  expect(self.pid == getpid() && !self.host.empty() && self.rank == comm->rank(),
         "this process is among them");
  const std::vector<std::int64_t> counts = size <= 2
                                               ? std::vector<std::int64_t>{0, 1, 7, 1000, 65537}
                                               : std::vector<std::int64_t>{0, 7, 65537};
  for (const std::int64_t count : counts) {
    for (const torch::ScalarType type : kTypes) {
      check_reductions(*comm, count, type);
      check_movement(*comm, count, type);
    }
  }
  check_reductions(*comm, 1200007, torch::kBFloat16);
  check_movement(*comm, 1200007, torch::kFloat32);
  check_overlap(*comm);
  if (!native) check_rank_order(*comm);
  expect(comm->take_wait_seconds() >= 0 && comm->take_wait_seconds() == 0,
         "wait seconds are taken once");

  expect_error([&] { comm->all_gather(torch::empty({3}), torch::empty({5})); }, "a wrong length");
  expect_error([&] { comm->all_reduce(torch::empty({3}, torch::kBool)); },
               "a type that can't travel");
  expect_error(
      [&] {
        comm->all_reduce(torch::empty({4, 4}).t());
      },
      "a tensor that is not contiguous");
  expect_error([&] { comm->broadcast(torch::empty({3}), size); }, "a root that is not there");
  expect_error([&] { comm->send(torch::empty({3}), comm->rank()); }, "a message to oneself");
  expect_error([&] { comm->all_reduce(torch::ones({3}, torch::kInt64), Reduction(Op::kSum, 0.5)); },
               "a scaled integer");
  return failures == 0 ? 0 : 3;
}

int silent(int who, bool stop) {
  Options options;
  options.time_limit = std::chrono::milliseconds(2500);
  const auto comm = connect(Transport::kAuto, options);
  torch::Tensor data = torch::ones({1 << 18});
  comm->all_reduce(data)->wait();
  if (comm->rank() == who) {
    if (stop) raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    comm->all_reduce(data)->wait();
    std::cerr << "the silent rank was not missed\n";
    comm->abort(3);
  } catch (const Timeout& timeout) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool named = timeout.missing().size() == 1 && timeout.missing()[0].rank == who &&
                       timeout.missing()[0].host == comm->members()[0].host &&
                       timeout.waiting().size() == static_cast<std::size_t>(comm->size() - 1);
    std::cout << fmt::format("rank {}: {} after {:.1f} s: {}\n", comm->rank(),
                             named ? "NAMED" : "NOT NAMED", seconds, timeout.what())
              << std::flush;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // let the others say theirs
    comm->abort(named ? 124 : 3);
  }
  return 3;
}

int mismatch() {
  Options options;
  options.time_limit = std::chrono::milliseconds(2000);
  const auto comm = connect(Transport::kAuto, options);
  torch::Tensor data = torch::ones({4});
  try {
    if (comm->rank() == 0) comm->barrier()->wait();
    comm->barrier()->wait();
    if (comm->rank() != 0) comm->barrier()->wait();
    comm->recv(data, (comm->rank() + 1) % comm->size(), 1)->wait();
  } catch (const Timeout& timeout) {
    std::cout << fmt::format("rank {}: {} missing: {}\n", comm->rank(), timeout.missing().size(),
                             timeout.what())
              << std::flush;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    comm->abort(timeout.missing().empty() ? 124 : 3);
  }
  return 3;
}

int dead(int who) {
  Options options;
  options.time_limit = std::chrono::seconds(20);
  const auto comm = connect(Transport::kAuto, options);
  comm->barrier()->wait();
  if (comm->rank() == who) raise(SIGKILL);
  try {
    torch::Tensor data = torch::ones({1 << 16});
    for (;;) comm->all_reduce(data, Reduction(Op::kSum, 0.1))->wait();
  } catch (const std::exception& error) {
    std::cout << "ended: " << error.what() << '\n' << std::flush;
    comm->abort(9);
  }
  return 3;
}

int split() {
  Options options;
  options.time_limit = std::chrono::seconds(30);
  const auto comm = connect(Transport::kAuto, options);
  const auto part = comm->split(comm->rank() % 2);
  const auto across = comm->split(comm->rank() / 2);
  expect(part->size() == comm->size() / 2 && part->rank() == comm->rank() / 2,
         "the place in a split");
  expect(part->members().size() == static_cast<std::size_t>(part->size()) &&
             part->members()[static_cast<std::size_t>(part->rank())].pid == getpid(),
         "the members of a split");
  torch::Tensor sum = torch::full({1000}, comm->rank(), torch::kFloat32);
  torch::Tensor other = torch::full({1000}, comm->rank(), torch::kFloat32);
  torch::Tensor world = torch::ones({1000});
  const Handle handles[] = {part->all_reduce(sum), comm->all_reduce(world),
                            across->all_reduce(other)};
  for (std::size_t i = 0; i < 3; ++i)
    handles[comm->rank() % 2 == 0 ? i : 2 - i]->wait();  // not in the same order
  float expected = 0;
  for (int rank = comm->rank() % 2; rank < comm->size(); rank += 2)
    expected += static_cast<float>(rank);
  expect(torch::equal(sum, torch::full({1000}, expected)), "the sum of a split");
  expect(torch::equal(world, torch::full({1000}, static_cast<float>(comm->size()))),
         "the sum of the world");
  const int first = comm->rank() / 2 * 2;
  expect(torch::equal(other, torch::full({1000}, static_cast<float>(first + first + 1))),
         "the sum of pairs");
  return failures == 0 ? 0 : 3;
}

template <typename Function>
void measure(Communicator& comm, const char* name, double bytes, Function function) {
  function();
  double best = 1e9;
  for (int i = 0; i < 7; ++i) {
    comm.barrier()->wait();
    const auto start = std::chrono::steady_clock::now();
    function();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (comm.rank() == 0)
    std::cout << fmt::format("{:32} {:8.2f} ms {:7.2f} GB/s\n", name, best * 1e3,
                             bytes / best / 1e9)
              << std::flush;
}

int speed(std::int64_t mebibytes) {
  torch::set_num_threads(1);
  const auto comm = connect(Transport::kAuto, {});
  const std::int64_t bytes = mebibytes << 20;
  const int size = comm->size();
  torch::Tensor floats = torch::ones({bytes / 4 / size * size});
  torch::Tensor narrow = torch::ones({bytes / 2 / size * size}, torch::kBFloat16);
  torch::Tensor part = torch::ones({narrow.numel() / size});
  torch::Tensor own = floats.slice(0, comm->rank() * floats.numel() / size,
                                   (comm->rank() + 1) * floats.numel() / size);
  const auto whole = static_cast<double>(bytes);
  measure(*comm, "all_gather float32 (in place)", whole,
          [&] { comm->all_gather(floats, own)->wait(); });
  measure(*comm, "reduce_scatter bfloat16->float32", whole,
          [&] { comm->reduce_scatter(part, narrow)->wait(); });
  measure(*comm, "all_reduce float32", whole,
          [&] { comm->all_reduce(floats, Reduction(Op::kSum, 0.5))->wait(); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const auto arg = [&](std::size_t i) { return i < args.size() ? args[i] : std::string(); };
  torch::set_num_threads(1);
  try {
    if (arg(0) == "collectives") return collectives(arg(1), std::stoi(arg(2)), arg(3) == "native");
    if (arg(0) == "silent") return silent(std::stoi(arg(1)), arg(2) == "stop");
    if (arg(0) == "mismatch") return mismatch();
    if (arg(0) == "dead") return dead(std::stoi(arg(1)));
    if (arg(0) == "split") return split();
    if (arg(0) == "speed") return speed(std::stoll(arg(1)));
  } catch (const std::exception& error) {
    std::cerr << "comm_check: " << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: see the top of comm_check.cpp\n";
  return 1;
}
