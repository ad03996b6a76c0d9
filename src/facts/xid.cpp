#include "facts/xid.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

Schema outcome_schema() {
  return Schema::text("How bad it is")
      .one_of({"flag", "reset", "reboot", "investigate", "replace", "unknown"});
}

Schema row_schema(bool codes) {
  std::vector<Schema::Field> fields;
  if (codes) {
    fields.push_back(
        {"codes",
         Schema::list("Codes", Schema::integer("Code").at_least(0)).at_least(1).required()});
    fields.push_back({"models", Schema::list("Only of these accelerators; absent: any",
                                             Schema::text("Model, e.g. A100"))});
    fields.push_back(
        {"repeats", Schema::object("When one device tells it often",
                                   {{"count", Schema::integer("Times").at_least(2).required()},
                                    {"outcome", outcome_schema().required()}})
                        .optional_group()});
    fields.push_back({"bucket", Schema::text("NVIDIA's name of what to do").required()});
  }
  fields.push_back({"text", Schema::text("Pattern (PCRE2) in the line; absent: any")});
  fields.push_back({"name", Schema::text("What it means").required()});
  fields.push_back({"outcome", outcome_schema().required()});
  fields.push_back({"source", Schema::text("A name of the sources above").required()});
  return Schema::object("One row", std::move(fields));
}

KernelRow read_kernel_row(const Node& row, const Node& sources) {
  KernelRow read;
  read.name = text_at(row, "name");
  read.outcome = text_at(row, "outcome");
  read.bucket = text_at(row, "bucket");
  read.models = texts_at(row, "models");
  read.source = text_at(sources, text_at(row, "source"));
  for (const std::string& code : texts_at(row, "codes")) read.codes.push_back(std::stoi(code));
  if (const Node* text = node_at(row, "text")) {
    auto pattern = Regex::compile(text->text());  // checked before
    if (pattern) read.text = std::make_shared<const Regex>(std::move(*pattern));
  }
  if (node_at(row, "repeats") != nullptr) {
    read.repeats = Repeats{static_cast<int>(integer_at(row, "repeats.count").value_or(0)),
                           text_at(row, "repeats.outcome")};
  }
  return read;
}

bool matches(const KernelRow& row, const std::string& text) {
  if (row.text == nullptr) return true;
  Regex::Match match;
  return row.text->search(text, 0, match) == Regex::Found::kYes;
}

}  // namespace

const Schema& xid_schema() {
  static const Schema kSchema = [] {
    auto fields = envelope("Xid");
    fields.push_back(
        {"sources", Schema::map("Where rows come from", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When it was read").required()});
    fields.push_back({"unknown_code", outcome_schema().required()});
    fields.push_back({"xids", Schema::list("Errors of GPUs", row_schema(true)).required()});
    fields.push_back({"sxids", Schema::list("Errors of NVSwitches", row_schema(false)).required()});
    fields.push_back({"lines", Schema::list("Other lines", row_schema(false)).required()});
    return Schema::object("What the kernel's log tells, and how bad it is", std::move(fields));
  }();
  return kSchema;
}

Findings check_xid(const Node& document) {
  Findings findings;
  const Node& sources = *document.find("sources");
  for (const char* list : {"xids", "sxids", "lines"}) {
    for (const Node& row : document.find(list)->items()) {
      if (const Node* text = node_at(row, "text")) {
        if (const auto pattern = Regex::compile(text->text()); !pattern) {
          findings.push_back(
              error_at(text->where(), "facts-xid", pattern.findings().front().message));
        }
      }
      const Node* source = row.find("source");
      if (sources.find(source->text()) == nullptr) {
        findings.push_back(error_at(source->where(), "facts-xid",
                                    fmt::format("\"{}\" is no source of this file", source->text()),
                                    "a name under sources"));
      }
    }
  }
  return findings;
}

const KernelRow* KernelPolicy::xid(int code, const std::string& model,
                                   const std::string& text) const {
  for (const KernelRow& row : xids) {
    if (std::find(row.codes.begin(), row.codes.end(), code) == row.codes.end()) continue;
    if (!row.models.empty() &&
        std::find(row.models.begin(), row.models.end(), model) == row.models.end()) {
      continue;
    }
    if (matches(row, text)) return &row;
  }
  return nullptr;
}

const KernelRow* row_for(const std::vector<KernelRow>& rows, const std::string& text) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const KernelRow& each) { return matches(each, text); });
  return row == rows.end() ? nullptr : &*row;
}

Result<KernelPolicy> parse_xid(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, xid_schema(), check_xid);
  if (!document) return document.error();
  KernelPolicy policy;
  policy.unknown_code = text_at(*document, "unknown_code");
  const Node& sources = *document->find("sources");
  const auto read = [&](const char* list, std::vector<KernelRow>& rows) {
    for (const Node& row : document->find(list)->items())
      rows.push_back(read_kernel_row(row, sources));
  };
  read("xids", policy.xids);
  read("sxids", policy.sxids);
  read("lines", policy.lines);
  return policy;
}

Result<KernelPolicy> load_xid(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "xid.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_xid(*text, path.string());
}

}  // namespace muster::facts
