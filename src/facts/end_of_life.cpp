#include "facts/end_of_life.h"

#include <algorithm>
#include <cctype>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {

const Schema& end_of_life_schema() {
  static const Schema kSchema = [] {
    const auto row = [](const char* doc, std::vector<Schema::Field> fields) {
      fields.push_back({"source", Schema::text("Where this comes from").required()});
      return Schema::object(doc, std::move(fields));
    };
    const Schema image =
        row("One image", {{"image", Schema::text("Last part of the image's name").required()},
                          {"tag", Schema::text("How its tag starts; absent: all tags")},
                          {"since", Schema::text("When support ended").required()},
                          {"successor", Schema::text("What to use instead").required()}});
    const Schema registry =
        row("One registry", {{"registry", Schema::text("Part of the image's name").required()},
                             {"since", Schema::text("When it was switched off").required()},
                             {"successor", Schema::text("What to use instead").required()}});
    const Schema ngc =
        row("One release", {{"cuda", Schema::text("CUDA version").required()},
                            {"since_release", Schema::text("First release, YY.MM").required()}});
    auto fields = envelope("EndOfLife");
    fields.push_back({"date", Schema::text("When all this was read").required()});
    fields.push_back({"images", Schema::list("Images without support", image).required()});
    fields.push_back({"registries", Schema::list("Registries that are off", registry)});
    fields.push_back({"ngc", Schema::list("CUDA of NVIDIA's containers, newest first", ngc)});
    return Schema::object("Images that nobody mends any more", std::move(fields));
  }();
  return kSchema;
}

Findings check_end_of_life(const Node&) {
  return {};
}

Result<EndOfLife> parse_end_of_life(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, end_of_life_schema(), check_end_of_life);
  if (!document) return document.error();
  EndOfLife facts;
  const auto rows = [&](const char* key) {
    const Node* list = document->find(key);
    return list ? list->items() : std::vector<Node>();
  };
  for (const Node& row : rows("images")) {
    facts.images.push_back({text_at(row, "image"), text_at(row, "tag"), text_at(row, "since"),
                            text_at(row, "successor"), text_at(row, "source")});
  }
  for (const Node& row : rows("registries")) {
    facts.registries.push_back({text_at(row, "registry"), text_at(row, "since"),
                                text_at(row, "successor"), text_at(row, "source")});
  }
  for (const Node& row : rows("ngc"))
    facts.ngc.push_back({text_at(row, "cuda"), text_at(row, "since_release")});
  return facts;
}

Result<EndOfLife> load_end_of_life(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "end-of-life.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_end_of_life(*text, path.string());
}

const OldImage* find_old_image(const EndOfLife& facts, const std::string& image,
                               const std::string& tag) {
  const auto found =
      std::find_if(facts.images.begin(), facts.images.end(), [&](const OldImage& row) {
        if (row.image != image) return false;
        if (row.tag.empty() || tag == row.tag) return true;
        return tag.rfind(row.tag, 0) == 0 &&
               !std::isalnum(static_cast<unsigned char>(tag[row.tag.size()]));
      });
  return found == facts.images.end() ? nullptr : &*found;
}

}  // namespace muster::facts
