// The communicator over c10d's Gloo. Of Gloo only send, receive and its all_reduce are used: what
// else there is differs between versions (1.13 lacks reduce_scatter, all_gather into one tensor and
// bfloat16).
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "engine/comm/c10d.h"
#include "engine/comm/c10d_compat.h"
#include "engine/comm/planned.h"
#include "engine/comm/rendezvous.h"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace muster::comm {
namespace {

using Clock = std::chrono::steady_clock;

// What one operation is for the thread that carries it out.
struct Job {
  Operation operation;
  Plan plan;
  std::function<void()> native;                        // instead of the plan
  std::vector<c10::intrusive_ptr<c10d::Work>> posted;  // of a single message
  bool done = false;
  std::exception_ptr failure;
  Clock::time_point done_at = {};
};

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

// The process group and the threads that work on it: one carries out collectives, one after the
// other; one waits for single messages, which are posted at once, since the order of sends and
// receives is the caller's. Shared with the threads, which may outlive the communicator when they
// are stuck in a call.
struct Engine {
  using Queue = std::deque<std::shared_ptr<Job>>;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  std::mutex mutex;
  std::condition_variable changed;
  Queue collectives;
  Queue messages;
  bool stop = false;

  void run(Queue& queue);
  void carry_out(Job& job) const;
  Works post(const Stage& stage, int tag) const;
};

// A Gloo transfer works on tensors; this one has no memory of its own.
torch::Tensor tensor_over(const Transfer& transfer) {
  return torch::from_blob(transfer.data, {transfer.bytes}, torch::kUInt8);
}

Works Engine::post(const Stage& stage, int tag) const {
  Works works;
  for (const Transfer& transfer : stage.transfers) {
    std::vector<torch::Tensor> data{tensor_over(transfer)};
    works.push_back(transfer.kind == Transfer::Kind::kSend ? group->send(data, transfer.peer, tag)
                                                           : group->recv(data, transfer.peer, tag));
  }
  return works;
}

void Engine::carry_out(Job& job) const {
  if (job.native) {
    job.native();
    return;
  }
  if (job.operation.number == 0) {
    for (const auto& work : job.posted) work->wait();
    return;
  }
  std::deque<Works> under_way;
  const std::vector<Stage>& stages = job.plan.stages;
  for (std::size_t finished = 0, posted = 0; finished < stages.size(); ++finished) {
    while (posted < stages.size() && posted < finished + job.plan.window &&
           (!stages[posted].after_earlier || posted == finished)) {
      under_way.push_back(post(stages[posted++], job.operation.tag));
    }
    for (const auto& work : under_way.front()) work->wait();
    under_way.pop_front();
    if (stages[finished].finish) stages[finished].finish();
  }
}

void Engine::run(Queue& queue) {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stop || !queue.empty(); });
    if (queue.empty()) return;
    const std::shared_ptr<Job> job = queue.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      carry_out(*job);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    lock.lock();
    queue.pop_front();
    job->plan = {};
    job->native = {};
    job->failure = failure;
    job->done_at = Clock::now();
    job->done = true;
    changed.notify_all();
  }
}

class GlooCommunicator;

class GlooWork : public Work {
 public:
  GlooWork(std::shared_ptr<GlooCommunicator> owner, std::shared_ptr<Job> job)
      : owner_(std::move(owner)), job_(std::move(job)) {}
  bool test() override;
  void wait() override;
  // Asked once it is done: then nobody writes it any more.
  std::optional<Clock::time_point> done_at() const override { return job_->done_at; }

 private:
  std::shared_ptr<GlooCommunicator> owner_;
  std::shared_ptr<Job> job_;
};

class GlooCommunicator : public PlannedCommunicator,
                         public std::enable_shared_from_this<GlooCommunicator> {
 public:
  GlooCommunicator(Store store, Place place, const Options& options, std::string address);
  ~GlooCommunicator() override;

  std::string transport() const override { return "gloo"; }
  std::shared_ptr<Communicator> split(int colour) override;
  [[noreturn]] void abort(int exit_code) override { _exit(exit_code); }

  bool test(const Job& job);
  void wait(const Job& job);

 protected:
  Handle submit(Operation operation, Plan plan) override {
    return enqueue({std::move(operation), std::move(plan), {}, {}, false, {}});
  }
  Handle start_native_all_reduce(Operation operation, const torch::Tensor& data, Op op) override;

 private:
  Handle enqueue(Job job);
  void until_done(const Job& job);
  static void rethrow(const Job& job);

  Store store_;
  std::string address_;
  WaitBoard board_;
  std::shared_ptr<Engine> engine_;
  std::vector<std::thread> threads_;
  bool broken_ = false;
  int splits_ = 0;
};

bool GlooWork::test() {
  return owner_->test(*job_);
}
void GlooWork::wait() {
  owner_->wait(*job_);
}

// Gloo's own limit only frees the thread in the end: ours, which names the missing, comes first.
std::chrono::milliseconds gloo_limit(const Options& options) {
  return options.time_limit + 4 * notice_grace(options.time_limit) + std::chrono::seconds(30);
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> make_group(const Store& store, Place place,
                                                      const Options& options,
                                                      const std::string& address) {
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(gloo_limit(options));
  gloo_options->threads = 1;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr) {
    gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  } else if (address == "localhost" || address.rfind("127.", 0) == 0) {
    gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  } else {
    gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.size, gloo_options);
}

GlooCommunicator::GlooCommunicator(Store store, Place place, const Options& options,
                                   std::string address)
    : PlannedCommunicator(place, options),
      store_(std::move(store)),
      address_(std::move(address)),
      board_(store_, place),
      engine_(std::make_shared<Engine>()) {
  engine_->group = make_group(store_, place, options, address_);
  threads_.emplace_back([engine = engine_] { engine->run(engine->collectives); });
  threads_.emplace_back([engine = engine_] { engine->run(engine->messages); });
}

// Operations under way are finished first, unless one failed or ran out of time: then the threads
// may be stuck in a call, and are left to themselves with what they work on.
GlooCommunicator::~GlooCommunicator() {
  {
    const std::lock_guard lock(engine_->mutex);
    engine_->stop = true;
    engine_->changed.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (broken_ || std::uncaught_exceptions() > 0) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

std::shared_ptr<Communicator> GlooCommunicator::split(int colour) {
  std::vector<Member> members = members_of_colour(colour);
  const Place part = renumber(members, rank());
  const Store store =
      c10::make_intrusive<c10d::PrefixStore>(fmt::format("split{}/{}", splits_++, colour), store_);
  auto communicator =
      std::make_shared<GlooCommunicator>(store, part, options_of_split(colour), address_);
  communicator->set_members(std::move(members));
  return communicator;
}

Handle GlooCommunicator::enqueue(Job job) {
  auto shared = std::make_shared<Job>(std::move(job));
  const std::lock_guard lock(engine_->mutex);
  if (shared->operation.number == 0) {
    shared->posted = engine_->post(shared->plan.stages[0], shared->operation.tag);
    engine_->messages.push_back(shared);
  } else {
    engine_->collectives.push_back(shared);
  }
  engine_->changed.notify_all();
  return std::make_shared<GlooWork>(shared_from_this(), std::move(shared));
}

Handle GlooCommunicator::start_native_all_reduce(Operation operation, const torch::Tensor& data,
                                                 Op op) {
  if (data.scalar_type() == torch::kBFloat16 || data.numel() == 0) return nullptr;
  Job job{std::move(operation), {}, {}, {}, false, {}};
  job.native = [engine = engine_.get(), data, op] {
    std::vector<torch::Tensor> tensors{data};
    c10d::AllreduceOptions how;
    how.reduceOp = op == Op::kSum   ? c10d::ReduceOp::SUM
                   : op == Op::kMax ? c10d::ReduceOp::MAX
                                    : c10d::ReduceOp::MIN;
    engine->group->allreduce(tensors, how)->wait();
  };
  return enqueue(std::move(job));
}

void GlooCommunicator::rethrow(const Job& job) {
  if (!job.failure) return;
  try {
    std::rethrow_exception(job.failure);
  } catch (const c10::Error& error) {
    throw Error(fmt::format("{} failed: {}", job.operation.name, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw Error(fmt::format("{} failed: {}", job.operation.name, error.what()));
  }
}

bool GlooCommunicator::test(const Job& job) {
  const std::lock_guard lock(engine_->mutex);
  if (!job.done) return false;
  broken_ = broken_ || job.failure;
  rethrow(job);
  return true;
}

void GlooCommunicator::wait(const Job& job) {
  const auto start = Clock::now();
  until_done(job);
  wait_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void GlooCommunicator::until_done(const Job& job) {
  const auto period = notice_period(options_.time_limit);
  const auto deadline = Clock::now() + options_.time_limit;
  std::unique_lock lock(engine_->mutex);
  while (!job.done) {
    const auto left = deadline - Clock::now();
    if (left <= left.zero()) {
      lock.unlock();
      std::vector<bool> heard = board_.listen(notice_grace(options_.time_limit));
      lock.lock();
      if (job.done) break;
      broken_ = true;
      throw timeout(job.operation, heard);
    }
    if (!engine_->changed.wait_for(lock, std::min<Clock::duration>(period, left),
                                   [&] { return job.done; })) {
      lock.unlock();
      board_.say();
      lock.lock();
    }
  }
  broken_ = broken_ || job.failure;
  rethrow(job);
}

}  // namespace

bool launched_by_environment() {
  return std::getenv("RANK") != nullptr && std::getenv("WORLD_SIZE") != nullptr;
}

std::shared_ptr<Communicator> connect_gloo(const Options& options) {
  const Rendezvous where = rendezvous_from_environment();
  const Store store = meet(where, options.connect_limit);
  try {
    auto communicator =
        std::make_shared<GlooCommunicator>(store, where.place, options, where.address);
    communicator->exchange_members();
    return communicator;
  } catch (const c10::Error& error) {
    throw Error(fmt::format("Gloo could not connect rank {}: {}", where.place.rank,
                            error.what_without_backtrace()));
  } catch (const Error&) {
    throw;
  } catch (const Timeout&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(fmt::format("Gloo could not connect rank {}: {}", where.place.rank, error.what()));
  }
}

#ifndef MUSTER_CUDA
std::shared_ptr<Communicator> connect_nccl(const Options&, torch::Device) {
  throw Error("NCCL was asked for, but this build has no CUDA (MUSTER_CUDA)");
}
#endif

}  // namespace muster::comm
