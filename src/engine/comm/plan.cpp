#include "engine/comm/plan.h"

#include <algorithm>
#include <cstring>

#include "engine/comm/reduce.h"

namespace muster::comm {
namespace {

std::byte* bytes_of(const torch::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

std::int64_t size_of(const torch::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
}

void add(std::vector<Transfer>& transfers, Transfer::Kind kind, std::byte* data, std::int64_t bytes,
         int peer) {
  for (std::int64_t done = 0; done < bytes; done += kLargestTransfer) {
    transfers.push_back({kind, data + done, std::min(kLargestTransfer, bytes - done), peer});
  }
}

// The peers of a rank, each rank starting with its neighbour, so that not all talk to rank 0 first.
template <typename Function>
void for_each_peer(Place place, Function function) {
  for (int step = 1; step < place.size; ++step) {
    function((place.rank + step) % place.size, (place.rank - step + place.size) % place.size);
  }
}

// Elements [begin, end) of a tensor that a rank reduces.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count() const { return end - begin; }
};

constexpr std::int64_t kScratchBytes = 16 << 20;  // of one reduction, all peers together
constexpr std::int64_t kLargestPiece =
    1 << 20;  // of one peer: stays in the second-level cache until it is summed
constexpr std::int64_t kSmallestPiece = 16 << 10;
constexpr std::int64_t kWindow = 3;

// Pieces of all ranks' parts travel to the ranks that own them and are summed as they come, in rank
// order.
void add_reduction(Plan& plan, Place place, const torch::Tensor& out, std::int64_t out_begin,
                   const torch::Tensor& in, const std::vector<Range>& parts, const Reduction& how) {
  const auto width = static_cast<std::int64_t>(in.element_size());
  const auto out_width = static_cast<std::int64_t>(out.element_size());
  const int peers = place.size - 1;
  std::int64_t piece = kLargestPiece;
  if (peers > 0)
    piece = std::clamp(kScratchBytes / (kWindow * peers), kSmallestPiece, kLargestPiece);
  piece /= width;
  std::int64_t longest = 0;
  for (const Range& part : parts) longest = std::max(longest, part.count());
  piece = std::min(piece, std::max<std::int64_t>(longest, 1));
  plan.window = kWindow;
  const std::int64_t pieces = (longest + piece - 1) / piece;
  std::byte* scratch = nullptr;
  if (peers > 0 && pieces > 0) {
    const std::int64_t slots = std::min<std::int64_t>(kWindow, pieces);
    plan.tensors.push_back(torch::empty({slots * peers * piece * width}, torch::kUInt8));
    scratch = bytes_of(plan.tensors.back());
  }
  const auto piece_of = [&](const Range& part, std::int64_t index) {
    const std::int64_t begin = std::min(part.begin + index * piece, part.end);
    return Range{begin, std::min(begin + piece, part.end)};
  };
  for (std::int64_t index = 0; index < pieces; ++index) {
    Stage stage;
    const Range own = piece_of(parts[static_cast<std::size_t>(place.rank)], index);
    std::vector<const void*> sources(static_cast<std::size_t>(place.size));
    sources[static_cast<std::size_t>(place.rank)] = bytes_of(in) + own.begin * width;
    std::int64_t slot = (index % kWindow) * peers;
    for_each_peer(place, [&](int to, int from) {
      std::byte* const arrived = scratch + slot++ * piece * width;
      add(stage.transfers, Transfer::Kind::kReceive, arrived, own.count() * width, from);
      sources[static_cast<std::size_t>(from)] = arrived;
      const Range theirs = piece_of(parts[static_cast<std::size_t>(to)], index);
      add(stage.transfers, Transfer::Kind::kSend, bytes_of(in) + theirs.begin * width,
          theirs.count() * width, to);
    });
    if (own.count() > 0) {
      std::byte* const target =
          bytes_of(out) +
          (out_begin + own.begin - parts[static_cast<std::size_t>(place.rank)].begin) * out_width;
      stage.finish = [target, out_type = out.scalar_type(), sources = std::move(sources),
                      type = in.scalar_type(), count = own.count(),
                      how] { reduce(target, out_type, sources, type, count, how); };
    }
    plan.stages.push_back(std::move(stage));
  }
}

// Each rank's range of `data` goes to all others.
void add_gather(Plan& plan, Place place, const torch::Tensor& data,
                const std::vector<Range>& parts) {
  const auto width = static_cast<std::int64_t>(data.element_size());
  Stage stage;
  stage.after_earlier = true;
  const Range own = parts[static_cast<std::size_t>(place.rank)];
  for_each_peer(place, [&](int to, int from) {
    const Range theirs = parts[static_cast<std::size_t>(from)];
    add(stage.transfers, Transfer::Kind::kReceive, bytes_of(data) + theirs.begin * width,
        theirs.count() * width, from);
    add(stage.transfers, Transfer::Kind::kSend, bytes_of(data) + own.begin * width,
        own.count() * width, to);
  });
  plan.stages.push_back(std::move(stage));
}

std::vector<Range> equal_parts(int size, std::int64_t each) {
  std::vector<Range> parts;
  for (int rank = 0; rank < size; ++rank) parts.push_back({rank * each, (rank + 1) * each});
  return parts;
}

// Nearly equal, on cache lines.
std::vector<Range> split_parts(int size, std::int64_t count) {
  constexpr std::int64_t kAlign = 64;
  const std::int64_t each = ((count + size - 1) / size + kAlign - 1) / kAlign * kAlign;
  std::vector<Range> parts;
  for (int rank = 0; rank < size; ++rank)
    parts.push_back({std::min(rank * each, count), std::min((rank + 1) * each, count)});
  return parts;
}

}  // namespace

Plan plan_all_gather(Place place, const torch::Tensor& out, const torch::Tensor& in) {
  Plan plan;
  plan.tensors = {out, in};
  std::byte* const own = bytes_of(out) + place.rank * size_of(in);
  if (size_of(in) > 0 && own != bytes_of(in))
    std::memmove(own, bytes_of(in), static_cast<std::size_t>(size_of(in)));
  add_gather(plan, place, out, equal_parts(place.size, in.numel()));
  return plan;
}

Plan plan_reduce_scatter(Place place, const torch::Tensor& out, const torch::Tensor& in,
                         const Reduction& how) {
  Plan plan;
  plan.tensors = {out, in};
  add_reduction(plan, place, out, 0, in, equal_parts(place.size, out.numel()), how);
  return plan;
}

Plan plan_all_reduce(Place place, const torch::Tensor& out, const torch::Tensor& in,
                     const Reduction& how) {
  Plan plan;
  plan.tensors = {out, in};
  const std::vector<Range> parts = split_parts(place.size, in.numel());
  add_reduction(plan, place, out, parts[static_cast<std::size_t>(place.rank)].begin, in, parts,
                how);
  add_gather(plan, place, out, parts);
  return plan;
}

Plan plan_all_to_all(Place place, const torch::Tensor& out, const torch::Tensor& in,
                     const std::vector<std::int64_t>& out_counts,
                     const std::vector<std::int64_t>& in_counts) {
  Plan plan;
  plan.tensors = {out, in};
  const auto width = static_cast<std::int64_t>(in.element_size());
  const auto offsets = [](const std::vector<std::int64_t>& counts) {
    std::vector<std::int64_t> begins(counts.size() + 1, 0);
    for (std::size_t i = 0; i < counts.size(); ++i) begins[i + 1] = begins[i] + counts[i];
    return begins;
  };
  const auto out_begins = offsets(out_counts);
  const auto in_begins = offsets(in_counts);
  const auto own = static_cast<std::size_t>(place.rank);
  if (in_counts[own] > 0) {
    std::memmove(bytes_of(out) + out_begins[own] * width, bytes_of(in) + in_begins[own] * width,
                 static_cast<std::size_t>(in_counts[own] * width));
  }
  Stage stage;
  for_each_peer(place, [&](int to, int from) {
    const auto source = static_cast<std::size_t>(from);
    const auto target = static_cast<std::size_t>(to);
    add(stage.transfers, Transfer::Kind::kReceive, bytes_of(out) + out_begins[source] * width,
        out_counts[source] * width, from);
    add(stage.transfers, Transfer::Kind::kSend, bytes_of(in) + in_begins[target] * width,
        in_counts[target] * width, to);
  });
  plan.stages.push_back(std::move(stage));
  return plan;
}

Plan plan_broadcast(Place place, const torch::Tensor& data, int root) {
  Plan plan;
  plan.tensors = {data};
  const int place_in_tree = (place.rank - root + place.size) % place.size;
  const auto rank_of = [&](int position) { return (position + root) % place.size; };
  int reach = 1;
  for (; reach < place.size; reach *= 2) {
    if ((place_in_tree & reach) == 0) continue;
    Stage stage;
    add(stage.transfers, Transfer::Kind::kReceive, bytes_of(data), size_of(data),
        rank_of(place_in_tree - reach));
    plan.stages.push_back(std::move(stage));
    break;
  }
  Stage stage;
  stage.after_earlier = true;
  for (reach /= 2; reach > 0; reach /= 2) {
    if (place_in_tree + reach < place.size) {
      add(stage.transfers, Transfer::Kind::kSend, bytes_of(data), size_of(data),
          rank_of(place_in_tree + reach));
    }
  }
  plan.stages.push_back(std::move(stage));
  return plan;
}

Plan plan_barrier(Place place) {
  Plan plan;
  const torch::Tensor token = torch::zeros({2}, torch::kUInt8);
  plan.tensors = {token};
  for (int distance = 1; distance < place.size; distance *= 2) {
    Stage stage;
    stage.after_earlier = true;
    add(stage.transfers, Transfer::Kind::kReceive, bytes_of(token) + 1, 1,
        (place.rank - distance + place.size) % place.size);
    add(stage.transfers, Transfer::Kind::kSend, bytes_of(token), 1,
        (place.rank + distance) % place.size);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

Plan plan_send(const torch::Tensor& data, int peer) {
  Plan plan;
  plan.tensors = {data};
  plan.stages.resize(1);
  add(plan.stages[0].transfers, Transfer::Kind::kSend, bytes_of(data), size_of(data), peer);
  return plan;
}

Plan plan_receive(const torch::Tensor& data, int peer) {
  Plan plan;
  plan.tensors = {data};
  plan.stages.resize(1);
  add(plan.stages[0].transfers, Transfer::Kind::kReceive, bytes_of(data), size_of(data), peer);
  return plan;
}

}  // namespace muster::comm
