#include "catalog/references.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/schema.h"

namespace muster::catalog {
namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_key_character(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

struct Reference {
  std::size_t begin = 0, end = 0;  ///< in the text, with "${" and "}"
  std::string key;
};

// The next reference at or after `from`: a key of the manifest starts with a lower-case letter.
std::optional<Reference> next_reference(const std::string& text, std::size_t from) {
  for (std::size_t at = text.find("${", from); at != std::string::npos;
       at = text.find("${", at + 2)) {
    const std::size_t close = text.find('}', at);
    if (close == std::string::npos) return std::nullopt;
    const std::string key = text.substr(at + 2, close - at - 2);
    if (!key.empty() && is_lower(key.front()) &&
        std::all_of(key.begin(), key.end(), is_key_character)) {
      return Reference{at, close + 1, key};
    }
  }
  return std::nullopt;
}

bool is_settled_by_launch(const std::string& key) {
  return key == "run.dir" || key == "run.id" || key == "checkpoint.dir" || key == "data.path";
}

class Filler {
 public:
  Filler(const Node& manifest, const Case& values) : manifest_(manifest), case_(values) {}

  void fill(std::string& text, const Position& where) {
    std::size_t from = 0;
    while (const auto found = next_reference(text, from)) {
      const auto value = value_of(found->key);
      if (!value && !is_settled_by_launch(found->key)) {
        findings_.push_back(
            error_at(where, "case-reference",
                     fmt::format("${{{}}} names nothing that this case sets", found->key),
                     hint(found->key)));
      } else {
        used_.insert(found->key);
      }
      const std::string with = value.value_or(text.substr(found->begin, found->end - found->begin));
      text.replace(found->begin, found->end - found->begin, with);
      from = found->begin + with.size();
    }
  }

  Findings take_findings() { return std::move(findings_); }
  std::vector<std::string> take_used() { return {used_.begin(), used_.end()}; }

 private:
  std::optional<std::string> value_of(const std::string& key) const {
    if (key == "topology.world") return fmt::format("{}", case_.topology.world());
    if (key == "batch.global") return fmt::format("{}", case_.global_batch());
    if (key == "batch.grad_accum") return fmt::format("{}", case_.batch.grad_accum);
    if (key == "parallelism.dp") return fmt::format("{}", case_.data_parallel());
    if (key == "optimizer.beta1") return fmt::format("{}", case_.optimizer.beta1);
    if (key == "optimizer.beta2") return fmt::format("{}", case_.optimizer.beta2);
    const Node* node = node_at(manifest_, key);
    if (!node || !node->is_scalar() || node->text().empty()) return std::nullopt;
    return node->text();
  }

  std::string hint(const std::string& key) const {
    std::vector<std::string> known = {"topology.world", "run.dir", "run.id"};
    collect(manifest_, "", known);
    const auto meant = did_you_mean(key, known);
    return meant ? fmt::format("did you mean ${{{}}}?", *meant)
                 : "a dotted key of the manifest that has a value, e.g. ${batch.steps}";
  }

  static void collect(const Node& node, const std::string& path, std::vector<std::string>& keys) {
    if (node.is_scalar()) keys.push_back(path);
    if (!node.is_mapping()) return;
    for (const Node::Entry& entry : node.entries())
      collect(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
  }

  const Node& manifest_;
  const Case& case_;
  Findings findings_;
  std::set<std::string> used_;
};

Position place_of(const Node& manifest, const std::string& key) {
  const Node* node = node_at(manifest, key);
  return node && !node->where().file.empty() ? node->where() : manifest.where();
}

}  // namespace

Findings fill_references(const Node& manifest, Case& values, std::vector<std::string>& used) {
  const Case settled = values;
  Filler filler(manifest, settled);
  filler.fill(values.entrypoint.script, place_of(manifest, "entrypoint.script"));
  filler.fill(values.entrypoint.workdir, place_of(manifest, "entrypoint.workdir"));
  const Node* args = node_at(manifest, "entrypoint.args");
  for (std::size_t i = 0; i < values.entrypoint.args.size(); ++i)
    filler.fill(values.entrypoint.args[i], args->items()[i].where());
  for (auto& [name, value] : values.env.set) filler.fill(value, place_of(manifest, "env.set"));
  used = filler.take_used();
  return filler.take_findings();
}

std::vector<std::string> open_references(const std::string& text) {
  std::vector<std::string> keys;
  std::size_t from = 0;
  while (const auto found = next_reference(text, from)) {
    keys.push_back(found->key);
    from = found->end;
  }
  return keys;
}

}  // namespace muster::catalog
