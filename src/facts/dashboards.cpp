#include "facts/dashboards.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

constexpr int kColumns = 24;  // of Grafana's grid

const TextForm kBoardName = {"a name of lower-case letters, digits and dashes", "[a-z][a-z0-9-]*",
                             "gpu-health"};
const TextForm kVariableName = {"the name of a variable", "[a-zA-Z][a-zA-Z0-9_]*", "cluster"};

/// Those of Grafana's units that are used here.
std::vector<std::string> units() {
  return {"none",   "short", "percent", "percentunit", "celsius", "watt",
          "rotmhz", "hertz", "bytes",   "decbytes",    "Bps",     "binBps",
          "bps",    "pps",   "ops",     "reqps",       "cps",     "s",
          "ms",     "µs",    "ns",      "dtdurations", "GBs",     "tokens/s"};
}

Schema panel_schema() {
  const Schema query = Schema::object(
      "One query", {{"expr", Schema::text("PromQL, on one line").required()},
                    {"legend", Schema::text("Names a series: {{label}} is its label's value")}});
  const Schema step = Schema::object(
      "From here on another color",
      {{"value", Schema::number("From this value on").required()},
       {"color",
        Schema::text("Color").one_of({"green", "yellow", "orange", "red", "blue"}).required()}});
  return Schema::object(
      "One panel",
      {{"title", Schema::text("Title").required()},
       {"doc", Schema::text("What it shows and when to worry")},
       {"kind", Schema::text("How it is drawn; absent: timeseries")
                    .one_of({"timeseries", "stat", "gauge", "bargauge", "table", "heatmap"})},
       {"unit", Schema::text("Grafana's unit").one_of(units())},
       {"width", Schema::integer("Columns, of 24; absent: 8").at_least(3).at_most(kColumns)},
       {"min", Schema::number("Lowest value of the axis")},
       {"max", Schema::number("Highest value of the axis")},
       {"steps", Schema::list("Colors by value, rising; below the first it is green", step)},
       {"queries", Schema::list("Queries", query).at_least(1).required()}});
}

Panel read_panel(const Node& row) {
  Panel read;
  read.title = text_at(row, "title");
  read.doc = text_at(row, "doc");
  read.kind = text_at(row, "kind");
  if (read.kind.empty()) read.kind = "timeseries";
  read.unit = text_at(row, "unit");
  if (read.unit.empty()) read.unit = "short";
  read.width = static_cast<int>(integer_at(row, "width").value_or(read.width));
  read.min = number_at(row, "min");
  read.max = number_at(row, "max");
  read.where = row.where();
  if (const Node* steps = node_at(row, "steps")) {
    for (const Node& step : steps->items())
      read.steps.push_back({number_at(step, "value").value_or(0), text_at(step, "color")});
  }
  for (const Node& query : row.find("queries")->items()) {
    BoardQuery one{placed(*query.find("expr")), {}};
    if (const Node* legend = node_at(query, "legend")) one.legend = placed(*legend);
    read.queries.push_back(std::move(one));
  }
  return read;
}

}  // namespace

Placed placed(const Node& node) {
  Position where = node.where();
  if (node.quoted()) where.column += 1;
  return {node.text(), where};
}

const Schema& dashboards_schema() {
  static const Schema kSchema = [] {
    const Schema variable = Schema::object(
        "One variable", {{"name", Schema::text("Name").form(kVariableName).required()},
                         {"title", Schema::text("What the reader sees").required()},
                         {"label", Schema::text("Its values are those of this label").required()},
                         {"of", Schema::text("of these series").required()}});
    const Schema row = Schema::object(
        "One row",
        {{"title", Schema::text("Title").required()},
         {"panels", Schema::list("Panels, left to right", panel_schema()).at_least(1).required()}});
    const Schema dashboard = Schema::object(
        "One dashboard",
        {{"name", Schema::text("Name of its file, and its stable id").form(kBoardName).required()},
         {"title", Schema::text("Title").required()},
         {"doc", Schema::text("The question that it answers").required()},
         {"variables", Schema::list("Names of the variables above", Schema::text("Name"))},
         {"rows", Schema::list("Rows", row).at_least(1).required()}});
    auto fields = envelope("Dashboards");
    fields.push_back({"variables", Schema::list("What a reader can choose", variable).required()});
    fields.push_back({"dashboards", Schema::list("Dashboards", dashboard).required()});
    return Schema::object("Dashboards", std::move(fields));
  }();
  return kSchema;
}

Findings check_dashboards(const Node& document) {
  Findings findings = repeated_names(*document.find("variables"));
  for (Finding& finding : repeated_names(*document.find("dashboards")))
    findings.push_back(std::move(finding));
  std::vector<std::string> variables;
  for (const Node& row : document.find("variables")->items())
    variables.push_back(text_at(row, "name"));
  const auto wrong = [&](const Node& node, std::string message) {
    findings.push_back(error_at(node.where(), "facts-dashboard", std::move(message)));
  };
  for (const Node& board : document.find("dashboards")->items()) {
    for (const std::string& name : texts_at(board, "variables")) {
      if (std::find(variables.begin(), variables.end(), name) == variables.end())
        wrong(*board.find("variables"), fmt::format("there is no variable \"{}\"", name));
    }
    for (const Node& row : board.find("rows")->items()) {
      for (const Node& panel : row.find("panels")->items()) {
        const Node* steps = node_at(panel, "steps");
        std::optional<double> last;
        for (const Node& step : steps != nullptr ? steps->items() : std::vector<Node>()) {
          const double value = number_at(step, "value").value_or(0);
          if (last && value <= *last) wrong(step, "the values of steps have to rise");
          last = value;
        }
      }
    }
  }
  return findings;
}

Result<Dashboards> parse_dashboards(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, dashboards_schema(), check_dashboards);
  if (!document) return document.error();
  Dashboards read;
  for (const Node& row : document->find("variables")->items())
    read.variables.push_back({text_at(row, "name"), text_at(row, "title"), text_at(row, "label"),
                              placed(*row.find("of"))});
  for (const Node& row : document->find("dashboards")->items()) {
    Dashboard board{text_at(row, "name"),
                    text_at(row, "title"),
                    text_at(row, "doc"),
                    texts_at(row, "variables"),
                    {},
                    row.where()};
    for (const Node& one : row.find("rows")->items()) {
      BoardRow into{text_at(one, "title"), {}};
      for (const Node& panel : one.find("panels")->items())
        into.panels.push_back(read_panel(panel));
      board.rows.push_back(std::move(into));
    }
    read.dashboards.push_back(std::move(board));
  }
  return read;
}

Result<Dashboards> load_dashboards(const FileSystem& files, const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "dashboards.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_dashboards(*text, path.string());
}

}  // namespace muster::facts
