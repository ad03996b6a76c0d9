#include "lint/kubernetes_types.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "facts/reading.h"

namespace muster::lint {

// Files in order: core.json holds the types that the others refer to.
class KubeTypesReader {
 public:
  using Form = KubeType::Form;

  explicit KubeTypesReader(KubeTypes& types) : types_(types) {}

  void add(const nlohmann::json& document) {
    // Names first, since types refer to each other.
    for (const auto& [name, fields] : document.at("types").items()) types_.types_[name].name = name;
    for (const auto& [name, fields] : document.at("types").items()) {
      KubeObjectType& type = types_.types_.at(name);
      type.fields.clear();
      for (const auto& [field, expression] : fields.items()) {
        std::string text = expression.get<std::string>();
        const bool required = text.ends_with('!');
        if (required) text.pop_back();
        type.fields.push_back({field, parse(text), required});
      }
      std::sort(type.fields.begin(), type.fields.end(),
                [](const KubeField& a, const KubeField& b) { return a.name < b.name; });
    }
    for (const auto& [object, type] : document.at("objects").items()) {
      types_.types_.at(type.get<std::string>());
      types_.objects_[object] = type.get<std::string>();
    }
  }

 private:
  KubeType parse(std::string_view text) {
    static const std::map<std::string_view, Form> kPlain = {
        {"string", Form::kString},     {"integer", Form::kInteger},
        {"number", Form::kNumber},     {"boolean", Form::kBoolean},
        {"quantity", Form::kQuantity}, {"int-or-string", Form::kIntOrString},
        {"any", Form::kAny},
    };
    KubeType type;
    if (text.starts_with('[') || text.starts_with('{')) {
      type.form = text.front() == '[' ? Form::kList : Form::kMap;
      types_.items_.push_back(parse(text.substr(1, text.size() - 2)));
      type.item = &types_.items_.back();
      return type;
    }
    if (text.starts_with("string(")) {
      type.form = Form::kString;
      std::string_view rest = text.substr(7, text.size() - 8);
      while (true) {
        const std::size_t bar = rest.find('|');
        type.choices.emplace_back(rest.substr(0, bar));
        if (bar == std::string_view::npos) return type;
        rest.remove_prefix(bar + 1);
      }
    }
    if (const auto plain = kPlain.find(text); plain != kPlain.end()) {
      type.form = plain->second;
      return type;
    }
    type.form = Form::kObject;
    type.object = &types_.types_.at(std::string(text));
    return type;
  }

  KubeTypes& types_;
};

const KubeField* KubeObjectType::find(std::string_view field) const {
  const auto found =
      std::lower_bound(fields.begin(), fields.end(), field,
                       [](const KubeField& f, std::string_view key) { return f.name < key; });
  return found != fields.end() && found->name == field ? &*found : nullptr;
}

std::vector<std::string> KubeObjectType::names() const {
  std::vector<std::string> all;
  for (const KubeField& field : fields) all.push_back(field.name);
  return all;
}

Result<std::shared_ptr<const KubeTypes>> KubeTypes::load(const FileSystem& files,
                                                         const std::filesystem::path& root) {
  auto types = std::make_shared<KubeTypes>();
  KubeTypesReader reader(*types);
  for (const char* name : {"core.json", "operators.json", "hyperpod.json", "dynamo.json"}) {
    const auto path = facts::facts_file(files, root, std::string("kubernetes/") + name);
    const auto text = files.read(path);
    if (!text) return text.error();
    try {
      reader.add(nlohmann::json::parse(*text));
    } catch (const std::exception& error) {
      return Failure(error_at({path.string(), 1, 1}, "facts-kubernetes",
                              std::string("can't be read as types of objects: ") + error.what(),
                              "scripts/kube-schemas makes it anew"));
    }
  }
  return std::shared_ptr<const KubeTypes>(std::move(types));
}

const KubeObjectType* KubeTypes::object(const std::string& api_version,
                                        const std::string& kind) const {
  const auto found = objects_.find(api_version + ' ' + kind);
  return found == objects_.end() ? nullptr : &types_.find(found->second)->second;
}

std::vector<std::string> KubeTypes::versions_of(const std::string& kind) const {
  std::vector<std::string> versions;
  for (const auto& [object, type] : objects_) {
    const std::size_t space = object.find(' ');
    if (object.compare(space + 1, std::string::npos, kind) == 0)
      versions.push_back(object.substr(0, space));
  }
  return versions;
}

std::vector<std::string> KubeTypes::kinds_of(const std::string& api_version) const {
  std::vector<std::string> kinds;
  for (const auto& [object, type] : objects_) {
    const std::size_t space = object.find(' ');
    if (object.compare(0, space, api_version) == 0) kinds.push_back(object.substr(space + 1));
  }
  return kinds;
}

}  // namespace muster::lint
