#include "engine/comm/checked.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include <fmt/format.h>

#include "engine/comm/watched.h"

namespace muster::comm {
namespace {

void require(bool condition, const std::string& message) {
  if (!condition) throw Error(message);
}

std::string type_name(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return "float32";
    case c10::ScalarType::BFloat16:
      return "bfloat16";
    case c10::ScalarType::Double:
      return "float64";
    case c10::ScalarType::Long:
      return "int64";
    case c10::ScalarType::Int:
      return "int32";
    case c10::ScalarType::Byte:
      return "uint8";
    default:
      throw Error(std::string("tensors of type ") + c10::toString(type) + " can't travel");
  }
}

std::int64_t bytes_of(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.numel() * static_cast<std::int64_t>(tensor.element_size()) : 0;
}

std::string describe(const char* name, std::uint64_t number, const torch::Tensor& tensor) {
  return fmt::format("{} #{} of {} {}", name, number, tensor.numel(),
                     type_name(tensor.scalar_type()));
}

}  // namespace

template <typename Start>
Handle CheckedCommunicator::watched(Operation operation, Start&& start) {
  if (!options_.observer || !options_.observer->looks()) return start(std::move(operation));
  Observer::Seen seen{operation.name.substr(0, operation.name.find(' ')),
                      options_.group,
                      operation.number,
                      operation.bytes,
                      std::chrono::steady_clock::now(),
                      {}};
  Handle work = start(std::move(operation));
  if (!work) return work;
  return std::make_shared<WatchedWork>(options_.observer, std::move(seen), std::move(work));
}

void CheckedCommunicator::check(const char* operation, const torch::Tensor& tensor) const {
  require(tensor.defined(), fmt::format("{}: a tensor is undefined", operation));
  require(tensor.is_contiguous(), fmt::format("{}: the tensor is not contiguous", operation));
  require(tensor.device().type() == device_.type(),
          fmt::format("{}: the tensor is on {}, this transport needs {}", operation,
                      tensor.device().str(), device_.str()));
  type_name(tensor.scalar_type());
}

void CheckedCommunicator::check_reduction(const char* operation, const torch::Tensor& out,
                                          const torch::Tensor& in, const Reduction& how) const {
  check(operation, out);
  check(operation, in);
  const bool widens = in.scalar_type() == torch::kBFloat16 && out.scalar_type() == torch::kFloat32;
  require(widens || in.scalar_type() == out.scalar_type(),
          fmt::format("{}: {} can't be reduced into {}", operation, type_name(in.scalar_type()),
                      type_name(out.scalar_type())));
  require(how.scale == 1.0 || in.is_floating_point(),
          fmt::format("{}: integers are not scaled", operation));
}

Operation CheckedCommunicator::collective(const char* name, const torch::Tensor& tensor) {
  ++operations_;
  const auto tag = static_cast<int>(operations_ % kCollectiveTags);
  return {tensor.defined() ? describe(name, operations_, tensor)
                           : fmt::format("{} #{}", name, operations_),
          operations_, tag, bytes_of(tensor)};
}

Operation CheckedCommunicator::message(const char* name, const torch::Tensor& tensor, int peer,
                                       int tag) const {
  return {fmt::format(fmt::runtime(name), tensor.numel(), type_name(tensor.scalar_type()), peer), 0,
          kCollectiveTags + tag, bytes_of(tensor)};
}

Handle CheckedCommunicator::all_reduce(torch::Tensor data, Reduction how) {
  if (!options_.deterministic && how.scale == 1.0 && !how.accumulate) {
    check_reduction("all_reduce", data, data, how);
    if (Handle handle = watched(collective("all_reduce", data), [&](Operation operation) {
          return start_native_all_reduce(std::move(operation), data, how.op);
        }))
      return handle;
  }
  return all_reduce(data, data, how);
}

Handle CheckedCommunicator::all_reduce(torch::Tensor out, torch::Tensor in, Reduction how) {
  check_reduction("all_reduce", out, in, how);
  require(!how.accumulate, "all_reduce does not accumulate: what the ranks hold may differ");
  require(out.numel() == in.numel(),
          fmt::format("all_reduce: out has {} elements, in has {}", out.numel(), in.numel()));
  return watched(collective("all_reduce", in), [&](Operation operation) {
    return start_all_reduce(std::move(operation), out, in, how);
  });
}

Handle CheckedCommunicator::reduce_scatter(torch::Tensor out, torch::Tensor in, Reduction how) {
  check_reduction("reduce_scatter", out, in, how);
  require(in.numel() == out.numel() * place_.size,
          fmt::format("reduce_scatter: in has {} elements, out {}: in must be {} times as long",
                      in.numel(), out.numel(), place_.size));
  return watched(collective("reduce_scatter", in), [&](Operation operation) {
    return start_reduce_scatter(std::move(operation), out, in, how);
  });
}

Handle CheckedCommunicator::all_gather(torch::Tensor out, torch::Tensor in) {
  check("all_gather", out);
  check("all_gather", in);
  require(out.scalar_type() == in.scalar_type(), "all_gather: the types of in and out differ");
  require(out.numel() == in.numel() * place_.size,
          fmt::format("all_gather: out has {} elements, in {}: out must be {} times as long",
                      out.numel(), in.numel(), place_.size));
  return watched(collective("all_gather", out), [&](Operation operation) {
    return start_all_gather(std::move(operation), out, in);
  });
}

Handle CheckedCommunicator::all_to_all(torch::Tensor out, torch::Tensor in,
                                       std::vector<std::int64_t> out_counts,
                                       std::vector<std::int64_t> in_counts) {
  check("all_to_all", out);
  check("all_to_all", in);
  require(out.scalar_type() == in.scalar_type(), "all_to_all: the types of in and out differ");
  const auto complete = [&](std::vector<std::int64_t>& counts, const torch::Tensor& tensor,
                            const char* which) {
    if (counts.empty()) {
      require(tensor.numel() % place_.size == 0,
              fmt::format("all_to_all: {} of {} elements can't be cut into {} equal parts", which,
                          tensor.numel(), place_.size));
      counts.assign(static_cast<std::size_t>(place_.size), tensor.numel() / place_.size);
    }
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) {
      require(count >= 0, fmt::format("all_to_all: a count of {} is negative", which));
      sum += count;
    }
    require(counts.size() == static_cast<std::size_t>(place_.size) && sum == tensor.numel(),
            fmt::format("all_to_all: the counts of {} do not add up to its {} elements", which,
                        tensor.numel()));
  };
  complete(out_counts, out, "out");
  complete(in_counts, in, "in");
  const auto own = static_cast<std::size_t>(place_.rank);
  require(out_counts[own] == in_counts[own],
          "all_to_all: what this rank sends itself is not what it expects");
  return watched(collective("all_to_all", in), [&](Operation operation) {
    return start_all_to_all(std::move(operation), out, in, out_counts, in_counts);
  });
}

Handle CheckedCommunicator::broadcast(torch::Tensor data, int root) {
  check("broadcast", data);
  require(root >= 0 && root < place_.size, fmt::format("broadcast: there is no rank {}", root));
  return watched(collective("broadcast", data), [&](Operation operation) {
    return start_broadcast(std::move(operation), data, root);
  });
}

Handle CheckedCommunicator::send(torch::Tensor data, int peer, int tag) {
  check("send", data);
  require(peer >= 0 && peer < place_.size && peer != place_.rank,
          fmt::format("send: rank {} is no peer", peer));
  require(tag >= 0 && tag < kCollectiveTags,
          fmt::format("send: tag {} is not in 0..{}", tag, kCollectiveTags - 1));
  return watched(message("send of {} {} to rank {}", data, peer, tag),
                 [&](Operation operation) { return start_send(std::move(operation), data, peer); });
}

Handle CheckedCommunicator::recv(torch::Tensor data, int peer, int tag) {
  check("recv", data);
  require(peer >= 0 && peer < place_.size && peer != place_.rank,
          fmt::format("recv: rank {} is no peer", peer));
  require(tag >= 0 && tag < kCollectiveTags,
          fmt::format("recv: tag {} is not in 0..{}", tag, kCollectiveTags - 1));
  return watched(message("recv of {} {} from rank {}", data, peer, tag),
                 [&](Operation operation) { return start_recv(std::move(operation), data, peer); });
}

Handle CheckedCommunicator::barrier() {
  return watched(collective("barrier", {}),
                 [&](Operation operation) { return start_barrier(std::move(operation)); });
}

double CheckedCommunicator::take_wait_seconds() {
  const double seconds = wait_seconds_;
  wait_seconds_ = 0;
  return seconds;
}

Handle CheckedCommunicator::start_native_all_reduce(Operation, const torch::Tensor&, Op) {
  return nullptr;
}

void CheckedCommunicator::exchange_members() {
  constexpr std::int64_t kHost = 256;
  constexpr std::int64_t kRecord = kHost + static_cast<std::int64_t>(sizeof(std::int32_t));
  const Member self = this_process(place_.rank);
  torch::Tensor own = torch::zeros({kRecord}, torch::kUInt8);
  auto* record = own.data_ptr<std::uint8_t>();
  std::memcpy(record, self.host.data(), std::min<std::size_t>(self.host.size(), kHost - 1));
  const auto pid = static_cast<std::int32_t>(self.pid);
  std::memcpy(record + kHost, &pid, sizeof(pid));
  torch::Tensor all = torch::empty({place_.size * kRecord},
                                   torch::TensorOptions().dtype(torch::kUInt8).device(device_));
  all_gather(all, own.to(device_))->wait();
  all = all.cpu();
  members_.clear();
  for (int rank = 0; rank < place_.size; ++rank) {
    const auto* theirs = all.data_ptr<std::uint8_t>() + rank * kRecord;
    std::int32_t their_pid = 0;
    std::memcpy(&their_pid, theirs + kHost, sizeof(their_pid));
    members_.push_back({rank, reinterpret_cast<const char*>(theirs), their_pid});
  }
}

std::vector<Member> CheckedCommunicator::members_of_colour(int colour) {
  const auto integers = torch::TensorOptions().dtype(torch::kInt32).device(device_);
  torch::Tensor colours = torch::empty({place_.size}, integers);
  all_gather(colours, torch::full({1}, colour, integers))->wait();
  colours = colours.cpu();
  std::vector<Member> chosen;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (colours.data_ptr<std::int32_t>()[rank] == colour)
      chosen.push_back(members_[static_cast<std::size_t>(rank)]);
  }
  return chosen;
}

Options CheckedCommunicator::options_of_split(int colour) const {
  Options options = options_;
  options.group += fmt::format("/{}.{}", operations_, colour);
  return options;
}

Timeout CheckedCommunicator::timeout(const Operation& operation,
                                     const std::vector<bool>& heard) const {
  std::vector<Member> waiting;
  std::vector<Member> missing;
  for (int rank = 0; rank < place_.size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const Member member = index < members_.size() ? members_[index] : Member{rank, "", 0};
    (rank == place_.rank || heard[index] ? waiting : missing).push_back(member);
  }
  return {operation.name, std::move(waiting), std::move(missing), options_.time_limit};
}

Place renumber(std::vector<Member>& members, int rank) {
  Place place{0, static_cast<int>(members.size())};
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].rank == rank) place.rank = static_cast<int>(i);
    members[i].rank = static_cast<int>(i);
  }
  return place;
}

std::chrono::milliseconds notice_period(std::chrono::milliseconds limit) {
  return std::clamp(limit / 4, std::chrono::milliseconds(1), std::chrono::milliseconds(1000));
}

std::chrono::milliseconds notice_grace(std::chrono::milliseconds limit) {
  return notice_period(limit) * 5 / 4 + std::chrono::milliseconds(20);
}

Member this_process(int rank) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  return {rank, host.data(), static_cast<int>(getpid())};
}

}  // namespace muster::comm
