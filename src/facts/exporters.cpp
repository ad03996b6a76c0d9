#include "facts/exporters.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

const TextForm kMetricName = {"the name of a metric", "[a-zA-Z_:][a-zA-Z0-9_:]*",
                              "node_cpu_seconds_total"};
const TextForm kLabelName = {"the name of a label", "[a-zA-Z_][a-zA-Z0-9_]*", "instance"};

Schema label_list(std::string doc) {
  return Schema::list(std::move(doc), Schema::text("Label").form(kLabelName));
}

Schema metric_schema() {
  return Schema::object("One metric",
                        {{"name", Schema::text("Name").form(kMetricName).required()},
                         {"type", Schema::text("Type; absent: gauge")
                                      .one_of({"counter", "gauge", "histogram"})
                                      .defaults_to("gauge")},
                         {"labels", label_list("Labels beside those of all samples")}});
}

Exporter read_exporter(const Node& row) {
  Exporter read;
  read.name = text_at(row, "name");
  read.doc = text_at(row, "doc");
  read.job = text_at(row, "job");
  read.port = static_cast<int>(integer_at(row, "port").value_or(0));
  read.path = text_at(row, "path");
  if (read.path.empty()) read.path = "/metrics";
  read.on = texts_at(row, "on");
  read.app = text_at(row, "kubernetes.app");
  read.families = texts_at(row, "families");
  read.replaces = texts_at(row, "replaces");
  read.optional = boolean_at(row, "optional").value_or(false);
  read.labels = texts_at(row, "labels");
  read.where = row.where();
  if (const Node* metrics = node_at(row, "metrics")) {
    for (const Node& metric : metrics->items()) {
      const std::string type = text_at(metric, "type");
      read.metrics.push_back(
          {text_at(metric, "name"), type.empty() ? "gauge" : type, texts_at(metric, "labels")});
    }
  }
  return read;
}

}  // namespace

const Schema& exporters_schema() {
  static const Schema kSchema = [] {
    const Schema row = Schema::object(
        "One exporter",
        {{"name", Schema::text("Name").required()},
         {"doc", Schema::text("What it tells").required()},
         {"source", Schema::text("A name of the sources above").required()},
         {"job", Schema::text("The label job of its series; absent: nothing is scraped")},
         {"port", Schema::integer("Where it listens").at_least(1).at_most(65535)},
         {"path", Schema::text("What is asked for; absent: /metrics")},
         {"on",
          Schema::list("Kinds of nodes that have it",
                       Schema::text("Kind").one_of({"compute", "controller", "login", "serving"}))},
         {"kubernetes", Schema::object("Where Kubernetes has it",
                                       {{"app", Schema::text("Pattern of its pods' label app or "
                                                             "app.kubernetes.io/name")
                                                    .required()}})
                            .optional_group()},
         {"families", Schema::list("Patterns of names that one exporter alone may bring",
                                   Schema::text("Pattern"))},
         {"replaces",
          Schema::list("Families of another exporter that it drops then", Schema::text("Pattern"))},
         {"optional", Schema::boolean("Scraped when asked for only")},
         {"labels", label_list("Labels of every sample")},
         {"metrics", Schema::list("What it has", metric_schema())}});
    auto fields = envelope("Exporters");
    fields.push_back(
        {"sources", Schema::map("Where rows come from", Schema::text("Source")).required()});
    fields.push_back({"date", Schema::text("When it was read").required()});
    fields.push_back(
        {"target_labels", label_list("Labels that every series has by the scrape").required()});
    fields.push_back({"exporters", Schema::list("Rows", row).required()});
    return Schema::object("Exporters of metrics", std::move(fields));
  }();
  return kSchema;
}

Findings check_exporters(const Node& document) {
  const Node& rows = *document.find("exporters");
  Findings findings = repeated_names(rows);
  const auto wrong = [&](const Node& node, std::string message, std::string hint = {}) {
    findings.push_back(
        error_at(node.where(), "facts-exporter", std::move(message), std::move(hint)));
  };
  std::vector<std::string> families;
  for (const Node& row : rows.items()) {
    for (const std::string& family : texts_at(row, "families")) families.push_back(family);
  }
  for (const Node& row : rows.items()) {
    if (document.find("sources")->find(text_at(row, "source")) == nullptr)
      wrong(*row.find("source"), fmt::format("no source is called \"{}\"", text_at(row, "source")));
    if (row.find("job") != nullptr && (row.find("port") == nullptr || row.find("on") == nullptr))
      wrong(row, "what is scraped needs a port and the kinds of nodes that have it");
    for (const std::string& family : texts_at(row, "replaces")) {
      if (std::find(families.begin(), families.end(), family) == families.end())
        wrong(*row.find("replaces"), fmt::format("no exporter has the family \"{}\"", family));
    }
    if (const Node* metrics = row.find("metrics")) {
      for (Finding& finding : repeated_names(*metrics)) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

Result<Exporters> parse_exporters(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, exporters_schema(), check_exporters);
  if (!document) return document.error();
  Exporters read;
  read.target_labels = texts_at(*document, "target_labels");
  for (const Node& row : document->find("exporters")->items())
    read.exporters.push_back(read_exporter(row));
  return read;
}

Result<Exporters> load_exporters(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "exporters.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_exporters(*text, path.string());
}

}  // namespace muster::facts
