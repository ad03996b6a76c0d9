// Kubernetes objects as documents: a mapping that keeps the order in which keys are set, and the
// forms that Kubernetes asks of names, quantities and commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"

namespace muster::launch {

Node kube_text(std::string text);
Node kube_integer(std::int64_t value);
Node kube_boolean(bool value);
Node kube_texts(const std::vector<std::string>& texts);
Node kube_list(std::vector<Node> items);

/// Keys in the order in which they are set.
class KubeMap {
 public:
  KubeMap& set(std::string key, Node value);
  KubeMap& set(std::string key, const std::string& text);
  KubeMap& set(std::string key, const char* text) { return set(std::move(key), std::string(text)); }
  KubeMap& set(std::string key, int value) { return set(std::move(key), kube_integer(value)); }
  KubeMap& set(std::string key, std::int64_t value) {
    return set(std::move(key), kube_integer(value));
  }
  KubeMap& set(std::string key, bool value) { return set(std::move(key), kube_boolean(value)); }
  KubeMap& set(std::string key, KubeMap value) { return set(std::move(key), value.take()); }
  /// Leaves the key out where the text, list or mapping is empty.
  KubeMap& maybe(std::string key, Node value);
  KubeMap& maybe(std::string key, const std::string& text);
  KubeMap& maybe(std::string key, KubeMap value) { return maybe(std::move(key), value.take()); }

  bool empty() const { return entries_.empty(); }
  Node take() { return Node::mapping(std::move(entries_), {}); }

 private:
  std::vector<Node::Entry> entries_;
};

/// apiVersion, kind, metadata, spec.
Node kube_object(const std::string& api_version, const std::string& kind, KubeMap metadata,
                 KubeMap spec);

/// Documents as one text, parted by `---`.
std::string kube_documents(const std::vector<Node>& objects);

/// Bytes in the largest binary unit that gives a whole number: 64Gi, 5120Mi, 1000.
std::string kube_bytes(std::int64_t bytes);

/// Cores: 8, 1500m. Rounded up to a thousandth.
std::string kube_cores(double cores);

/// A text of which Kubernetes, which puts variables in the place of $(NAME) and $ in the place of
/// $$ in commands and environments, makes the text given.
std::string kube_literal(std::string_view text);

/// A text as a label's value, which has at most 63 characters: its end, which tells runs apart.
std::string kube_label(std::string_view text);

/// Whether the text is a DNS-1123 label: 1 to 63 lower-case letters, digits and inner dashes.
bool is_dns_label(std::string_view text);

}  // namespace muster::launch
