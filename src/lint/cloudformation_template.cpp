#include "lint/cloudformation_template.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/schema.h"

namespace muster::lint {
namespace {

constexpr std::array<std::string_view, 6> kNamedSections = {"Parameters", "Mappings",  "Conditions",
                                                            "Rules",      "Resources", "Outputs"};

const std::vector<Node> kNoItems;
const std::vector<Node::Entry> kNoEntries;
const Node kNothing = Node::null({});
const std::string kNoText;

// {Ref: x}, {Fn::Sub: x}.
std::optional<CfnCall> long_call(const Node& node) {
  if (!node.is_mapping() || node.entries().size() != 1) return std::nullopt;
  const Node::Entry& only = node.entries()[0];
  const bool function =
      only.key == "Ref" || (only.key.starts_with("Fn::") && !only.key.starts_with("Fn::ForEach"));
  // A policy's statement has a Condition too: only text names one of a template.
  const bool condition = only.key == "Condition" && only.value.is_scalar();
  if (!function && !condition) return std::nullopt;
  return CfnCall{only.key, &only.value, false};
}

// The variables of a text that Fn::Sub puts in: name and which of its occurrences.
std::vector<std::pair<std::string, int>> variables_in(std::string_view text) {
  std::vector<std::pair<std::string, int>> found;
  std::map<std::string, int> seen;
  for (std::size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    std::string name(text.substr(at + 2, end - at - 2));
    at = end;
    if (name.starts_with('!')) continue;  // ${!Literal}
    while (name.starts_with(' ')) name.erase(0, 1);
    while (name.ends_with(' ')) name.pop_back();
    const int nth = seen[name]++;
    found.emplace_back(std::move(name), nth);
  }
  return found;
}

}  // namespace

const std::vector<Node>& CfnCall::items() const {
  return short_form || argument->tag().empty() ? argument->items() : kNoItems;
}

const std::string& CfnCall::text() const {
  return short_form || argument->tag().empty() ? argument->text() : kNoText;
}

std::optional<CfnCall> CfnCall::inner() const {
  return short_form ? long_call(*argument) : cfn_call(*argument);
}

std::optional<CfnCall> cfn_call(const Node& node) {
  if (node.tag().size() > 1 && node.tag()[0] == '!') {
    const std::string name = node.tag().substr(1);
    const bool plain = name == "Ref" || name == "Condition";
    return CfnCall{plain ? name : "Fn::" + name, &node, true};
  }
  return long_call(node);
}

CfnTemplate::CfnTemplate(Node root, std::string_view text, std::string file)
    : root_(std::move(root)), text_(text), file_(std::move(file)) {
  lines_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    lines_.push_back(at + 1);
  for (const std::string_view name : kNamedSections) {
    Table& table = sections_[name];
    const Node* section = root_.find(name);
    if (section == nullptr || !section->is_mapping()) continue;
    for (const Node::Entry& entry : section->entries()) table.emplace(entry.key, &entry);
  }
  for (const auto& [section, table] : sections_) {
    if (section == "Parameters" || section == "Mappings") continue;
    for (const auto& [name, entry] : table) {
      CfnUse place;
      place.section = section;
      place.owner = name;
      const Node* condition = entry->value.is_mapping() ? entry->value.find("Condition") : nullptr;
      const bool conditional = section == "Resources" || section == "Outputs";
      if (conditional && condition != nullptr && condition->is_scalar()) {
        use(place, CfnUse::Kind::kCondition, condition->text(), condition->where());
        place.given.emplace_back(condition->text(), true);
      }
      if (!conditional || !entry->value.is_mapping()) {
        collect(entry->value, place);
        continue;
      }
      for (const Node::Entry& part : entry->value.entries()) {
        if (part.key == "Condition" || part.key == "Type") continue;
        if (part.key != "DependsOn") {
          collect(part.value, place);
          continue;
        }
        const auto depends = [&](const Node& node) {
          if (node.is_scalar()) use(place, CfnUse::Kind::kDependsOn, node.text(), node.where());
        };
        depends(part.value);
        for (const Node& item : part.value.items()) depends(item);
      }
    }
  }
  std::stable_sort(uses_.begin(), uses_.end(),
                   [](const CfnUse& a, const CfnUse& b) { return a.where < b.where; });
}

void CfnTemplate::use(CfnUse place, CfnUse::Kind kind, std::string name, Position where,
                      std::string attribute) {
  place.kind = kind;
  place.name = std::move(name);
  place.where = where;
  place.attribute = std::move(attribute);
  uses_.push_back(std::move(place));
}

void CfnTemplate::collect(const Node& node, const CfnUse& place) {
  if (const auto call = cfn_call(node)) return collect_call(*call, place);
  for (const Node& item : node.items()) collect(item, place);
  for (const Node::Entry& entry : node.entries()) collect(entry.value, place);
}

void CfnTemplate::collect_call(const CfnCall& call, const CfnUse& place) {
  const Node& argument = *call.argument;
  const auto& items = call.items();
  if (call.is("Ref")) {
    if (!call.text().empty()) return use(place, CfnUse::Kind::kRef, call.text(), argument.where());
  } else if (call.is("Condition")) {
    if (!call.text().empty())
      return use(place, CfnUse::Kind::kCondition, call.text(), argument.where());
  } else if (call.is("Fn::GetAtt")) {
    if (!call.text().empty()) {
      const std::string& text = call.text();
      const std::size_t dot = std::min(text.find('.'), text.size());
      return use(place, CfnUse::Kind::kGetAtt, text.substr(0, dot), argument.where(),
                 dot < text.size() ? text.substr(dot + 1) : "");
    }
    if (!items.empty() && items[0].is_scalar()) {
      std::string attribute;
      for (std::size_t i = 1; i < items.size(); ++i) {
        if (items[i].is_scalar() && items[i].tag().empty())
          attribute += (i > 1 ? "." : "") + items[i].text();
      }
      use(place, CfnUse::Kind::kGetAtt, items[0].text(), items[0].where(), std::move(attribute));
      for (std::size_t i = 1; i < items.size(); ++i) collect(items[i], place);
      return;
    }
  } else if (call.is("Fn::Sub")) {
    for (const CfnVariable& variable : variables(call)) {
      const std::size_t dot = variable.name.find('.');
      if (dot == std::string::npos) {
        use(place, CfnUse::Kind::kRef, variable.name, variable.where);
      } else {
        use(place, CfnUse::Kind::kGetAtt, variable.name.substr(0, dot), variable.where,
            variable.name.substr(dot + 1));
      }
    }
    if (items.size() > 1) {
      for (const Node::Entry& entry : items[1].entries()) collect(entry.value, place);
    }
    return;
  } else if (call.is("Fn::If") && items.size() == 3 && items[0].is_scalar()) {
    use(place, CfnUse::Kind::kCondition, items[0].text(), items[0].where());
    CfnUse branch = place;
    branch.given.emplace_back(items[0].text(), true);
    collect(items[1], branch);
    branch.given.back().second = false;
    return collect(items[2], branch);
  } else if (call.is("Fn::FindInMap") && !items.empty() && items[0].is_scalar() &&
             items[0].tag().empty()) {
    use(place, CfnUse::Kind::kMapping, items[0].text(), items[0].where());
  }
  if (const auto inner = call.inner())
    return collect_call(*inner, place);  // {Fn::Base64: {Fn::Sub: …}}
  if (argument.is_scalar() || argument.is_null()) return;
  for (const Node& item : argument.items()) collect(item, place);
  for (const Node::Entry& entry : argument.entries()) collect(entry.value, place);
}

std::vector<CfnVariable> CfnTemplate::variables(const CfnCall& sub) const {
  const Node* text = sub.argument;
  const Node* own = nullptr;
  if (const auto& items = sub.items(); !items.empty()) {
    text = &items[0];
    if (items.size() > 1) own = &items[1];
  }
  std::vector<CfnVariable> found;
  if (!text->is_scalar()) return found;
  for (auto& [name, nth] : variables_in(text->text())) {
    if (own != nullptr && own->find(name.substr(0, name.find('.'))) != nullptr) continue;
    if (own != nullptr && own->find(name) != nullptr) continue;
    const Position where = place_of(*text, "${" + name, nth);
    found.push_back({std::move(name), where});
  }
  return found;
}

// Texts are folded and joined over lines: where in the file something of one is, is told by the
// file's own text from where it starts.
Position CfnTemplate::place_of(const Node& node, std::string_view what, int nth) const {
  const Position& start = node.where();
  if (start.line < 1 || static_cast<std::size_t>(start.line) > lines_.size()) return start;
  std::size_t at = lines_[static_cast<std::size_t>(start.line) - 1] +
                   static_cast<std::size_t>(std::max(start.column - 1, 0));
  for (int i = 0; i <= nth; ++i) {
    at = text_.find(what, i == 0 ? at : at + 1);
    if (at == std::string::npos) return start;
  }
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), at) - 1;
  return {start.file, static_cast<int>(line - lines_.begin()) + 1,
          static_cast<int>(at - *line) + 1};
}

const CfnTemplate::Table& CfnTemplate::section(std::string_view name) const {
  static const Table kEmpty;
  const auto found = sections_.find(name);
  return found == sections_.end() ? kEmpty : found->second;
}

const Node::Entry* CfnTemplate::find(std::string_view section_name, std::string_view name) const {
  const Table& table = section(section_name);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

const std::string& CfnTemplate::type_of(std::string_view resource) const {
  const Node::Entry* entry = find("Resources", resource);
  const Node* type = entry != nullptr ? entry->value.find("Type") : nullptr;
  return type != nullptr ? type->text() : kNoText;
}

const std::string& CfnTemplate::parameter_type(std::string_view name) const {
  const Node::Entry* entry = find("Parameters", name);
  const Node* type = entry != nullptr ? entry->value.find("Type") : nullptr;
  return type != nullptr ? type->text() : kNoText;
}

const Node& CfnTemplate::properties(const Node& resource) {
  const Node* found = resource.find("Properties");
  return found != nullptr ? *found : kNothing;
}

const std::vector<Node::Entry>& CfnTemplate::resources() const {
  const Node* found = root_.find("Resources");
  return found != nullptr ? found->entries() : kNoEntries;
}

std::vector<const Node::Entry*> CfnTemplate::resources_of(std::string_view type) const {
  std::vector<const Node::Entry*> found;
  for (const Node::Entry& entry : resources()) {
    const Node* own = entry.value.find("Type");
    if (own != nullptr && own->text() == type) found.push_back(&entry);
  }
  return found;
}

std::vector<const Node*> CfnTemplate::branches(const Node& node) const {
  const auto call = cfn_call(node);
  if (call && call->is("Fn::If") && call->items().size() == 3) {
    std::vector<const Node*> all = branches(call->items()[1]);
    const auto otherwise = branches(call->items()[2]);
    all.insert(all.end(), otherwise.begin(), otherwise.end());
    return all;
  }
  if (call && call->is("Ref") && call->text() == "AWS::NoValue") return {};
  if (node.is_null()) return {};
  return {&node};
}

std::vector<std::string> CfnTemplate::texts(const Node& node) const {
  std::vector<std::string> all;
  for (const Node* branch : branches(node)) {
    if (branch->is_scalar() && branch->tag().empty()) all.push_back(branch->text());
    const Node::Entry* parameter = find("Parameters", parameter_of(*branch));
    if (parameter == nullptr) continue;
    if (const Node* allowed = parameter->value.find("AllowedValues")) {
      for (const Node& value : allowed->items()) all.push_back(value.text());
    } else if (const Node* preset = parameter->value.find("Default")) {
      all.push_back(preset->text());
    }
  }
  return all;
}

std::string CfnTemplate::parameter_of(const Node& node) const {
  const auto call = cfn_call(node);
  if (!call) return {};
  std::string name = call->text();
  if (call->is("Fn::Sub")) {
    if (!name.starts_with("${") || name.find('}') != name.size() - 1) return {};
    name = name.substr(2, name.size() - 3);
  } else if (!call->is("Ref")) {
    return {};
  }
  return find("Parameters", name) != nullptr ? name : std::string();
}

std::string CfnTemplate::resource_of(const Node& node) const {
  const auto call = cfn_call(node);
  if (!call) return {};
  std::string name;
  if (call->is("Ref") || call->is("Fn::GetAtt")) {
    name = call->items().empty() ? call->text() : call->items()[0].text();
    if (call->is("Fn::GetAtt")) name = name.substr(0, name.find('.'));
  } else if (call->is("Fn::Sub")) {
    const auto all = variables(*call);
    if (all.size() == 1) name = all[0].name.substr(0, all[0].name.find('.'));
  }
  return find("Resources", name) != nullptr ? name : std::string();
}

std::vector<const Node*> CfnTemplate::at(const Node& node, std::string_view key) const {
  std::vector<const Node*> found;
  for (const Node* branch : branches(node)) {
    if (const Node* value = branch->find(key)) {
      for (const Node* inner : branches(*value)) found.push_back(inner);
    }
  }
  return found;
}

}  // namespace muster::lint
