#include "launch/kubernetes_build.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "base/schema.h"

namespace muster::launch {

Node kube_text(std::string text) {
  return Node::scalar(std::move(text), true, {});
}

Node kube_integer(std::int64_t value) {
  return Node::scalar(std::to_string(value), false, {});
}

Node kube_boolean(bool value) {
  return Node::scalar(value ? "true" : "false", false, {});
}

Node kube_list(std::vector<Node> items) {
  return Node::sequence(std::move(items), {});
}

Node kube_texts(const std::vector<std::string>& texts) {
  std::vector<Node> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) items.push_back(kube_text(text));
  return kube_list(std::move(items));
}

KubeMap& KubeMap::set(std::string key, Node value) {
  entries_.push_back({std::move(key), {}, std::move(value)});
  return *this;
}

KubeMap& KubeMap::set(std::string key, const std::string& text) {
  return set(std::move(key), kube_text(text));
}

KubeMap& KubeMap::maybe(std::string key, Node value) {
  const bool nothing = value.is_null() || (value.is_sequence() && value.items().empty()) ||
                       (value.is_mapping() && value.entries().empty());
  return nothing ? *this : set(std::move(key), std::move(value));
}

KubeMap& KubeMap::maybe(std::string key, const std::string& text) {
  return text.empty() ? *this : set(std::move(key), text);
}

Node kube_object(const std::string& api_version, const std::string& kind, KubeMap metadata,
                 KubeMap spec) {
  return KubeMap()
      .set("apiVersion", api_version)
      .set("kind", kind)
      .set("metadata", std::move(metadata))
      .set("spec", std::move(spec))
      .take();
}

std::string kube_documents(const std::vector<Node>& objects) {
  std::string text;
  for (const Node& object : objects) {
    if (!text.empty()) text += "---\n";
    text += to_yaml(object);
  }
  return text;
}

std::string kube_bytes(std::int64_t bytes) {
  const char* unit = "";
  for (const char* larger : {"Ki", "Mi", "Gi"}) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + unit;
}

std::string kube_cores(double cores) {
  const auto thousandths = static_cast<std::int64_t>(std::ceil(cores * 1000 - 1e-6));
  return thousandths % 1000 == 0 ? std::to_string(thousandths / 1000)
                                 : fmt::format("{}m", thousandths);
}

std::string kube_literal(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    const bool read = i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(');
    if (text[i] == '$' && read) escaped += '$';
  }
  return escaped;
}

std::string kube_label(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  if (text.size() > kLongest) text.remove_prefix(text.size() - kLongest);
  const auto first =
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c); });
  text.remove_prefix(static_cast<std::size_t>(first - text.begin()));
  return std::string(text);
}

bool is_dns_label(std::string_view text) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), inner);
}

}  // namespace muster::launch
