// The measured operations on Gloo, over TCP: each rank is connected with each other one. What Gloo
// has is its own; reduce_scatter, sendrecv and hypercube are made of its sends and receives.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/config.h>
#include <gloo/context.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "engine/bench/fabric.h"
#include "engine/bench/meeting.h"
#include "engine/bench/reduction.h"

namespace muster::measure {
namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
using ReduceFunction = std::function<void(void*, const void*, const void*, std::size_t)>;

/// All pairs of ranks, connected; their addresses are told at the meeting.
class Mesh : public gloo::Context {
 public:
  Mesh(Meeting& meeting, std::shared_ptr<gloo::transport::Device> device,
       std::chrono::milliseconds limit)
      : gloo::Context(meeting.rank(), meeting.size()) {
    // Gloo's own limit only frees the thread in the end: the monitor's comes first.
    setTimeout(limit + std::chrono::seconds(30));
    device_ = std::move(device);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(getTimeout());
    std::string own;
    std::vector<std::size_t> lengths;
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      const auto bytes = transportContext_->createPair(peer)->address().bytes();
      own.append(bytes.begin(), bytes.end());
      lengths.push_back(bytes.size());
    }
    const std::size_t length = lengths.empty() ? 0 : lengths.front();
    const std::vector<std::string> all = meeting.all_gather(own);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      // Each rank's list leaves out itself.
      const auto place = static_cast<std::size_t>(rank < peer ? rank : rank - 1) * length;
      const std::string& theirs = all[static_cast<std::size_t>(peer)];
      const std::vector<char> bytes(theirs.begin() + static_cast<long>(place),
                                    theirs.begin() + static_cast<long>(place + length));
      ranks_[gloo::transport::tcp::Address(bytes).str()] = peer;
      transportContext_->getPair(peer)->connect(bytes);
    }
  }

  /// Of Gloo's message on a lost connection the rank at its other end.
  std::optional<int> rank_in(const std::string& message) const {
    for (const auto& [address, rank] : ranks_) {
      if (message.find(address) != std::string::npos) return rank;
    }
    return std::nullopt;
  }

 private:
  std::map<std::string, int> ranks_;
};

std::shared_ptr<gloo::transport::Device> make_device(const Meeting& meeting, bool one_host) {
  gloo::transport::tcp::attr attributes;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    attributes.iface = interface;
  } else {
    // What leads to the meeting leads to the others.
    attributes.hostname = one_host ? "127.0.0.1" : meeting.address();
  }
  return gloo::transport::tcp::CreateDevice(attributes);
}

/// Of "tcp, pci=…, iface=eth0, speed=…" the interface.
std::string interface_of(const gloo::transport::Device& device) {
  std::string text = device.str();
  const std::string_view key = "iface=";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return text;
  const std::size_t from = at + key.size();
  return text.substr(from, text.find(',', from) - from);
}

ReduceFunction three_way(Combine combine, std::size_t width) {
  return [combine, width](void* out, const void* a, const void* b, std::size_t elements) {
    if (out == b) {
      combine(a, out, elements);
      return;
    }
    if (out != a) std::memcpy(out, a, elements * width);
    combine(b, out, elements);
  };
}

class GlooFabric : public Fabric {
 public:
  GlooFabric(std::unique_ptr<Meeting> meeting, std::vector<Seat> seats,
             std::chrono::milliseconds limit)
      : meeting_(std::move(meeting)), seats_(std::move(seats)) {
    const bool one_host = std::all_of(seats_.begin(), seats_.end(), [&](const Seat& seat) {
      return seat.host == seats_.front().host;
    });
    guarded([&] {
      const auto device = make_device(*meeting_, one_host);
      interface_ = interface_of(*device);
      mesh_ = std::make_shared<Mesh>(*meeting_, device, limit);
    });
  }
  ~GlooFabric() override {
    // While an exception ends this rank the others may not come. Else none closes its connections
    // before all are done with them.
    if (std::uncaught_exceptions() > 0) return;
    try {
      meeting_->all_gather({});
    } catch (const NotMet&) {
      return;
    }
  }

  int rank() const override { return meeting_->rank(); }
  int size() const override { return meeting_->size(); }
  const std::vector<Seat>& seats() const override { return seats_; }
  std::string name() const override {
    return fmt::format("gloo: Gloo {}.{}.{} over TCP ({}), met by {}", GLOO_VERSION_MAJOR,
                       GLOO_VERSION_MINOR, GLOO_VERSION_PATCH, interface_, meeting_->name());
  }

  void check(const Call& call) const override {
    if (call.operation == Operation::kHypercube && (size() & (size() - 1)) != 0)
      throw Unsupported(fmt::format("hypercube needs a power of two of ranks, not {}", size()));
  }

  void prepare(const Call& call) override {
    check(call);
    call_ = call;
    width_ = size_of(call.type);
    part_ = call.counts.part * width_;
    run_ = [] {};
    scratch_.clear();
    if (call.counts.part == 0) return;
    if (call.reduction == Reduction::kMulSum && reduces(call.operation) && !call.in_place)
      scratch_.resize(call.counts.send * width_);
    // Gloo sends and receives in different places.
    const bool moves = call.operation == Operation::kAllToAll ||
                       call.operation == Operation::kAllToAllV ||
                       call.operation == Operation::kSendRecv;
    if (moves && call.in_place) scratch_.resize(call.counts.send * width_);
    switch (width_) {
      case 1:
        run_ = operation<std::uint8_t>();
        break;
      case 2:
        run_ = operation<std::uint16_t>();
        break;
      case 4:
        run_ = operation<std::uint32_t>();
        break;
      default:
        run_ = operation<std::uint64_t>();
        break;
    }
  }

  void run() override { guarded(run_); }

  void barrier() override {
    guarded([&] {
      gloo::BarrierOptions options(mesh_);
      options.setTag(next_tag());
      gloo::barrier(options);
    });
  }
  void sum(std::vector<double>& values) override { over_ranks(values, Reduction::kSum); }
  void max(std::vector<double>& values) override { over_ranks(values, Reduction::kMax); }
  void min(std::vector<double>& values) override { over_ranks(values, Reduction::kMin); }

 private:
  template <typename Do>
  void guarded(const Do& what) const {
    try {
      what();
    } catch (const gloo::IoException& error) {
      const std::string what = error.what();
      // Behind the place in Gloo's source.
      const std::size_t from = what.find("] ");
      throw PeerLost(mesh_ != nullptr ? mesh_->rank_in(what) : std::nullopt,
                     from == std::string::npos ? what : what.substr(from + 2));
    }
  }

  void over_ranks(std::vector<double>& values, Reduction how) {
    if (values.empty()) return;
    guarded([&] {
      gloo::AllreduceOptions options(mesh_);
      options.setOutput(values.data(), values.size());
      options.setReduceFunction(
          three_way(combine_function(DataType::kDouble, how), sizeof(double)));
      options.setTag(next_tag());
      gloo::allreduce(options);
    });
  }

  std::uint32_t next_tag() { return ++tag_; }

  char* at(void* data, int part) const {
    return static_cast<char*>(data) + part_ * static_cast<std::size_t>(part);
  }
  char* own(void* data) const { return at(data, rank()); }

  /// What this rank sends, where it may be read while the result is received.
  char* sent_apart() {
    if (!call_.in_place) return static_cast<char*>(call_.send);
    std::memcpy(scratch_.data(), call_.recv, scratch_.size());
    return scratch_.data();
  }

  ReduceFunction reduce_function() const {
    return three_way(combine_function(call_.type, call_.reduction), width_);
  }

  /// mulsum multiplies before it sums; this is where the product lies. In place: there.
  void* scaled() {
    void* source = call_.in_place ? call_.recv : call_.send;
    if (call_.reduction != Reduction::kMulSum) return source;
    void* target = call_.in_place ? call_.recv : scratch_.data();
    scale(call_.type, 1 + rank() % 2, source, target, call_.counts.send);
    return target;
  }
  void* scaled_place() {
    if (call_.in_place) return call_.recv;
    return call_.reduction == Reduction::kMulSum ? scratch_.data() : call_.send;
  }
  void average() const {
    if (call_.reduction == Reduction::kAvg)
      scale(call_.type, 1.0 / size(), call_.recv, call_.recv, call_.counts.part);
  }

  /// T stands for anything of the type's size.
  template <typename T>
  std::function<void()> operation() {
    switch (call_.operation) {
      case Operation::kAllReduce:
        return all_reduce<T>();
      case Operation::kReduce:
        return reduce<T>();
      case Operation::kReduceScatter:
        return [this] { reduce_scatter(); };
      case Operation::kAllGather:
        return all_gather<T>();
      case Operation::kAllToAll:
        return all_to_all<T>();
      case Operation::kAllToAllV:
        return all_to_all_v<T>();
      case Operation::kBroadcast:
        return broadcast<T>();
      case Operation::kGather:
        return gather<T>();
      case Operation::kScatter:
        return scatter<T>();
      case Operation::kSendRecv:
        return [this] { send_receive(); };
      case Operation::kHypercube:
        return [this] { hypercube(); };
    }
    return [] {};
  }

  template <typename T>
  std::function<void()> all_reduce() {
    auto options = std::make_shared<gloo::AllreduceOptions>(mesh_);
    if (!call_.in_place) options->setInput(static_cast<T*>(scaled_place()), call_.counts.part);
    options->setOutput(static_cast<T*>(call_.recv), call_.counts.part);
    options->setReduceFunction(reduce_function());
    return [this, options] {
      scaled();
      options->setTag(next_tag());
      gloo::allreduce(*options);
      average();
    };
  }

  template <typename T>
  std::function<void()> reduce() {
    auto options = std::make_shared<gloo::ReduceOptions>(mesh_);
    if (!call_.in_place) options->setInput(static_cast<T*>(scaled_place()), call_.counts.part);
    options->setOutput(static_cast<T*>(call_.recv), call_.counts.part);
    options->setReduceFunction(reduce_function());
    options->setRoot(call_.root);
    return [this, options] {
      scaled();
      options->setTag(next_tag());
      gloo::reduce(*options);
      if (rank() == call_.root) average();
    };
  }

  template <typename T>
  std::function<void()> all_gather() {
    auto options = std::make_shared<gloo::AllgatherOptions>(mesh_);
    if (!call_.in_place) options->setInput(static_cast<T*>(call_.send), call_.counts.send);
    options->setOutput(static_cast<T*>(call_.recv), call_.counts.recv);
    return [this, options] {
      options->setTag(next_tag());
      gloo::allgather(*options);
    };
  }

  template <typename T>
  std::function<void()> all_to_all() {
    auto options = std::make_shared<gloo::AlltoallOptions>(mesh_);
    void* from = call_.in_place ? scratch_.data() : call_.send;
    options->setInput(static_cast<T*>(from), call_.counts.send);
    options->setOutput(static_cast<T*>(call_.recv), call_.counts.recv);
    return [this, options] {
      sent_apart();
      options->setTag(next_tag());
      gloo::alltoall(*options);
    };
  }

  template <typename T>
  std::function<void()> all_to_all_v() {
    auto options = std::make_shared<gloo::AlltoallvOptions>(mesh_);
    std::vector<std::int64_t> to, from;
    for (int peer = 0; peer < size(); ++peer) {
      to.push_back(static_cast<std::int64_t>(part_to(call_.counts.part, rank(), peer)));
      from.push_back(static_cast<std::int64_t>(part_to(call_.counts.part, peer, rank())));
    }
    void* source = call_.in_place ? scratch_.data() : call_.send;
    options->setInput(static_cast<T*>(source), to);
    options->setOutput(static_cast<T*>(call_.recv), from);
    return [this, options] {
      sent_apart();
      options->setTag(next_tag());
      gloo::alltoallv(*options);
    };
  }

  template <typename T>
  std::function<void()> broadcast() {
    auto options = std::make_shared<gloo::BroadcastOptions>(mesh_);
    void* data = !call_.in_place && rank() == call_.root ? call_.send : call_.recv;
    options->setOutput(static_cast<T*>(data), call_.counts.part);
    options->setRoot(call_.root);
    return [this, options] {
      options->setTag(next_tag());
      gloo::broadcast(*options);
    };
  }

  template <typename T>
  std::function<void()> gather() {
    auto options = std::make_shared<gloo::GatherOptions>(mesh_);
    void* from = call_.in_place ? own(call_.recv) : call_.send;
    options->setInput(static_cast<T*>(from), call_.counts.part);
    if (rank() == call_.root) options->setOutput(static_cast<T*>(call_.recv), call_.counts.recv);
    options->setRoot(call_.root);
    return [this, options] {
      options->setTag(next_tag());
      gloo::gather(*options);
    };
  }

  template <typename T>
  std::function<void()> scatter() {
    auto options = std::make_shared<gloo::ScatterOptions>(mesh_);
    const bool root = rank() == call_.root;
    if (root) {
      std::vector<T*> parts;
      parts.reserve(static_cast<std::size_t>(size()));
      void* from = call_.in_place ? call_.recv : call_.send;
      for (int peer = 0; peer < size(); ++peer)
        parts.push_back(reinterpret_cast<T*>(at(from, peer)));
      options->setInputs(parts, call_.counts.part);
    }
    void* to = root && call_.in_place ? own(call_.recv) : call_.recv;
    options->setOutput(static_cast<T*>(to), call_.counts.part);
    options->setRoot(call_.root);
    return [this, options] {
      options->setTag(next_tag());
      gloo::scatter(*options);
    };
  }

  Buffer buffer(void* data, std::size_t bytes) { return mesh_->createUnboundBuffer(data, bytes); }
  std::uint64_t next_slot() { return (std::uint64_t{0xbe} << 56) | next_tag(); }

  /// Each part to the rank that sums it, all at once; summed in the order of the ranks.
  void reduce_scatter() {
    auto* from = static_cast<char*>(scaled());
    const auto others = static_cast<std::size_t>(size() - 1);
    arrived_.resize(part_ * (others + 1));
    const std::uint64_t slot = next_slot();
    std::vector<Buffer> sent, received;
    for (int peer = 0; peer < size(); ++peer) {
      sent.push_back(buffer(at(from, peer), part_));
      received.push_back(buffer(at(arrived_.data(), peer), part_));
      if (peer != rank()) received.back()->recv(peer, slot);
    }
    // Each begins with the next: no rank is sent to by all at once.
    for (int step = 1; step < size(); ++step) {
      const int peer = (rank() + step) % size();
      sent[static_cast<std::size_t>(peer)]->send(peer, slot);
    }
    std::memcpy(own(arrived_.data()), own(from), part_);
    const Combine combine = combine_function(call_.type, call_.reduction);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      received[static_cast<std::size_t>(peer)]->waitRecv();
      combine(at(arrived_.data(), peer), own(arrived_.data()), call_.counts.part);
    }
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank()) sent[static_cast<std::size_t>(peer)]->waitSend();
    }
    std::memcpy(call_.recv, own(arrived_.data()), part_);
    average();
  }

  void exchange(void* out, int to, void* in, int from, std::size_t bytes) {
    const std::uint64_t slot = next_slot();
    const Buffer sent = buffer(out, bytes), received = buffer(in, bytes);
    received->recv(from, slot);
    sent->send(to, slot);
    received->waitRecv();
    sent->waitSend();
  }

  /// A ring: to the next rank, from the one before.
  void send_receive() {
    char* out = sent_apart();
    if (size() == 1)
      std::memcpy(call_.recv, out, part_);
    else
      exchange(out, (rank() + 1) % size(), call_.recv, (rank() + size() - 1) % size(), part_);
  }

  /// As the MPI fabric does it: everything gathered so far, to the rank that differs in one bit.
  void hypercube() {
    if (!call_.in_place) std::memcpy(own(call_.recv), call_.send, part_);
    for (int bit = 1; bit < size(); bit *= 2) {
      const int peer = rank() ^ bit;
      exchange(at(call_.recv, rank() & ~(bit - 1)), peer, at(call_.recv, peer & ~(bit - 1)), peer,
               part_ * static_cast<std::size_t>(bit));
    }
  }

  std::unique_ptr<Meeting> meeting_;
  std::vector<Seat> seats_;
  std::shared_ptr<Mesh> mesh_;
  std::string interface_;
  std::uint32_t tag_ = 0;
  Call call_;
  std::size_t width_ = 1, part_ = 0;  ///< bytes of an element, and of a part
  std::function<void()> run_ = [] {};
  std::vector<char> scratch_, arrived_;
};

}  // namespace

std::unique_ptr<Fabric> connect_gloo(std::unique_ptr<Meeting> meeting, std::vector<Seat> seats,
                                     std::chrono::milliseconds limit) {
  return std::make_unique<GlooFabric>(std::move(meeting), std::move(seats), limit);
}

}  // namespace muster::measure
