// The header of a safetensors file: a pure function from bytes to a checked table.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/document.h"
#include "engine/model/safetensors.h"

namespace muster::model {
namespace {

constexpr std::uint64_t kLengthField = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library

constexpr std::array<std::pair<std::string_view, std::size_t>, 14> kDtypes = {{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"U16", 2},
    {"I16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"U32", 4},
    {"I32", 4},
    {"F32", 4},
    {"I64", 8},
    {"F64", 8},
}};

Finding fault(Position where, std::string message, std::string hint = {}) {
  return error_at(where, "safetensors", std::move(message), std::move(hint));
}

std::optional<std::uint64_t> as_size(const Node& node) {
  const auto number = node.quoted() ? std::nullopt : node.as_int();
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

/// Product, or nothing when it does not fit.
std::optional<std::uint64_t> times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

Result<TensorEntry> read_entry(const Node::Entry& item) {
  const std::string& name = item.key;
  const Node& node = item.value;
  if (!node.is_mapping())
    return Failure(fault(node.where(),
                         fmt::format("tensor '{}' is described by a {}", name, node.type_name()),
                         "an object with dtype, shape and data_offsets"));
  for (const auto& field : node.entries())
    if (field.key != "dtype" && field.key != "shape" && field.key != "data_offsets")
      return Failure(fault(field.where,
                           fmt::format("tensor '{}' has an unknown field '{}'", name, field.key),
                           "dtype, shape and data_offsets only"));
  TensorEntry entry;

  const Node* dtype = node.find("dtype");
  if (dtype == nullptr || !dtype->quoted() || element_size(dtype->text()) == 0)
    return Failure(fault(dtype != nullptr ? dtype->where() : node.where(),
                         fmt::format("tensor '{}' has no known dtype", name), "F32, BF16, F16, …"));
  entry.dtype = dtype->text();

  const Node* shape = node.find("shape");
  if (shape == nullptr || !shape->is_sequence())
    return Failure(fault(shape != nullptr ? shape->where() : node.where(),
                         fmt::format("tensor '{}' has no shape", name), "a list of sizes"));
  std::uint64_t bytes = element_size(entry.dtype);
  for (const Node& item_size : shape->items()) {
    const auto size = as_size(item_size);
    const auto product = size ? times(bytes, *size) : std::nullopt;
    if (!product || *product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return Failure(fault(item_size.where(),
                           fmt::format("tensor '{}' has an impossible shape", name),
                           "a list of sizes whose product fits the file"));
    bytes = *product;
    entry.shape.push_back(static_cast<std::int64_t>(*size));
  }

  const Node* offsets = node.find("data_offsets");
  const bool pair = offsets != nullptr && offsets->is_sequence() && offsets->items().size() == 2;
  const auto begin = pair ? as_size(offsets->items()[0]) : std::nullopt;
  const auto end = pair ? as_size(offsets->items()[1]) : std::nullopt;
  if (!begin || !end || *begin > *end)
    return Failure(fault(offsets != nullptr ? offsets->where() : node.where(),
                         fmt::format("tensor '{}' has no usable data_offsets", name),
                         "[begin, end] in bytes"));
  entry.begin = *begin;
  entry.end = *end;
  if (entry.end - entry.begin != bytes)
    return Failure(fault(offsets->where(),
                         fmt::format("tensor '{}' has {} bytes, but its shape and dtype need {}",
                                     name, entry.end - entry.begin, bytes)));
  return entry;
}

/// Ranges must follow each other without hole or overlap and end with the file.
std::optional<Finding> check_layout(const std::map<std::string, TensorEntry>& tensors,
                                    std::uint64_t data_bytes, const std::string& file) {
  std::vector<std::pair<const std::string*, const TensorEntry*>> order;
  order.reserve(tensors.size());
  for (const auto& [name, entry] : tensors) order.emplace_back(&name, &entry);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->begin, a.second->end, *a.first) <
           std::tie(b.second->begin, b.second->end, *b.first);
  });
  std::uint64_t reached = 0;
  for (const auto& [name, entry] : order) {
    if (entry->end > data_bytes)
      return fault({file},
                   fmt::format("tensor '{}' ends at byte {} of the data, but the file holds {}",
                               *name, entry->end, data_bytes),
                   "the file is truncated or its header is damaged");
    if (entry->begin != reached)
      return fault(
          {file},
          fmt::format("tensor '{}' starts at byte {} of the data, where {} is expected ({})", *name,
                      entry->begin, reached, entry->begin < reached ? "overlap" : "hole"));
    reached = entry->end;
  }
  if (reached != data_bytes)
    return fault({file},
                 fmt::format("the tensors end at byte {} of the data, but the file holds {}",
                             reached, data_bytes),
                 "the file has bytes that belong to no tensor");
  return std::nullopt;
}

}  // namespace

std::size_t element_size(std::string_view dtype) {
  for (const auto& [name, size] : kDtypes)
    if (name == dtype) return size;
  return 0;
}

Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_size,
                                            const std::string& file) {
  if (file_size < kLengthField || head.size() < kLengthField)
    return Failure(fault({file},
                         fmt::format("{} bytes are too few for a safetensors file", file_size),
                         "the file is truncated or something else"));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthField; ++i)
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(head[i])) << (8 * i);
  if (length > kMaxHeader)
    return Failure(fault(
        {file}, fmt::format("the header claims {} bytes; the format allows {}", length, kMaxHeader),
        "the file is damaged or not a safetensors file"));
  if (length > file_size - kLengthField || length > head.size() - kLengthField)
    return Failure(fault({file},
                         fmt::format("the header claims {} bytes, but only {} follow", length,
                                     file_size - kLengthField),
                         "the file is truncated"));
  const std::string_view text = head.substr(kLengthField, length);
  if (text.empty() || text.front() != '{')
    return Failure(fault({file}, "the header does not start with '{'",
                         "the file is damaged or not a safetensors file"));
  auto document = parse_json(text, file);
  if (!document) return document.error();

  SafetensorsHeader header;
  header.data_start = kLengthField + length;
  for (const auto& item : document->entries()) {
    if (item.key == "__metadata__") {
      if (!item.value.is_mapping())
        return Failure(fault(item.value.where(), "__metadata__ is not an object of texts"));
      for (const auto& entry : item.value.entries()) {
        if (!entry.value.is_scalar() || !entry.value.quoted())
          return Failure(fault(entry.value.where(),
                               fmt::format("__metadata__ '{}' is not a text", entry.key)));
        header.metadata[entry.key] = entry.value.text();
      }
      continue;
    }
    auto entry = read_entry(item);
    if (!entry) return entry.error();
    header.tensors[item.key] = std::move(entry).value();
  }
  if (auto wrong = check_layout(header.tensors, file_size - header.data_start, file))
    return Failure(std::move(*wrong));
  return header;
}

}  // namespace muster::model
