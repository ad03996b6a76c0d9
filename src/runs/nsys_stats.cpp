#include "runs/nsys_stats.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::runs {
namespace {

using nlohmann::json;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

/// Cells of a line of CSV. Nothing: a quotation mark is left open.
std::optional<std::vector<std::string>> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return cells;
}

/// A plain number. What has a comma may mean thousands or decimals: nobody can tell.
std::optional<double> figure_of(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  return value;
}

/// Seconds or bytes of one of the unit. Nothing: it is not known.
std::optional<double> unit_size(const std::string& unit, bool memory) {
  static const std::map<std::string, double> kTimes = {
      {"ns", 1e-9}, {"us", 1e-6}, {"\xc2\xb5s", 1e-6}, {"\xce\xbcs", 1e-6},
      {"ms", 1e-3}, {"s", 1},     {"sec", 1}};
  static const std::map<std::string, double> kSizes = {
      {"b", 1},     {"kb", 1e3},     {"mb", 1e6},        {"gb", 1e9},
      {"tb", 1e12}, {"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0}};
  const auto& sizes = memory ? kSizes : kTimes;
  const auto found = sizes.find(unit);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

struct Column {
  std::string name;  ///< lower case, one spelling for all versions
  std::string unit;  ///< lower case; empty: none is said
};

Column column_of(std::string_view title) {
  std::string text = lower(trimmed(title));
  Column column;
  if (const auto open = text.rfind('('); open != std::string::npos && text.ends_with(")")) {
    column.unit = text.substr(open + 1, text.size() - open - 2);
    text = std::string(trimmed(std::string_view(text).substr(0, open)));
  }
  static const std::map<std::string, std::string> kSpellings = {
      {"average", "avg"},     {"mean", "avg"},         {"std", "stddev"},
      {"std dev", "stddev"},  {"sum", "total"},        {"total time", "total"},
      {"calls", "num calls"}, {"operations", "count"}, {"num_calls", "num calls"}};
  const auto found = kSpellings.find(text);
  column.name = found == kSpellings.end() ? text : found->second;
  return column;
}

/// What a table's header says of its columns.
class Layout {
 public:
  /// Nothing: the cells are no header of a table that we know. `told`: the report that a line
  /// before has named; may be empty.
  static std::optional<Layout> of(const std::vector<std::string>& titles, const std::string& told,
                                  const facts::Nsight& known) {
    if (titles.size() < 3) return std::nullopt;
    Layout layout;
    for (const std::string& title : titles) layout.columns_.push_back(column_of(title));
    if (!layout.at("total")) return std::nullopt;
    const facts::NsightTable* chosen = nullptr;
    for (const facts::NsightTable& table : known.tables) {
      const auto item = layout.at(table.item);
      if (!item || *item + 1 != titles.size() || !layout.at(table.count)) continue;
      const bool named = told == table.name ||
                         std::find(table.also.begin(), table.also.end(), told) != table.also.end();
      // Sizes and times of memory differ in whether there is a share of time.
      if ((table.what == "memory-size") == layout.at("time").has_value() &&
          table.what.starts_with("memory"))
        continue;
      if (named) {
        chosen = &table;
        break;
      }
      if (chosen == nullptr && !table.named) chosen = &table;
    }
    if (chosen == nullptr) return std::nullopt;
    layout.table_ = chosen;
    const Column& total = layout.columns_[*layout.at("total")];
    const bool memory = chosen->what == "memory-size";
    layout.size_ = unit_size(total.unit.empty() && !memory ? "ns" : total.unit, memory);
    return layout;
  }

  const facts::NsightTable& table() const { return *table_; }
  bool has_unit() const { return size_.has_value(); }
  std::size_t size() const { return columns_.size(); }

  /// Nothing: a figure that must be there can't be read.
  std::optional<StatRow> row(std::vector<std::string> cells) const {
    if (!size_ || cells.size() < columns_.size()) return std::nullopt;
    // Names with commas that nobody quoted; the name is the last column.
    while (cells.size() > columns_.size()) {
      cells[columns_.size() - 1] += "," + cells[columns_.size()];
      cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(columns_.size()));
    }
    StatRow row;
    row.name = std::string(trimmed(cells.back()));
    const auto value = [&](const std::string& name) -> std::optional<double> {
      const auto index = at(name);
      return index ? figure_of(cells[*index]) : std::nullopt;
    };
    const auto total = value("total");
    row.count = value(table_->count);
    if (row.name.empty() || !total || !row.count) return std::nullopt;
    row.total = *total * *size_;
    if (const auto mean = value("avg")) row.mean = *mean * *size_;
    if (const auto deviation = value("stddev")) row.deviation = *deviation * *size_;
    return row;
  }

 private:
  std::optional<std::size_t> at(const std::string& name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name == name) return i;
    }
    return std::nullopt;
  }

  std::vector<Column> columns_;
  const facts::NsightTable* table_ = nullptr;
  std::optional<double> size_;
};

/// The report that a line of nsys announces: "Processing [a.sqlite] with [/opt/…/NAME.py]...",
/// " ** CUDA GPU Kernel Summary (NAME):".
std::string announced(std::string_view line) {
  const auto between = [&](std::string_view before, std::string_view after) -> std::string {
    const auto end = line.rfind(after);
    if (end == std::string_view::npos) return {};
    const auto begin = line.rfind(before, end);
    if (begin == std::string_view::npos) return {};
    return std::string(line.substr(begin + before.size(), end - begin - before.size()));
  };
  if (line.find("** ") != std::string_view::npos) return between("(", ")");
  if (line.find("Processing [") != std::string_view::npos) return between("/", ".py]");
  return {};
}

/// What stands before a line of one of several ranks: "3: " (srun), "[muster rank 3] ".
std::optional<int> take_rank(std::string_view& line) {
  std::string_view rest = line;
  std::string_view end = ":";
  if (rest.starts_with("[muster rank ")) {
    rest.remove_prefix(13);
    end = "]";
  }
  rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  int rank = 0;
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
  if (error != std::errc() || rank < 0) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
  if (!rest.starts_with(end) || (rest.size() > 1 && rest[1] != ' ')) return std::nullopt;
  rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
  line = rest;
  return rank;
}

/// The tables of one rank, a line at a time.
class Tables {
 public:
  /// `told`: the report that the file's name says; may be empty.
  Tables(RankStats& stats, const facts::Nsight& known, std::string told)
      : stats_(stats), known_(known), told_(std::move(told)) {}

  void line(std::string_view line) {
    if (const std::string name = announced(line); !name.empty()) {
      told_ = name;
      layout_.reset();
      return;
    }
    if (line.find("SKIPPED:") != std::string_view::npos) {
      stats_.notes.emplace_back(trimmed(line));
      return;
    }
    const auto cells = cells_of(line);
    if (cells && open(*cells)) return;
    if (!layout_) return;
    // Whatever begins with a figure is meant to be a row; other lines stand between.
    const std::string_view start = trimmed(line.substr(0, line.find(',')));
    const bool looks =
        line.find(',') != std::string_view::npos && !start.empty() &&
        (std::isdigit(static_cast<unsigned char>(start.front())) != 0 || start.front() == '"');
    if (!looks) return;
    auto row = cells ? layout_->row(*cells) : std::nullopt;
    if (row) {
      stats_.tables[table_].rows.push_back(std::move(*row));
    } else {
      ++stats_.torn;
    }
  }

  void document(const json& rows) {
    for (const json& row : rows) {
      if (!row.is_object()) {
        ++stats_.torn;
        continue;
      }
      // Objects don't keep an order: the name goes last, as in every table.
      std::vector<std::string> titles, cells;
      std::string name_title, name;
      for (const auto& [key, value] : row.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        const std::string column = column_of(key).name;
        const bool item = column == "name" || column == "operation" || column == "range";
        (item ? name_title : titles.emplace_back()) = key;
        (item ? name : cells.emplace_back()) = text;
      }
      titles.push_back(name_title);
      cells.push_back(name);
      auto layout = Layout::of(titles, told_, known_);
      if (!layout) continue;
      if (!open_ || *open_ != &layout->table()) start(std::move(*layout));
      if (auto read = Layout::of(titles, told_, known_)->row(cells)) {
        stats_.tables[table_].rows.push_back(std::move(*read));
      } else {
        ++stats_.torn;
      }
    }
    layout_.reset();
    open_.reset();
  }

 private:
  bool open(const std::vector<std::string>& cells) {
    auto layout = Layout::of(cells, told_, known_);
    if (!layout) return false;
    start(std::move(*layout));
    return true;
  }

  void start(Layout layout) {
    open_ = &layout.table();
    if (!layout.has_unit())
      stats_.notes.push_back(
          fmt::format("{}: the header does not say in which unit", layout.table().name));
    const std::string& report = layout.table().name;
    const auto same = std::find_if(stats_.tables.begin(), stats_.tables.end(),
                                   [&](const StatTable& one) { return one.report == report; });
    if (same != stats_.tables.end()) {
      // Told twice: the later one counts, as a file that is written again would hold it.
      same->rows.clear();
      table_ = static_cast<std::size_t>(same - stats_.tables.begin());
      stats_.notes.push_back(report + " is there twice: the later one counts");
    } else {
      stats_.tables.push_back({report, layout.table().what, {}});
      table_ = stats_.tables.size() - 1;
    }
    layout_ = std::move(layout);
  }

  RankStats& stats_;
  const facts::Nsight& known_;
  std::string told_;
  std::optional<Layout> layout_;
  std::optional<const facts::NsightTable*> open_;
  std::size_t table_ = 0;
};

/// Where the JSON list that begins at `begin` ends; npos: it does not.
std::size_t end_of_list(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

const StatTable* RankStats::find(std::string_view what) const {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const StatTable& one) {
    return one.what == what && !one.rows.empty();
  });
  return found == tables.end() ? nullptr : &*found;
}

std::optional<std::pair<int, std::string>> rank_of_file(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const auto at = name.rfind("rank");
  if (at == std::string::npos) return std::nullopt;
  std::size_t from = at + 4;
  while (from < name.size() && (name[from] == '_' || name[from] == '-')) ++from;
  int rank = 0;
  const auto [after, error] = std::from_chars(name.data() + from, name.data() + name.size(), rank);
  if (error != std::errc() || rank < 0) return std::nullopt;
  std::string host;
  const std::string rest(after, name.data() + name.size());
  if (rest.starts_with("_on_")) {
    host = rest.substr(4);
    for (const char* end : {".stats", ".nsys-rep", ".sqlite", ".csv", ".json", ".txt", ".log",
                            "_cuda", "_nvtx", "_restart"})
      host = host.substr(0, host.find(end));
  }
  return std::pair{rank, host};
}

std::vector<RankStats> read_nsys_stats(const std::string& text, const std::string& file,
                                       const facts::Nsight& known) {
  std::map<int, RankStats> ranks;  // -1: lines without a rank
  std::map<int, Tables> tables;
  std::string told;
  const std::string name = std::filesystem::path(file).filename().string();
  for (const facts::NsightTable& table : known.tables) {
    if (name.find(table.name) != std::string::npos) told = table.name;
  }
  const auto of = [&](int rank) -> Tables& {
    const auto found = tables.find(rank);
    if (found != tables.end()) return found->second;
    RankStats& stats = ranks[rank];
    stats.file = file;
    if (rank >= 0) {
      stats.rank = rank;
    } else if (const auto named = rank_of_file(file)) {
      stats.rank = named->first;
      stats.host = named->second;
    }
    return tables.try_emplace(rank, stats, known, told).first->second;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("[{") || trimmed(line) == "[") {
      const std::size_t stop = end_of_list(text, begin);
      if (stop != std::string_view::npos) {
        const json rows =
            json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                        text.begin() + static_cast<std::ptrdiff_t>(stop), nullptr, false);
        if (rows.is_array()) {
          of(-1).document(rows);
          begin = stop;
          continue;
        }
      }
      if (line.starts_with("[{\"")) ++ranks[-1].torn;
    }
    const auto rank = take_rank(line);
    of(rank.value_or(-1)).line(line);
    begin = end + 1;
  }
  std::vector<RankStats> all;
  for (auto& [rank, stats] : ranks) {
    std::erase_if(stats.tables, [](const StatTable& one) { return one.rows.empty(); });
    if (!stats.tables.empty() || stats.torn > 0 || !stats.notes.empty())
      all.push_back(std::move(stats));
  }
  return all;
}

}  // namespace muster::runs
