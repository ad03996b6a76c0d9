#include "catalog/merge.h"

#include <algorithm>
#include <vector>

namespace muster::catalog {
namespace {

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

}  // namespace

Node merge(const Node& lower, const Node& upper) {
  if (!lower.is_mapping() || !upper.is_mapping()) return upper;
  std::vector<Node::Entry> entries;
  for (const Node::Entry& entry : lower.entries()) {
    const Node* over = upper.find(entry.key);
    if (!over) {
      entries.push_back(entry);
    } else if (!over->is_null()) {
      entries.push_back({entry.key, entry.where, merge(entry.value, *over)});
    }
  }
  for (const Node::Entry& entry : upper.entries()) {
    if (!lower.find(entry.key) && !entry.value.is_null()) entries.push_back(entry);
  }
  return Node::mapping(std::move(entries), lower.where());
}

void set_origins(const Node& layer, Origin::Kind kind, const std::string& path, Origins& origins) {
  if (layer.is_mapping()) {
    for (const Node::Entry& entry : layer.entries())
      set_origins(entry.value, kind, below(path, entry.key), origins);
  } else if (!layer.is_null()) {
    origins[path] = {kind, layer.where()};
  }
}

void forget_origins(const Node& layer, const std::string& path, Origins& origins) {
  if (layer.is_mapping()) {
    origins.erase(path);
    for (const Node::Entry& entry : layer.entries())
      forget_origins(entry.value, below(path, entry.key), origins);
    return;
  }
  const std::string prefix = path + ".";
  for (auto it = origins.begin(); it != origins.end();) {
    const bool gone = it->first == path || it->first.compare(0, prefix.size(), prefix) == 0;
    it = gone ? origins.erase(it) : std::next(it);
  }
}

}  // namespace muster::catalog
