// The low-latency form: every expert has a slot for each token of each rank, which the sender
// writes by itself, and a flag that says how many it wrote. Nobody asks before, nobody is told
// where. Within a node the slots are written by stores, across by MPI's one-sided puts.
//
// Slots and flags are there twice and used in turns: whoever begins a dispatch has had everyone's
// flags of the one before, which they sent after they were done with the one before that.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "engine/bench/expert_exchange.h"
#include "engine/bench/expert_kernels.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

constexpr std::size_t kFlag = sizeof(std::uint64_t);
constexpr int kTurns = 2;

/// Where things lie in one rank's memory.
struct Plot {
  std::size_t slots, results, slot_flags, result_flags, bytes;

  explicit Plot(const ExpertShape& shape) {
    const std::size_t row = low_latency_row(shape).bytes();
    const std::size_t ranks = size(shape.ranks), experts = size(shape.experts_per_rank());
    slot_flags = 0;
    result_flags = slot_flags + kTurns * ranks * experts * kFlag;
    slots = (result_flags + kTurns * ranks * kFlag + 63) / 64 * 64;
    results = slots + kTurns * experts * ranks * size(shape.tokens) * row;
    bytes = results + kTurns * size(shape.tokens) * size(shape.top_k) * size(shape.hidden) *
                          sizeof(std::uint16_t);
  }
};

/// The memory of this rank, for the puts of ranks on other nodes.
class RemoteWindow {
 public:
  RemoteWindow(std::byte* own, std::size_t bytes) {
    check_mpi(MPI_Win_create(own, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                             &window_),
              "MPI_Win_create");
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  }
  ~RemoteWindow() {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  RemoteWindow(const RemoteWindow&) = delete;
  RemoteWindow& operator=(const RemoteWindow&) = delete;

  void put(const std::byte* data, std::size_t bytes, int rank, std::size_t at) const {
    const int count = static_cast<int>(bytes);
    check_mpi(
        MPI_Put(data, count, MPI_BYTE, rank, static_cast<MPI_Aint>(at), count, MPI_BYTE, window_),
        "MPI_Put");
  }
  /// Each flag as a whole: MPI promises that of accumulates, not of puts.
  void raise(const std::vector<std::uint64_t>& flags, int rank, std::size_t at) const {
    const int count = static_cast<int>(flags.size());
    check_mpi(MPI_Accumulate(flags.data(), count, MPI_UINT64_T, rank, static_cast<MPI_Aint>(at),
                             count, MPI_UINT64_T, MPI_REPLACE, window_),
              "MPI_Accumulate");
    flush(rank);
  }
  void flush(int rank) const { check_mpi(MPI_Win_flush(rank, window_), "MPI_Win_flush"); }
  /// Lets what others put arrive.
  void progress() const {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Win_sync(window_);
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

class LowLatencyExchange : public ExpertExchange {
 public:
  LowLatencyExchange(const ExpertPlan& plan, const Placement& placement, int rank)
      : shape_(plan.shape),
        placement_(placement),
        rank_(rank),
        node_(placement.node_of[size(rank)]),
        row_bytes_(low_latency_row(shape_).bytes()),
        hidden_(size(shape_.hidden)),
        plot_(shape_),
        of_node_(node_, rank),
        memory_(of_node_, plot_.bytes),
        sent_(size(shape_.experts)),
        arrived_(size(shape_.ranks) * size(shape_.experts_per_rank())),
        tokens_(size(shape_.tokens) * hidden_),
        combined_(size(shape_.tokens) * hidden_) {
    for (int local = 0; local < static_cast<int>(placement_.ranks_at[size(node_)].size()); ++local)
      bases_.push_back(memory_.of(local));
    std::memset(own(), 0, plot_.slots);  // no flag is up
    memory_.sync();
    if (placement_.ranks_at.size() > 1) {
      remote_ = std::make_unique<RemoteWindow>(own(), plot_.bytes);
      const std::size_t rows = size(shape_.tokens) * size(shape_.top_k);
      sending_.reset(new std::byte[rows * row_bytes_]);
    }
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }

  void load(const Routing& routing, unsigned seed) override {
    routing_ = routing;
    for (int token = 0; token < shape_.tokens; ++token)
      make_token(shape_, seed, rank_, token, tokens_.data() + size(token) * hidden_);
  }

  void dispatch() override {
    ++dispatches_;
    std::fill(sent_.begin(), sent_.end(), 0);
    for (int token = 0; token < shape_.tokens; ++token) send_token(token);
    raise_slot_flags();
    await_slots();
  }

  std::size_t received() const override { return rows_.size(); }
  const std::byte* row(std::size_t index) const override { return rows_[index].data; }

  void apply() override {
    outputs_.resize(rows_.size() * hidden_);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      apply_expert(shape_, rows_[i].expert, rows_[i].data, outputs_.data() + i * hidden_);
  }

  void combine() override {
    ++combines_;
    for (std::size_t i = 0; i < rows_.size(); ++i) send_back(i);
    raise_result_flags();
    await_results();
    sum_up();
  }

  const std::uint16_t* combined(int token) const override {
    return combined_.data() + size(token) * hidden_;
  }

 private:
  struct Arrived {
    const std::byte* data;
    int expert, source;
  };

  std::byte* own() const { return bases_[size(placement_.local_of[size(rank_)])]; }
  bool is_near(int rank) const { return placement_.node_of[size(rank)] == node_; }
  std::byte* near(int rank) const { return bases_[size(placement_.local_of[size(rank)])]; }

  // Places within a rank's memory.
  std::size_t slot(int expert, int source, std::size_t number) const {
    const std::size_t turn = dispatches_ % kTurns;
    const std::size_t block =
        (turn * size(shape_.experts_per_rank()) + size(expert % shape_.experts_per_rank())) *
            size(shape_.ranks) +
        size(source);
    return plot_.slots + (block * size(shape_.tokens) + number) * row_bytes_;
  }
  /// Of a source its experts' flags lie beside each other.
  std::size_t slot_flag(int source, int local_expert) const {
    const std::size_t turn = dispatches_ % kTurns;
    return plot_.slot_flags +
           ((turn * size(shape_.ranks) + size(source)) * size(shape_.experts_per_rank()) +
            size(local_expert)) *
               kFlag;
  }
  std::size_t result(const SlotHeader& header) const {
    const std::size_t turn = combines_ % kTurns;
    const std::size_t number =
        (turn * size(shape_.tokens) + size(header.token)) * size(shape_.top_k) +
        size(header.choice);
    return plot_.results + number * hidden_ * sizeof(std::uint16_t);
  }
  std::size_t result_flag(int from) const {
    return plot_.result_flags + (combines_ % kTurns * size(shape_.ranks) + size(from)) * kFlag;
  }

  static std::atomic_ref<std::uint64_t> flag(std::byte* memory, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory + at));
  }

  /// A token to each of its experts; cast once, when it is cast.
  void send_token(int token) {
    const RowForm form = low_latency_row(shape_);
    const std::uint16_t* channels = tokens_.data() + size(token) * hidden_;
    const auto* payload = reinterpret_cast<const std::byte*>(channels);
    if (shape_.payload == bench::Payload::kFp8) {
      cast_.resize(form.payload + form.scales);
      cast_to_fp8(channels, hidden_, reinterpret_cast<std::uint8_t*>(cast_.data()),
                  reinterpret_cast<float*>(cast_.data() + form.payload));
      payload = cast_.data();
    }
    for (int k = 0; k < shape_.top_k; ++k) {
      const int expert = routing_.experts_of(token)[k];
      if (expert < 0) continue;
      const int to = shape_.rank_of(expert);
      const std::size_t at = slot(expert, rank_, sent_[size(expert)]++);
      std::byte* place =
          is_near(to) ? near(to) + at
                      : sending_.get() + (size(token) * size(shape_.top_k) + size(k)) * row_bytes_;
      const SlotHeader header{token, k, {}};
      std::memcpy(place, &header, sizeof header);
      std::memcpy(place + form.header, payload, form.payload + form.scales);
      if (!is_near(to)) remote_->put(place, row_bytes_, to, at);
    }
  }

  void raise_slot_flags() {
    const int each = shape_.experts_per_rank();
    std::vector<std::uint64_t> flags(size(each));
    for (int to = 0; to < shape_.ranks; ++to) {
      for (int expert = 0; expert < each; ++expert)
        flags[size(expert)] = dispatches_ << 32 | sent_[size(to * each + expert)];
      if (!is_near(to)) {
        remote_->flush(to);  // the tokens are there before the flags
        remote_->raise(flags, to, slot_flag(rank_, 0));
        continue;
      }
      for (int expert = 0; expert < each; ++expert)
        flag(near(to), slot_flag(rank_, expert))
            .store(flags[size(expert)], std::memory_order_release);
    }
  }

  void await_slots() {
    rows_.clear();
    const int each = shape_.experts_per_rank(), first = rank_ * each;
    for (int source = 0; source < shape_.ranks; ++source) {
      for (int expert = 0; expert < each; ++expert) {
        const std::uint64_t up = await(slot_flag(source, expert), dispatches_ << 32);
        arrived_[size(expert) * size(shape_.ranks) + size(source)] = static_cast<std::uint32_t>(up);
      }
    }
    for (int expert = 0; expert < each; ++expert) {
      for (int source = 0; source < shape_.ranks; ++source) {
        for (std::size_t i = 0; i < arrived_[size(expert) * size(shape_.ranks) + size(source)]; ++i)
          rows_.push_back({own() + slot(first + expert, source, i), first + expert, source});
      }
    }
  }

  /// Waits for a flag of this turn or, should it be overtaken, a later one.
  std::uint64_t await(std::size_t at, std::uint64_t least) const {
    for (unsigned turn = 1;; ++turn) {
      const std::uint64_t up = flag(own(), at).load(std::memory_order_acquire);
      if (up >= least) return up;
      if (remote_) remote_->progress();
      // Ranks may be more than processors.
      if (turn % 64 == 0) sched_yield();
    }
  }

  void send_back(std::size_t index) {
    const Arrived& row = rows_[index];
    SlotHeader header;
    std::memcpy(&header, row.data, sizeof header);
    // What arrived may be damaged: it must not lead out of the memory.
    if (header.token < 0 || header.token >= shape_.tokens || header.choice < 0 ||
        header.choice >= shape_.top_k)
      return;
    const auto* data = reinterpret_cast<const std::byte*>(outputs_.data() + index * hidden_);
    const std::size_t bytes = hidden_ * sizeof(std::uint16_t);
    if (is_near(row.source)) {
      std::memcpy(near(row.source) + result(header), data, bytes);
    } else {
      remote_->put(data, bytes, row.source, result(header));
    }
  }

  void raise_result_flags() {
    for (int to = 0; to < shape_.ranks; ++to) {
      if (is_near(to)) {
        flag(near(to), result_flag(rank_)).store(combines_, std::memory_order_release);
      } else {
        remote_->flush(to);
        remote_->raise({combines_}, to, result_flag(rank_));
      }
    }
  }

  void await_results() {
    for (int from = 0; from < shape_.ranks; ++from) await(result_flag(from), combines_);
  }

  void sum_up() {
    std::vector<const std::uint16_t*> rows;
    std::vector<float> weights;
    for (int token = 0; token < shape_.tokens; ++token) {
      rows.clear();
      weights.clear();
      for (int k = 0; k < shape_.top_k; ++k) {
        if (routing_.experts_of(token)[k] < 0) continue;
        rows.push_back(reinterpret_cast<const std::uint16_t*>(own() + result({token, k, {}})));
        weights.push_back(routing_.weights_of(token)[k]);
      }
      weigh_rows(rows.data(), weights.data(), static_cast<int>(rows.size()), hidden_,
                 combined_.data() + size(token) * hidden_);
    }
  }

  const ExpertShape shape_;
  const Placement placement_;
  const int rank_, node_;
  const std::size_t row_bytes_, hidden_;
  const Plot plot_;
  Communicator of_node_;
  NodeMemory memory_;
  std::unique_ptr<RemoteWindow> remote_;  ///< when there are other nodes
  std::vector<std::byte*> bases_;         ///< by number in the node
  Routing routing_;
  std::uint64_t dispatches_ = 0, combines_ = 0;
  std::vector<std::uint64_t> sent_;     ///< by expert: rows of this dispatch
  std::vector<std::uint64_t> arrived_;  ///< by local expert and source
  std::vector<Arrived> rows_;
  std::vector<std::uint16_t> tokens_, combined_, outputs_;
  std::vector<std::byte> cast_;
  std::unique_ptr<std::byte[]> sending_;  ///< rows under way to other nodes
};

}  // namespace

std::unique_ptr<ExpertExchange> make_low_latency_exchange(const ExpertPlan& plan,
                                                          const Placement& placement, int rank) {
  return std::make_unique<LowLatencyExchange>(plan, placement, rank);
}

}  // namespace muster::measure
