#include "cli/kind_images.h"

#include "base/document.h"
#include "images/render.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json described(const catalog::ImageManifest& image) {
  Json data = {{"name", image.name},
               {"kind", image.machine ? "machine" : "container"},
               {"platform", image.machine ? image.platform : "container"},
               {"accelerator", image.accelerator},
               {"architecture", image.architecture}};
  Json systems = Json::array();
  for (const catalog::ImageSource& source : image.sources) systems.push_back(source.system);
  data["systems"] = image.machine ? systems : Json::array({image.base});
  Json parts = Json::array();
  for (const catalog::Named& part : image.parts) parts.push_back(part.name);
  data["parts"] = std::move(parts);
  data["gpus"] = image.gpus;
  data["file"] = image.file.string();
  data["description"] = image.description;
  return data;
}

}  // namespace

std::vector<OutputColumn> image_columns() {
  return {{"NAME", "name"},
          {"KIND", "kind"},
          {"ACCELERATOR", "accelerator"},
          {"SYSTEMS", "systems"},
          {"PARTS", "parts", true},
          {"GPUS", "gpus", true},
          {"PROBLEMS", "problem_count", true, true},
          {"FILE", "file", true},
          {"DESCRIPTION", "description"}};
}

Result<Json> list_images(const Context& context) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return known.error();
  Json items = Json::array();
  for (const catalog::ImageEntry& entry :
       catalog::list_images(context.files, context.project(), *known)) {
    Json item = described(entry.values);
    item["name"] = entry.name;
    item["file"] = entry.file.string();
    item["problem_count"] = entry.problems.size();
    if (!entry.problems.empty()) item["problems"] = to_json(entry.problems);
    items.push_back(std::move(item));
  }
  return items;
}

Result<Shown> show_image(const Context& context, const std::string& name) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return known.error();
  const auto image = catalog::find_image(context.files, context.project(), *known, name);
  if (!image) return image.error();
  const auto rendered = images::render(*image, context.files, context.project(), known->versions);
  if (!rendered) return rendered.error();
  Shown shown;
  shown.data = described(*image);
  shown.data["versions"] = rendered->versions;
  Json names = Json::array();
  for (const images::ImageFile& file : rendered->files) names.push_back(file.path);
  shown.data["files"] = std::move(names);
  return shown;
}

}  // namespace muster::cli
