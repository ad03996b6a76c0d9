// The normal form: a token once to each rank that has experts of it, in one block from each source.
//
// Within a node the ranks reach each other's memory: a receiver copies the rows straight from the
// sender's tokens, and the source of a token sums straight from the results of the others. Across
// nodes a token goes once to each node, to the rank with the sender's number in it, from where the
// ranks of that node take it; on the way back that rank sums its node's results to one row. With
// one rank a node (the path alltoallv makes every rank a node) that is a plain MPI_Alltoallv.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "engine/bench/expert_exchange.h"
#include "engine/bench/expert_kernels.h"
#include "engine/bench/mpi_support.h"

namespace muster::measure {
namespace {

std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

/// Every rank as a node of its own.
Placement alone(int ranks) {
  Placement placement;
  for (int rank = 0; rank < ranks; ++rank) {
    placement.node_of.push_back(rank);
    placement.local_of.push_back(0);
    placement.ranks_at.push_back({rank});
  }
  return placement;
}

Placement for_path(const ExpertPlan& plan, const Placement& placement) {
  return plan.path == ExpertPath::kAllToAllV ? alone(plan.shape.ranks) : placement;
}

/// Where things lie in the part of the node's memory that is one rank's.
struct Plot {
  std::size_t tokens, staged, lists, counts, offsets, outputs, bytes;

  Plot(const ExpertShape& shape, int nodes, int locals) {
    const std::size_t row = normal_row(shape).bytes(), count = size(shape.tokens);
    const std::size_t whole = sizeof(std::int32_t);
    // With one rank a node what comes across is received at once.
    const std::size_t remote = locals > 1 ? size(nodes - 1) : 0;
    tokens = 0;
    staged = tokens + count * row;
    lists = staged + remote * count * row;
    counts = lists + size(nodes) * size(locals) * count * whole;
    offsets = counts + size(nodes) * size(locals) * whole;
    outputs = (offsets + size(shape.ranks) * whole + 63) / 64 * 64;
    bytes = outputs + size(shape.ranks) * count * size(shape.hidden) * sizeof(std::uint16_t);
  }
};

class NormalExchange : public ExpertExchange {
 public:
  NormalExchange(const ExpertPlan& plan, const Placement& placement, int rank)
      : shape_(plan.shape),
        placement_(placement),
        rank_(rank),
        node_(placement.node_of[size(rank)]),
        local_(placement.local_of[size(rank)]),
        nodes_(static_cast<int>(placement.ranks_at.size())),
        locals_(static_cast<int>(placement.ranks_at[size(node_)].size())),
        row_bytes_(normal_row(shape_).bytes()),
        hidden_(size(shape_.hidden)),
        plot_(shape_, nodes_, locals_),
        of_node_(node_, local_),
        of_rail_(local_, node_),
        memory_(of_node_, plot_.bytes),
        row_type_(row_bytes_),
        sum_type_(hidden_ * sizeof(std::uint16_t)),
        send_lists_(size(nodes_)),
        to_node_(size(nodes_)),
        from_node_(size(nodes_)),
        offset_(size(shape_.ranks) + 1) {
    for (int local = 0; local < locals_; ++local) bases_.push_back(memory_.of(local));
    const std::size_t rows = size(shape_.ranks) * size(shape_.tokens);
    // Not touched before it is used.
    received_.reset(new std::byte[rows * row_bytes_]);
    combined_.reset(new std::uint16_t[size(shape_.tokens) * hidden_]);
    if (nodes_ > 1) {
      const std::size_t away = size(nodes_ - 1) * size(shape_.tokens);
      packed_.reset(new std::byte[away * row_bytes_]);
      sums_back_.reset(new std::uint16_t[away * hidden_]);
      if (locals_ > 1) sums_.reset(new std::uint16_t[away * hidden_]);
    }
  }

  void load(const Routing& routing, unsigned seed) override {
    routing_ = routing;
    for (int token = 0; token < shape_.tokens; ++token)
      make_row(shape_, routing_, seed, rank_, token, own_rows() + size(token) * row_bytes_);
  }

  void dispatch() override {
    list_block(node_, own_rows(), shape_.tokens);
    if (nodes_ > 1) across();
    if (locals_ > 1) meet();
    find_offsets();
    take_rows();
    if (locals_ > 1) meet();  // the tokens may change from now on
  }

  std::size_t received() const override { return size(offset_.back()); }
  const std::byte* row(std::size_t index) const override {
    return received_.get() + index * row_bytes_;
  }

  void apply() override {
    const int first = rank_ * shape_.experts_per_rank();
    for (std::size_t i = 0; i < received(); ++i)
      apply_experts(shape_, first, first + shape_.experts_per_rank(), row(i),
                    outputs(local_) + i * hidden_);
  }

  void combine() override {
    if (locals_ > 1) meet();  // all have their results
    if (nodes_ > 1) back_across();
    sum_own();
    if (locals_ > 1) meet();  // the results may change from now on
  }

  const std::uint16_t* combined(int token) const override {
    return combined_.get() + size(token) * hidden_;
  }

 private:
  std::byte* own_rows() const { return bases_[size(local_)] + plot_.tokens; }
  std::int32_t* list(int local, int block, int to) const {
    auto* lists = reinterpret_cast<std::int32_t*>(bases_[size(local)] + plot_.lists);
    return lists + (size(block) * size(locals_) + size(to)) * size(shape_.tokens);
  }
  std::int32_t& count(int local, int block, int to) const {
    auto* counts = reinterpret_cast<std::int32_t*>(bases_[size(local)] + plot_.counts);
    return counts[size(block) * size(locals_) + size(to)];
  }
  std::int32_t* offsets(int local) const {
    return reinterpret_cast<std::int32_t*>(bases_[size(local)] + plot_.offsets);
  }
  std::uint16_t* outputs(int local) const {
    return reinterpret_cast<std::uint16_t*>(bases_[size(local)] + plot_.outputs);
  }
  /// Rows that came to rank `local` of this node from node `block`.
  std::byte* staged(int local, int block) const {
    const std::size_t place = size(block < node_ ? block : block - 1);
    return bases_[size(local)] + plot_.staged + place * size(shape_.tokens) * row_bytes_;
  }
  /// The place of node `block`'s rows in what is packed for, or comes back from, other nodes.
  std::size_t away(int block) const {
    return size(block < node_ ? block : block - 1) * size(shape_.tokens);
  }

  void meet() {
    memory_.sync();
    of_node_.barrier();
    memory_.sync();
  }

  /// Which rows of a block that lies here each rank of the node must take.
  void list_block(int block, const std::byte* rows, int row_count) {
    const RowForm form = normal_row(shape_);
    const int each = shape_.experts_per_rank();
    std::vector<int> last(size(locals_), -1);
    for (int to = 0; to < locals_; ++to) count(local_, block, to) = 0;
    for (int q = 0; q < row_count; ++q) {
      const auto* experts =
          reinterpret_cast<const std::int32_t*>(rows + size(q) * row_bytes_ + form.experts_at());
      for (std::size_t k = 0; k < form.choices; ++k) {
        if (experts[k] < 0) continue;
        const std::size_t to_rank = size(experts[k] / each);
        if (placement_.node_of[to_rank] != node_) continue;
        const int to = placement_.local_of[to_rank];
        if (last[size(to)] == q) continue;
        last[size(to)] = q;
        list(local_, block, to)[count(local_, block, to)++] = q;
      }
    }
  }

  /// The tokens of this rank that touch other nodes, once to each.
  void across() {
    const int each = shape_.experts_per_rank();
    std::vector<int> last(size(nodes_), -1);
    for (auto& tokens : send_lists_) tokens.clear();
    for (int token = 0; token < shape_.tokens; ++token) {
      for (int k = 0; k < shape_.top_k; ++k) {
        const int expert = routing_.experts_of(token)[k];
        if (expert < 0) continue;
        const int node = placement_.node_of[size(expert / each)];
        if (node == node_ || last[size(node)] == token) continue;
        last[size(node)] = token;
        std::memcpy(packed_.get() + (away(node) + send_lists_[size(node)].size()) * row_bytes_,
                    own_rows() + size(token) * row_bytes_, row_bytes_);
        send_lists_[size(node)].push_back(token);
      }
    }
    std::vector<int> send_at(size(nodes_)), recv_at(size(nodes_));
    for (int node = 0; node < nodes_; ++node) {
      to_node_[size(node)] = static_cast<int>(send_lists_[size(node)].size());
      if (node == node_) continue;
      send_at[size(node)] = static_cast<int>(away(node));
      recv_at[size(node)] = static_cast<int>(away(node));
    }
    check_mpi(
        MPI_Alltoall(to_node_.data(), 1, MPI_INT, from_node_.data(), 1, MPI_INT, of_rail_.get()),
        "MPI_Alltoall");
    std::byte* into = bases_[size(local_)] + plot_.staged;
    if (locals_ == 1) {
      // All of it is this rank's: it lands where it is received.
      into = received_.get();
      find_offsets();
      std::copy_n(offset_.begin(), nodes_, recv_at.begin());
    }
    check_mpi(MPI_Alltoallv(packed_.get(), to_node_.data(), send_at.data(), row_type_.get(), into,
                            from_node_.data(), recv_at.data(), row_type_.get(), of_rail_.get()),
              "MPI_Alltoallv");
    if (locals_ == 1) return;
    for (int node = 0; node < nodes_; ++node) {
      if (node != node_) list_block(node, staged(local_, node), from_node_[size(node)]);
    }
  }

  /// Rows of each source, one after the other by rank.
  void find_offsets() {
    int at = 0;
    for (int source = 0; source < shape_.ranks; ++source) {
      offset_[size(source)] = at;
      offsets(local_)[source] = at;
      at += rows_from(source);
    }
    offset_.back() = at;
  }

  int rows_from(int source) const {
    const int block = placement_.node_of[size(source)];
    if (locals_ == 1 && block != node_) return from_node_[size(block)];
    return count(placement_.local_of[size(source)], block, local_);
  }

  void take_rows() {
    // Each begins with another, so that not all read from one.
    for (int step = 0; step < shape_.ranks; ++step) {
      const int source = (rank_ + step) % shape_.ranks;
      const int block = placement_.node_of[size(source)];
      if (locals_ == 1 && block != node_) continue;
      const int holder = placement_.local_of[size(source)];
      const std::byte* rows =
          block == node_ ? bases_[size(holder)] + plot_.tokens : staged(holder, block);
      const std::int32_t* which = list(holder, block, local_);
      std::byte* to = received_.get() + size(offset_[size(source)]) * row_bytes_;
      for (int i = 0; i < rows_from(source); ++i, to += row_bytes_)
        std::memcpy(to, rows + size(which[i]) * row_bytes_, row_bytes_);
    }
  }

  /// For the rows of a block that lies here, one after the other: where the node's ranks have their
  /// results.
  class Results {
   public:
    Results(const NormalExchange& exchange, int block)
        : exchange_(exchange), block_(block), next_(size(exchange.locals_)) {
      source_ = exchange.placement_.ranks_at[size(block)][size(exchange.local_)];
    }
    /// Adds those of row q, which is the one after the last.
    void of(int q, std::vector<const std::uint16_t*>& rows) {
      for (int local = 0; local < exchange_.locals_; ++local) {
        int& at = next_[size(local)];
        if (at >= exchange_.count(exchange_.local_, block_, local) ||
            exchange_.list(exchange_.local_, block_, local)[at] != q)
          continue;
        rows.push_back(exchange_.outputs(local) +
                       size(exchange_.offsets(local)[source_] + at) * exchange_.hidden_);
        ++at;
      }
    }

   private:
    const NormalExchange& exchange_;
    int block_, source_ = 0;
    std::vector<int> next_;
  };

  /// One row for each token that came from another node: the sum of this node's results.
  void back_across() {
    std::vector<int> send_at(size(nodes_)), recv_at(size(nodes_));
    const std::uint16_t* from = sums_.get();
    if (locals_ == 1) from = outputs(local_);
    std::vector<const std::uint16_t*> rows;
    for (int node = 0; node < nodes_; ++node) {
      if (node == node_) continue;
      recv_at[size(node)] = static_cast<int>(away(node));
      if (locals_ == 1) {
        send_at[size(node)] = offset_[size(node)];
        continue;
      }
      send_at[size(node)] = static_cast<int>(away(node));
      Results results(*this, node);
      for (int q = 0; q < from_node_[size(node)]; ++q) {
        rows.clear();
        results.of(q, rows);
        sum_rows(rows.data(), static_cast<int>(rows.size()), hidden_,
                 sums_.get() + (away(node) + size(q)) * hidden_);
      }
    }
    check_mpi(
        MPI_Alltoallv(from, from_node_.data(), send_at.data(), sum_type_.get(), sums_back_.get(),
                      to_node_.data(), recv_at.data(), sum_type_.get(), of_rail_.get()),
        "MPI_Alltoallv");
  }

  void sum_own() {
    Results results(*this, node_);
    std::vector<std::size_t> next(size(nodes_));
    std::vector<const std::uint16_t*> rows;
    for (int token = 0; token < shape_.tokens; ++token) {
      rows.clear();
      results.of(token, rows);
      for (int node = 0; node < nodes_; ++node) {
        const auto& sent = send_lists_[size(node)];
        std::size_t& at = next[size(node)];
        if (at >= sent.size() || sent[at] != token) continue;
        rows.push_back(sums_back_.get() + (away(node) + at) * hidden_);
        ++at;
      }
      sum_rows(rows.data(), static_cast<int>(rows.size()), hidden_,
               combined_.get() + size(token) * hidden_);
    }
  }

  const ExpertShape shape_;
  const Placement placement_;
  const int rank_, node_, local_, nodes_, locals_;
  const std::size_t row_bytes_, hidden_;
  const Plot plot_;
  Communicator of_node_, of_rail_;
  NodeMemory memory_;
  RowType row_type_, sum_type_;
  std::vector<std::byte*> bases_;  ///< by number in the node
  Routing routing_;
  std::vector<std::vector<int>> send_lists_;  ///< by node: tokens that go there
  std::vector<int> to_node_, from_node_;      ///< rows sent to and received from each node
  std::vector<int> offset_;                   ///< by source: its first received row; the end last
  std::unique_ptr<std::byte[]> received_, packed_;
  std::unique_ptr<std::uint16_t[]> combined_, sums_, sums_back_;
};

}  // namespace

std::unique_ptr<ExpertExchange> make_normal_exchange(const ExpertPlan& plan,
                                                     const Placement& placement, int rank) {
  const Placement used = for_path(plan, placement);
  for (const auto& ranks : used.ranks_at) {
    if (ranks.size() != used.ranks_at.front().size())
      throw Unsupported(fmt::format(
          "--path hierarchical needs as many ranks on every node: {} and {}; --path alltoallv "
          "does not",
          used.ranks_at.front().size(), ranks.size()));
  }
  return std::make_unique<NormalExchange>(plan, used, rank);
}

}  // namespace muster::measure
