// Dashboards as data: what is shown, and by which query. The data is facts/dashboards.yaml.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/file_system.h"
#include "base/result.h"

namespace muster::facts {

/// A text with the place of its first character.
struct Placed {
  std::string text;
  Position where;
};

/// What the reader of a dashboard chooses among: the values of a label.
struct BoardVariable {
  std::string name, title;
  std::string label;
  Placed of;  ///< the series whose label it is
};

struct BoardQuery {
  Placed expr, legend;
};

/// From `value` on the figure has this color.
struct BoardStep {
  double value = 0;
  std::string color;
};

struct Panel {
  std::string title, doc;
  std::string kind;  ///< timeseries, stat, gauge, bargauge, table, heatmap
  std::string unit;  ///< as Grafana spells it: bps, celsius, …
  int width = 8;     ///< of 24 columns
  std::optional<double> min, max;
  std::vector<BoardStep> steps;
  std::vector<BoardQuery> queries;
  Position where;
};

struct BoardRow {
  std::string title;
  std::vector<Panel> panels;
};

struct Dashboard {
  std::string name, title, doc;
  std::vector<std::string> variables;
  std::vector<BoardRow> rows;
  Position where;
};

struct Dashboards {
  std::vector<BoardVariable> variables;
  std::vector<Dashboard> dashboards;
};

Result<Dashboards> load_dashboards(const FileSystem& files, const std::filesystem::path& root);
Result<Dashboards> parse_dashboards(const std::string& text, const std::string& file);

/// Where the text of a scalar begins: behind the quote when it has one.
Placed placed(const Node& node);

}  // namespace muster::facts
