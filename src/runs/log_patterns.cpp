#include "runs/log_patterns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace muster::runs {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Terminal sequences (colours, cursor, titles) and control characters but the tab.
std::string without_control(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c != '\x1b') {
      if (c == '\t' || static_cast<unsigned char>(c) >= 0x20) out += c;
      continue;
    }
    if (i + 1 >= line.size()) break;
    const char kind = line[++i];
    if (kind == '[') {
      while (i + 1 < line.size() && (line[i + 1] < '@' || line[i + 1] > '~')) ++i;
      ++i;  // the letter that ends it
    } else if (kind == ']') {
      while (i + 1 < line.size() && line[i + 1] != '\a' && line[i + 1] != '\x1b') ++i;
    }
  }
  return out;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count])) ++count;
  return count;
}

/// "3: " and " 13: " of srun -l.
std::size_t srun_prefix(std::string_view text) {
  const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t digits = digits_at(text, blanks);
  if (digits == 0 || digits > 7) return 0;
  const std::size_t end = blanks + digits;
  return text.substr(end, 2) == ": " ? end + 2 : 0;
}

/// "[1,0]<stdout>:" of mpirun --tag-output; "[node1:4211,0]<stdout>:" of Open MPI 5.
std::size_t mpirun_prefix(std::string_view text, std::optional<int>& rank) {
  if (!text.starts_with('[')) return 0;
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || comma < 2) return 0;
  const std::string_view job = text.substr(1, comma - 1);
  if (job.find_first_of(" []<>") != std::string_view::npos) return 0;
  const bool is_number = digits_at(job, 0) == job.size();
  const std::size_t colon = job.rfind(':');
  const bool is_process = colon != std::string_view::npos && colon > 0 &&
                          digits_at(job, colon + 1) + colon + 1 == job.size() &&
                          colon + 1 < job.size();
  if (!is_number && !is_process) return 0;
  const std::size_t digits = digits_at(text, comma + 1);
  const std::size_t end = comma + 1 + digits;
  if (digits == 0) return 0;
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"}) {
    if (text.substr(end, stream.size()) != stream) continue;
    int value = 0;
    std::from_chars(text.data() + comma + 1, text.data() + end, value);
    rank = value;
    return end + stream.size();
  }
  return 0;
}

/// The prefix without brackets, colons, blanks and the stream's name: what tells sources apart.
std::string source_of(std::string_view prefix) {
  const std::size_t from = std::min(prefix.find_first_not_of(" ["), prefix.size());
  const std::size_t to = prefix.find_first_of("]<", from);
  std::string_view name = prefix.substr(from, to == std::string_view::npos ? to : to - from);
  while (name.ends_with(' ') || name.ends_with(':')) name.remove_suffix(1);
  return std::string(name);
}

/// "[default0]:" of torchrun --tee, "[rank0]:" of newer ones, "[pod/NAME/CONTAINER] " of kubectl.
std::size_t bracket_prefix(std::string_view text) {
  for (const std::string_view start : {"[default", "[rank"}) {
    if (!text.starts_with(start)) continue;
    const std::size_t digits = digits_at(text, start.size());
    const std::size_t end = start.size() + digits;
    if (digits > 0 && text.substr(end, 2) == "]:") return end + 2;
  }
  if (text.starts_with("[pod/")) {
    const std::size_t end = text.find("] ");
    if (end != std::string_view::npos) return end + 2;
  }
  return 0;
}

/// Rows that say for whom they are must fit; how well: 2 library, 1 framework, 0 neither.
int nearness(const facts::LogPattern& row, const std::string& framework,
             const std::string& library) {
  if (row.framework.empty() || row.framework != framework) return 0;
  return !row.library.empty() && row.library == library ? 2 : 1;
}

}  // namespace

PlainLine plain_line(std::string_view line) {
  PlainLine plain;
  const std::string clean = without_control(line);
  std::string_view rest = clean;
  constexpr int kMostPrefixes = 4;
  for (int i = 0; i < kMostPrefixes; ++i) {
    std::size_t skip = mpirun_prefix(rest, plain.rank);
    if (skip == 0) skip = bracket_prefix(rest);
    if (skip == 0) skip = srun_prefix(rest);
    if (skip == 0) break;
    plain.source += (plain.source.empty() ? "" : " ") + source_of(rest.substr(0, skip));
    rest.remove_prefix(skip);
  }
  plain.text = rest;
  return plain;
}

std::optional<double> log_number(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != ',') plain += c;
  }
  bool negative = false;
  if (!plain.empty() && (plain.front() == '+' || plain.front() == '-')) {
    negative = plain.front() == '-';
    plain.erase(0, 1);
  }
  if (plain.empty()) return std::nullopt;
  const auto is_word = [&](std::string_view word) {
    return plain.size() == word.size() &&
           std::equal(plain.begin(), plain.end(), word.begin(),
                      [](char a, char b) { return (a | 0x20) == b; });
  };
  if (is_word("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (is_word("inf") || is_word("infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  double scale = 1;
  constexpr std::string_view kSuffixes = "KMGBT";
  constexpr double kScales[] = {1e3, 1e6, 1e9, 1e9, 1e12};
  if (const auto suffix = kSuffixes.find(plain.back()); suffix != std::string_view::npos) {
    scale = kScales[suffix];
    plain.pop_back();
  }
  double value = 0;
  const auto read = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    // Too small is nothing, too large is no finite figure.
    const bool small = plain.find('-') != std::string::npos;
    value = small ? 0 : std::numeric_limits<double>::infinity();
  } else if (read.ec != std::errc() || read.ptr != plain.data() + plain.size()) {
    return std::nullopt;
  }
  return (negative ? -value : value) * scale;
}

LogFields fields_of(const Regex& regex, const Regex::Match& match) {
  LogFields fields;
  for (std::size_t i = 0; i < match.groups.size(); ++i) {
    const std::string& name = regex.groups()[i];
    if (name.empty() || name == "num" || name == "int" || !match.groups[i]) continue;
    fields[name] = *match.groups[i];
  }
  return fields;
}

Result<LogPatterns> LogPatterns::make(const std::vector<facts::LogPattern>& rows,
                                      const std::string& framework, const std::string& library) {
  LogPatterns patterns;
  for (int near = 2; near >= 0; --near) {
    for (const facts::LogPattern& row : rows) {
      if (nearness(row, framework, library) != near) continue;
      auto regex = facts::compile_log_pattern(row.pattern);
      if (!regex) return regex.error();
      patterns.patterns_.push_back({row, std::move(*regex)});
    }
  }
  return patterns;
}

const CompiledPattern* LogPatterns::match(std::string_view line, std::size_t from,
                                          LogFields& fields, std::size_t& end) const {
  Regex::Match found;
  for (const CompiledPattern& pattern : patterns_) {
    if (line.find(pattern.row.contains, from) == std::string_view::npos) continue;
    if (pattern.regex.search(line, from, found) != Regex::Found::kYes) continue;
    fields = fields_of(pattern.regex, found);
    end = found.end;
    return &pattern;
  }
  return nullptr;
}

}  // namespace muster::runs
