#include "reorg/tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {

std::string ObjectId::hex() const {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<std::vector<File>> read_tree_object(std::string_view data) {
  std::vector<File> entries;
  while (!data.empty()) {
    File entry;
    entry.mode = 0;
    std::size_t at = 0;
    for (; at < data.size() && data[at] != ' '; ++at) {
      constexpr std::size_t kMostDigits = 6;
      if (at == kMostDigits || data[at] < '0' || data[at] > '7') return std::nullopt;
      entry.mode = entry.mode * 8 + static_cast<std::uint32_t>(data[at] - '0');
    }
    const std::size_t end = data.find('\0', at);
    if (at == 0 || end == std::string_view::npos || end + 1 + entry.id.bytes.size() > data.size())
      return std::nullopt;
    entry.path = data.substr(at + 1, end - at - 1);
    if (entry.path.empty() || entry.path.find('/') != std::string::npos) return std::nullopt;
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(end) + 1, entry.id.bytes.size(),
                entry.id.bytes.begin());
    entries.push_back(std::move(entry));
    data.remove_prefix(end + 1 + entries.back().id.bytes.size());
  }
  return entries;
}

bool path_less(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const int left = x == '/' ? -1 : static_cast<unsigned char>(x);
    const int right = y == '/' ? -1 : static_cast<unsigned char>(y);
    return left < right;
  });
}

Tree::Tree(std::vector<File> files) : files_(std::move(files)) {
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return path_less(a.path, b.path); });
  entries_.reserve(files_.size() * 2);
  directories_.push_back({"", 0, files_.size()});
  entries_.emplace(std::string_view(), Entry{true, 0});
  std::vector<std::size_t> open = {0};  // the directories around the file at hand
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string_view path = files_[i].path;
    while (!is_under(path, directories_[open.back()].path)) {
      directories_[open.back()].last = i;
      open.pop_back();
    }
    std::size_t from = directories_[open.back()].path.size();
    if (from > 0) ++from;
    for (std::size_t slash = path.find('/', from); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
      open.push_back(directories_.size());
      entries_.emplace(path.substr(0, slash), Entry{true, directories_.size()});
      directories_.push_back({path.substr(0, slash), i, files_.size()});
    }
    entries_.emplace(path, Entry{false, i});
  }
}

std::optional<Entry> Tree::find(std::string_view path) const {
  const auto found = entries_.find(path);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

const File* Tree::file(std::string_view path) const {
  const auto entry = find(path);
  return entry && !entry->directory ? &files_[entry->index] : nullptr;
}

}  // namespace muster::reorg
