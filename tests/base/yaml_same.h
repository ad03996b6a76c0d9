// Whether two documents are the same, with the places of every key and value.
#pragma once

#include <algorithm>

#include "base/document.h"

namespace muster::testing {

inline bool is_same(const Node& a, const Node& b) {
  return a.kind() == b.kind() && a.where() == b.where() && a.text() == b.text() &&
         a.quoted() == b.quoted() && a.tag() == b.tag() &&
         std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                    is_same) &&
         std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                    [](const Node::Entry& left, const Node::Entry& right) {
                      return left.key == right.key && left.where == right.where &&
                             is_same(left.value, right.value);
                    });
}

inline bool is_same(const std::vector<Node>& a, const std::vector<Node>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Node& left, const Node& right) { return is_same(left, right); });
}

}  // namespace muster::testing
