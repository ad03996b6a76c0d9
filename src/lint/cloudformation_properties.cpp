// Resource types and their properties against the data. What the data does not know may be newer
// than it: a warning that says so. What is nearly the name of something is a mistake.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.h"
#include "lint/cloudformation_rules.h"

namespace muster::lint {
namespace {

// Where a value is; text is made of it only when something is wrong.
struct CfnPath {
  const CfnPath* up = nullptr;
  std::string_view key;
  int index = -1;

  std::string text() const {
    if (index >= 0) return fmt::format("{}[{}]", up->text(), index);
    const std::string above = up != nullptr ? up->text() : std::string();
    return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
  }
};

const std::vector<std::string> kTagKeys = {"Key", "Value"};

// What a call comes to, as far as that is known without a stack.
enum class CfnForm { kUnknown, kText, kList };

std::string spelt(std::string_view word, const std::vector<std::string>& right) {
  const auto same = std::find_if(right.begin(), right.end(), [&](const std::string& other) {
    return lower_case(other) == lower_case(word);
  });
  if (same != right.end()) return *same;
  return did_you_mean(word, right).value_or("");
}

// The parts of "a/b" outside of brackets.
std::vector<std::string_view> choices_of(std::string_view type) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type[i] == '(' || type[i] == '[' || type[i] == '{') ++depth;
    if (type[i] == ')' || type[i] == ']' || type[i] == '}') --depth;
    if (type[i] != '/' || depth > 0) continue;
    parts.push_back(type.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(type.substr(start));
  return parts;
}

class PropertyCheck {
 public:
  PropertyCheck(CfnCheck& check, const CfnResourceType& type, bool strict)
      : check_(check), type_(type), strict_(strict) {}

  void fields(const Node& node, const CfnFields& known, const CfnPath& path,
              const Position& where) {
    for (const Node::Entry& entry : node.entries()) {
      if (entry.key.starts_with("Fn::")) continue;
      const CfnField* field = known.find(entry.key);
      if (field == nullptr) {
        unknown(entry, known, path);
      } else {
        value(entry.value, field->type, {&path, entry.key, -1});
      }
    }
    const bool computed =
        std::any_of(node.entries().begin(), node.entries().end(),
                    [](const Node::Entry& entry) { return entry.key.starts_with("Fn::"); });
    if (computed) return;
    for (const CfnField& field : known.fields) {
      if (!field.required || node.find(field.name) != nullptr) continue;
      check_.wrong(where, "cfn-required",
                   fmt::format("{} is missing", CfnPath{&path, field.name, -1}.text()));
    }
  }

 private:
  void wrong(const Node& node, std::string message, std::string hint = {}) {
    check_.wrong(node.where(), "cfn-value", std::move(message), std::move(hint));
  }

  void unknown(const Node::Entry& entry, const CfnFields& known, const CfnPath& path) {
    const std::string near = spelt(entry.key, known.names());
    const std::string name = CfnPath{&path, entry.key, -1}.text();
    if (!near.empty()) {
      return check_.wrong(entry.where, "cfn-property", fmt::format("no property {}", name),
                          fmt::format("did you mean {}?", near));
    }
    const std::string place = belongs(entry.key);
    std::string hint = place.empty() ? "" : fmt::format("it belongs to {}", place);
    if (strict_) {
      if (hint.empty()) hint = fmt::format("known here: {}", fmt::join(known.names(), ", "));
      return check_.wrong(entry.where, "cfn-property", fmt::format("no key {}", name),
                          std::move(hint));
    }
    check_.warn(entry.where, "cfn-property",
                fmt::format("no property {} in the data of {}; a newer one is unknown to it", name,
                            check_.types.date()),
                std::move(hint));
  }

  // Where a property of this name stands: the way to it from the top, the shortest.
  std::string belongs(const std::string& key) const {
    std::vector<std::pair<const CfnFields*, std::string>> queue = {
        {&type_.properties, std::string()}};
    std::set<const CfnFields*> seen;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto [fields, path] = queue[i];
      if (!seen.insert(fields).second) continue;
      if (fields->find(key) != nullptr)
        return path.empty() ? fmt::format("the top, as {}", key) : path + key;
      for (const CfnField& field : fields->fields) {
        std::string_view inner = field.type;
        std::string step = path + std::string(field.name);
        while (inner.starts_with('[') || inner.starts_with('{')) {
          step += inner.starts_with('[') ? "[]" : "{}";
          inner = inner.substr(1, inner.size() - 2);
        }
        const auto nested = type_.nested.find(inner);
        if (nested != type_.nested.end()) queue.emplace_back(&nested->second, step + ".");
      }
    }
    return {};
  }

  void value(const Node& node, std::string_view type, const CfnPath& path) {
    if (node.is_null()) {
      if (strict_) return;              // as if it were absent
      if (!node.tag().empty()) return;  // a call of nothing: told where calls are
      return wrong(node, fmt::format("{} is null, which CloudFormation refuses", path.text()),
                   "leave it out, or !Ref AWS::NoValue");
    }
    if (const auto call = cfn_call(node)) {
      if (call->is("Fn::If") && call->items().size() == 3) {
        value(call->items()[1], type, path);
        value(call->items()[2], type, path);
        return;
      }
      return called(node, *call, type, path);
    }
    const auto choices = choices_of(type);
    if (choices.size() == 1) return one(node, type, path);
    // One of several fits, or the first tells what is wrong.
    const std::size_t before = check_.findings.size();
    Findings first;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      one(node, choices[i], path);
      if (check_.findings.size() == before) return;
      if (i == 0)
        first.assign(check_.findings.begin() + static_cast<std::ptrdiff_t>(before),
                     check_.findings.end());
      check_.findings.resize(before);
    }
    check_.findings.insert(check_.findings.end(), first.begin(), first.end());
  }

  void one(const Node& node, std::string_view type, const CfnPath& path) {
    if (type == "any") return;
    if (type == "tag") return tag(node, path);
    if (type.starts_with('[')) {
      if (!node.is_sequence()) return wrong(node, fmt::format("{} is a list", path.text()));
      const std::string_view item = type.substr(1, type.size() - 2);
      int index = 0;
      for (const Node& each : node.items()) value(each, item, {&path, {}, index++});
      return;
    }
    if (type.starts_with('{')) {
      if (!node.is_mapping()) return wrong(node, fmt::format("{} is a mapping", path.text()));
      for (const Node::Entry& entry : node.entries())
        value(entry.value, type.substr(1, type.size() - 2), {&path, entry.key, -1});
      return;
    }
    const std::string_view word = type.substr(0, type.find('('));
    static constexpr std::array<std::string_view, 4> kPlain = {"string", "integer", "number",
                                                               "boolean"};
    if (std::find(kPlain.begin(), kPlain.end(), word) != kPlain.end())
      return scalar(node, word, type, path);
    const auto nested = type_.nested.find(type);
    if (nested == type_.nested.end()) return;
    if (!node.is_mapping()) return wrong(node, fmt::format("{} is a mapping", path.text()));
    fields(node, nested->second, path, node.where());
  }

  void tag(const Node& node, const CfnPath& path) {
    if (!node.is_mapping()) return wrong(node, fmt::format("{} is a mapping", path.text()));
    for (const Node::Entry& entry : node.entries()) {
      const bool known =
          entry.key == "Key" || entry.key == "Value" || entry.key == "PropagateAtLaunch";
      if (known) {
        value(entry.value, entry.key == "PropagateAtLaunch" ? "boolean" : "string",
              {&path, entry.key, -1});
        continue;
      }
      const auto near = spelt(entry.key, kTagKeys);
      check_.wrong(
          entry.where, "cfn-property",
          fmt::format("no property {}", CfnPath{&path, entry.key, -1}.text()),
          near.empty() ? "a tag has Key and Value" : fmt::format("did you mean {}?", near));
    }
    for (const std::string& key : kTagKeys) {
      if (node.find(key) == nullptr)
        check_.wrong(node.where(), "cfn-required",
                     fmt::format("{} is missing", CfnPath{&path, key, -1}.text()));
    }
  }

  void scalar(const Node& node, std::string_view word, std::string_view type, const CfnPath& path) {
    if (!node.is_scalar()) {
      return wrong(node, fmt::format("{} is {}", path.text(),
                                     word == "string" ? "text" : "one " + std::string(word)));
    }
    const Node bare = Node::scalar(node.text(), false, {});
    const std::string& text = node.text();
    const bool resolved = text.find("{{resolve:") != std::string::npos;
    if (resolved) return;
    if (word == "integer" && !bare.as_int())
      return wrong(node, fmt::format("{} is an integer, not \"{}\"", path.text(), text));
    if (word == "number" && !bare.as_double())
      return wrong(node, fmt::format("{} is a number, not \"{}\"", path.text(), text));
    if (word == "boolean") {
      const std::string lower = lower_case(text);
      if (lower != "true" && lower != "false")
        return wrong(node, fmt::format("{} is true or false, not \"{}\"", path.text(), text));
    }
    if (word.size() == type.size()) return;
    std::vector<std::string> choices;
    std::string_view rest = type.substr(word.size() + 1, type.size() - word.size() - 2);
    while (true) {
      const std::size_t bar = rest.find('|');
      choices.emplace_back(rest.substr(0, bar));
      if (bar == std::string_view::npos) break;
      rest.remove_prefix(bar + 1);
    }
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return;
    const std::string near = spelt(text, choices);
    if (!near.empty()) {
      return wrong(node, fmt::format("{} can't be \"{}\"", path.text(), text),
                   fmt::format("did you mean \"{}\"?", near));
    }
    choices.resize(std::min<std::size_t>(choices.size(), 12));
    check_.warn(node.where(), "cfn-value",
                fmt::format("{} can't be \"{}\" by the data of {}; a newer value is unknown to it",
                            path.text(), text, check_.types.date()),
                fmt::format("one of {}", fmt::join(choices, ", ")));
  }

  static CfnForm form_of_type(std::string_view type) {
    if (type.starts_with('[')) return CfnForm::kList;
    static constexpr std::array<std::string_view, 4> kPlain = {"string", "integer", "number",
                                                               "boolean"};
    const bool plain =
        std::find(kPlain.begin(), kPlain.end(), type.substr(0, type.find('('))) != kPlain.end();
    return plain ? CfnForm::kText : CfnForm::kUnknown;
  }

  CfnForm form_of(const CfnCall& call) const {
    static constexpr std::array<std::string_view, 6> kTexts = {
        "Fn::Sub", "Fn::Join", "Fn::Base64", "Fn::ImportValue", "Fn::ToJsonString", "Fn::Length"};
    static constexpr std::array<std::string_view, 3> kLists = {"Fn::Split", "Fn::GetAZs",
                                                               "Fn::Cidr"};
    const auto is = [&](std::string_view name) { return call.is(name); };
    if (std::any_of(kTexts.begin(), kTexts.end(), is)) return CfnForm::kText;
    if (std::any_of(kLists.begin(), kLists.end(), is)) return CfnForm::kList;
    if (call.is("Ref")) {
      const std::string& name = call.text();
      if (const std::string& type = check_.tree.parameter_type(name); !type.empty()) {
        const bool list = type.find("List<") != std::string::npos ||
                          type.find("CommaDelimitedList") != std::string::npos;
        return list ? CfnForm::kList : CfnForm::kText;
      }
      if (name == "AWS::NotificationARNs") return CfnForm::kList;
      const bool known = check_.tree.find("Resources", name) != nullptr ||
                         (name.starts_with("AWS::") && name != "AWS::NoValue");
      return known ? CfnForm::kText : CfnForm::kUnknown;
    }
    if (call.is("Fn::GetAtt")) {
      std::string name = call.text(), attribute;
      if (const auto& items = call.items(); items.size() >= 2) {
        name = items[0].text();
        attribute = items[1].text();
      } else if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
        attribute = name.substr(dot + 1);
        name.resize(dot);
      }
      const CfnResourceType* type = check_.types.find(check_.tree.type_of(name));
      if (type == nullptr) return CfnForm::kUnknown;
      const auto found = type->attributes.find(attribute);
      return found == type->attributes.end() ? CfnForm::kUnknown : form_of_type(found->second);
    }
    return CfnForm::kUnknown;
  }

  void called(const Node& node, const CfnCall& call, std::string_view type, const CfnPath& path) {
    const CfnForm form = form_of(call);
    if (form == CfnForm::kUnknown) return;
    const auto choices = choices_of(type);
    const bool fits = std::any_of(choices.begin(), choices.end(), [&](std::string_view choice) {
      if (choice == "any") return true;
      if (form == CfnForm::kText) return form_of_type(choice) == CfnForm::kText;
      return choice.starts_with('[');
    });
    if (fits) return;
    if (form == CfnForm::kText) {
      wrong(node,
            fmt::format("{} is {}, and {} gives one text", path.text(),
                        type.starts_with('[') ? "a list" : "a mapping", call.name),
            type.starts_with('[') ? "an item of a list" : "");
    } else {
      wrong(node, fmt::format("{} is no list, and {} gives one", path.text(), call.name),
            "Fn::Select takes one, Fn::Join joins them");
    }
  }

  CfnCheck& check_;
  const CfnResourceType& type_;
  bool strict_;
};

void check_type(CfnCheck& check, const Node::Entry& entry) {
  const Node* type = entry.value.find("Type");
  if (type == nullptr || type->text().empty()) return;
  const std::string& name = type->text();
  if (name.ends_with("::MODULE")) return;
  const bool custom = name.starts_with("Custom::") || name == "AWS::CloudFormation::CustomResource";
  if (custom) {
    const Node& properties = CfnTemplate::properties(entry.value);
    if (!cfn_call(properties) && properties.find("ServiceToken") == nullptr)
      check.wrong(entry.where, "cfn-required",
                  fmt::format("{}.ServiceToken is missing", entry.key));
    return;  // beside it a custom resource takes whatever it likes
  }
  const bool private_type = !name.starts_with("AWS::") && !name.starts_with("Alexa::");
  const CfnResourceType* known = check.types.find(name);
  if (known == nullptr) {
    const std::string near = spelt(name, check.types.names());
    if (!near.empty()) {
      return check.wrong(type->where(), "cfn-type", fmt::format("no resource type {}", name),
                         fmt::format("did you mean {}?", near));
    }
    if (private_type && std::count(name.begin(), name.end(), ':') >= 4) return;
    return check.warn(
        type->where(), "cfn-type",
        fmt::format("no resource type {} in the data of {}; a newer one is unknown to it", name,
                    check.types.date()));
  }
  const Node& properties = CfnTemplate::properties(entry.value);
  if (cfn_call(properties)) return;
  if (!properties.is_mapping() && !properties.is_null()) {
    return check.wrong(properties.where(), "cfn-value", "Properties is a mapping");
  }
  PropertyCheck(check, *known, false)
      .fields(properties, known->properties, CfnPath{nullptr, entry.key, -1}, entry.where);
}

}  // namespace

Findings check_cfn_document(const Node& document, const CfnTypes& types,
                            const CfnResourceType& type, const std::string& name) {
  const CfnTemplate none(Node::mapping({}, document.where()), {}, document.where().file);
  const facts::Facts no_facts;
  const Source no_source;
  CfnCheck check{none, types, no_facts, no_source};
  PropertyCheck(check, type, true)
      .fields(document, type.properties, CfnPath{nullptr, name, -1}, document.where());
  return std::move(check.findings);
}

void check_cfn_properties(CfnCheck& check) {
  for (const Node::Entry& entry : check.tree.resources()) {
    if (!entry.key.starts_with("Fn::ForEach::") && entry.value.is_mapping())
      check_type(check, entry);
  }
}

}  // namespace muster::lint
