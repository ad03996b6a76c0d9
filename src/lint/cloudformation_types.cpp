#include "lint/cloudformation_types.h"

#include <algorithm>

#include "base/words.h"
#include "facts/reading.h"

namespace muster::lint {
namespace {

// Takes the first line off a text.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

CfnResourceType parse_resource(std::string_view name, std::string_view block) {
  CfnResourceType type;
  type.name = name;
  CfnFields* fields = &type.properties;
  while (!block.empty()) {
    const std::string_view line = next_line(block);
    if (line.starts_with("@ ")) {
      for (const std::string_view word : words_of(line.substr(2))) {
        const std::size_t colon = word.find(':');
        type.attributes[word.substr(0, colon)] =
            colon == std::string_view::npos ? "string" : word.substr(colon + 1);
      }
    } else if (line.starts_with('.')) {
      fields = &type.nested[line.substr(1)];
    } else if (const std::size_t space = line.find(' '); space != std::string_view::npos) {
      CfnField field{line.substr(0, space), line.substr(space + 1)};
      field.required = field.type.ends_with('!');
      if (field.required) field.type.remove_suffix(1);
      fields->fields.push_back(field);
    }
  }
  return type;
}

}  // namespace

const CfnField* CfnFields::find(std::string_view name) const {
  const auto found =
      std::lower_bound(fields.begin(), fields.end(), name,
                       [](const CfnField& f, std::string_view key) { return f.name < key; });
  return found != fields.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> CfnFields::names() const {
  std::vector<std::string> all;
  for (const CfnField& field : fields) all.emplace_back(field.name);
  return all;
}

Result<std::shared_ptr<const CfnTypes>> CfnTypes::load_once(const FileSystem* files,
                                                            const std::filesystem::path& root,
                                                            const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const CfnTypes>> known;
  const FileSystem& disk = files != nullptr ? *files : real_file_system();
  if (&disk != &real_file_system()) return load(disk, root, name);
  const std::lock_guard lock(mutex);
  const std::string key = root.string() + "\n" + name;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  auto types = load(disk, root, name);
  if (types) known[key] = *types;
  return types;
}

Result<std::shared_ptr<const CfnTypes>> CfnTypes::load(const FileSystem& files,
                                                       const std::filesystem::path& root,
                                                       const std::string& name) {
  const auto path = facts::facts_file(files, root, name);
  auto text = files.read(path);
  if (!text) return text.error();
  const auto types = std::make_shared<CfnTypes>();
  types->text_ = std::move(*text);
  std::string_view rest = types->text_;
  std::string_view type;
  const char* start = nullptr;
  const auto close = [&](const char* end) {
    if (!type.empty())
      types->blocks_.emplace_hint(types->blocks_.end(), type,
                                  std::string_view(start, static_cast<std::size_t>(end - start)));
  };
  while (!rest.empty()) {
    const std::string_view line = next_line(rest);
    if (line.starts_with("# date: ")) types->date_ = line.substr(8);
    if (line.starts_with('#') || line.find("::") == std::string_view::npos ||
        line.find(' ') != std::string_view::npos)
      continue;
    close(line.data());
    type = line;
    start = rest.data();
  }
  close(rest.data());
  if (types->blocks_.empty() || types->date_.empty()) {
    return Failure(error_at({path.string(), 1, 1}, "facts-cloudformation",
                            "can't be read as types of resources",
                            "its first lines name the script that makes it anew"));
  }
  return std::shared_ptr<const CfnTypes>(types);
}

const CfnResourceType* CfnTypes::find(std::string_view type) const {
  const auto block = blocks_.find(type);
  if (block == blocks_.end()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& parsed = parsed_[block->first];
  if (!parsed) {
    parsed = std::make_unique<CfnResourceType>(parse_resource(block->first, block->second));
  }
  return parsed.get();
}

std::vector<std::string> CfnTypes::names() const {
  std::vector<std::string> all;
  for (const auto& [name, block] : blocks_) all.emplace_back(name);
  return all;
}

}  // namespace muster::lint
