// The format, read: its rules checked line by line, and a whole text as an exposition.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "metrics/exposition.h"

namespace muster::metrics {
namespace {

bool is_name(std::string_view text, bool colons) {
  if (text.empty()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !(digit && i > 0) && !(c == ':' && colons)) return false;
  }
  return true;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == 'n') {
      result += '\n';
    } else {
      if (next != '\\' && next != '"') result += '\\';
      result += next;
    }
  }
  return result;
}

struct Sample {
  std::string name;
  Labels labels;
  double value = 0;
  bool timed = false;
};

std::optional<double> value_of(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "+Inf" || text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  return finite(text);
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

/// Labels from the brace on; where they end, or what is wrong.
std::size_t read_labels(std::string_view line, std::size_t at, Labels& labels, std::string& wrong) {
  std::set<std::string, std::less<>> seen;
  ++at;
  while (true) {
    at = skip_blanks(line, at);
    if (at < line.size() && line[at] == '}') return at + 1;
    const std::size_t equals = line.find('=', at);
    if (equals == std::string_view::npos) {
      wrong = at < line.size() ? fmt::format("\"{}\" is no label", line.substr(at))
                               : std::string("the labels do not end");
      return at;
    }
    const std::string label(trimmed(line.substr(at, equals - at)));
    std::size_t start = skip_blanks(line, equals + 1);
    if (!is_name(label, false) || start >= line.size() || line[start] != '"') {
      wrong = fmt::format("\"{}\" is no label", line.substr(at));
      return at;
    }
    std::size_t end = ++start;
    while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
    if (end >= line.size()) {
      wrong = "a label's value does not end";
      return at;
    }
    if (!seen.insert(label).second) {
      wrong = fmt::format("the label {} twice", label);
      return at;
    }
    labels.emplace_back(label, unescaped(line.substr(start, end - start)));
    at = skip_blanks(line, end + 1);
    if (at < line.size() && line[at] == ',') {
      ++at;
    } else if (at >= line.size() || line[at] != '}') {
      wrong = "the labels do not end";
      return at;
    }
  }
}

/// A line with a sample; what is wrong with it, empty: nothing.
std::string read_sample(std::string_view line, Sample& sample) {
  std::size_t at = std::min(line.find_first_of("{ \t"), line.size());
  sample.name = line.substr(0, at);
  if (!is_name(sample.name, true)) return fmt::format("\"{}\" is no name of a metric", sample.name);
  at = skip_blanks(line, at);
  std::string wrong;
  if (at < line.size() && line[at] == '{') at = read_labels(line, at, sample.labels, wrong);
  if (!wrong.empty()) return wrong;
  const auto words = words_of(line.substr(at));
  if (words.empty() || words.size() > 2) return "a value, and maybe a time, has to follow";
  const auto value = value_of(words[0]);
  if (!value) return fmt::format("\"{}\" is no value", words[0]);
  sample.value = *value;
  sample.timed = words.size() == 2;
  if (sample.timed && !finite(words[1])) return fmt::format("\"{}\" is no time", words[1]);
  return {};
}

/// The metric that a sample belongs to: a histogram's and a summary's have suffixes.
std::string_view family_of(std::string_view sample, const std::map<std::string, Type>& types) {
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (!sample.ends_with(suffix)) continue;
    const std::string_view base = sample.substr(0, sample.size() - suffix.size());
    const auto type = types.find(std::string(base));
    if (type == types.end()) continue;
    if (type->second == Type::kHistogram || (type->second == Type::kSummary && suffix != "_bucket"))
      return base;
  }
  return sample;
}

std::optional<Type> parse_type(std::string_view text) {
  for (const Type type :
       {Type::kGauge, Type::kCounter, Type::kUntyped, Type::kHistogram, Type::kSummary}) {
    if (text == to_string(type)) return type;
  }
  return std::nullopt;
}

/// Reads line by line, checks, and gathers.
class ExpositionReader {
 public:
  explicit ExpositionReader(const std::string& file) : file_(file) {}

  void read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      ++number_;
      if (end == text.size()) wrong("the last line does not end");
      at = end + 1;
      if (trimmed(line).empty()) continue;
      if (line.find('\r') != std::string_view::npos) wrong("a carriage return");
      if (line[0] == '#') {
        comment(line);
      } else {
        sample(line);
      }
    }
  }

  Findings findings;
  Exposition gathered;
  int timed = 0;  ///< line of the first sample with a time

 private:
  void wrong(const std::string& what) {
    findings.push_back(error_at({file_, number_, 1}, "exposition", what));
  }

  // All lines of a metric are together.
  void enter(std::string_view name) {
    if (name == now_) return;
    if (!now_.empty()) left_.insert(now_);
    now_ = name;
    if (left_.count(now_) > 0) wrong(fmt::format("lines of {} are not together", name));
  }

  void comment(std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 3 || words[0] != "#" || (words[1] != "HELP" && words[1] != "TYPE")) return;
    const std::string name(words[2]);
    if (!is_name(name, true)) return wrong(fmt::format("\"{}\" is no name of a metric", name));
    enter(name);
    if (words[1] == "HELP") {
      const std::size_t help =
          static_cast<std::size_t>(words[2].data() - line.data()) + name.size();
      if (!helps_.emplace(name, unescaped(line.substr(skip_blanks(line, help)))).second)
        wrong(fmt::format("a second HELP of {}", name));
      return;
    }
    const auto type = words.size() == 4 ? parse_type(words[3]) : std::nullopt;
    if (!type) return wrong("a type that is none");
    if (gathered.has(name)) wrong(fmt::format("the TYPE of {} behind its samples", name));
    if (!types_.emplace(name, *type).second) wrong(fmt::format("a second TYPE of {}", name));
  }

  void sample(std::string_view line) {
    Sample sample;
    if (const std::string what = read_sample(line, sample); !what.empty()) return wrong(what);
    const std::string family(family_of(sample.name, types_));
    enter(family);
    Labels sorted = sample.labels;
    std::sort(sorted.begin(), sorted.end());
    if (!samples_.emplace(sample.name, std::move(sorted)).second)
      return wrong("the same sample twice");
    if (sample.timed && timed == 0) timed = number_;
    const auto type = types_.find(family);
    const Type known = type != types_.end() ? type->second : Type::kUntyped;
    if (known == Type::kHistogram || known == Type::kSummary) {
      gathered.add_part(family, known, helps_[family], sample.name, sample.labels, sample.value);
    } else {
      gathered.add(family, known, helps_[family], sample.labels, sample.value);
    }
  }

  const FileName file_;
  int number_ = 0;
  std::string now_;
  std::set<std::string> left_;
  std::map<std::string, std::string> helps_;
  std::map<std::string, Type> types_;
  std::set<std::pair<std::string, Labels>> samples_;
};

}  // namespace

Findings check_exposition(std::string_view text, const std::string& file) {
  ExpositionReader reader(file);
  reader.read(text);
  return std::move(reader.findings);
}

Result<Exposition> parse_exposition(std::string_view text, const std::string& file) {
  ExpositionReader reader(file);
  reader.read(text);
  if (!reader.findings.empty()) return Failure(std::move(reader.findings));
  if (reader.timed > 0) {
    return Failure(error_at({file, reader.timed, 1}, "exposition-time", "a sample with a time",
                            "samples without: they are read again and again"));
  }
  return std::move(reader.gathered);
}

}  // namespace muster::metrics
