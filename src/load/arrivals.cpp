#include "load/arrivals.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/words.h"

namespace muster::load {
namespace {

/// When the expected number of arrivals reaches `count`, for a rate a + b t.
double time_of_count(double count, double a, double b) {
  if (std::abs(b) < 1e-12) return count / a;
  return (std::sqrt(std::max(0.0, a * a + 2 * b * count)) - a) / b;
}

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * 1e9));
}

/// Seconds of "12.5", or of "2023-11-16 18:17:03.9799600" since 1970.
std::optional<double> trace_time(std::string_view word) {
  if (const auto number = finite(word)) return number;
  std::tm parts{};
  const std::string text(word);
  const char* const rest = strptime(text.c_str(), "%Y-%m-%d", &parts);
  if (rest == nullptr || (*rest != ' ' && *rest != 'T')) return std::nullopt;
  const char* const end = strptime(rest + 1, "%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  double fraction = 0;
  if (*end == '.') {
    std::string digits(end + 1);
    while (!digits.empty() && (digits.back() == 'Z' || digits.back() == ' ')) digits.pop_back();
    const auto parsed = finite("0." + digits);
    if (!parsed) return std::nullopt;
    fraction = *parsed;
  }
  return static_cast<double>(timegm(&parts)) + fraction;
}

std::optional<int> trace_length(double number) {
  if (!std::isfinite(number) || number < 0 || number > 1e8 || number != std::floor(number))
    return std::nullopt;
  return static_cast<int>(number);
}

struct TraceLine {
  double seconds = 0;
  int input = 0, output = 0;
};

Failure bad_line(const std::string& file, int line, const std::string& what) {
  return Failure(error_at({file, line, 1}, "load-trace", what,
                          "{\"timestamp\": 1500, \"input_length\": 512, \"output_length\": 64}, or "
                          "CSV with TIMESTAMP,ContextTokens,GeneratedTokens"));
}

Result<TraceLine> json_line(const std::string& text, const std::string& file, int line) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (!value.is_object()) return bad_line(file, line, "not a JSON object");
  TraceLine result;
  for (const char* key : {"timestamp", "input_length", "output_length"}) {
    const auto found = value.find(key);
    if (found == value.end() || !found->is_number())
      return bad_line(file, line, fmt::format("\"{}\" is missing or no number", key));
  }
  result.seconds = value["timestamp"].get<double>() / 1000;
  const auto input = trace_length(value["input_length"].get<double>());
  const auto output = trace_length(value["output_length"].get<double>());
  if (!input || !output) return bad_line(file, line, "a length is not a count of tokens");
  result.input = *input;
  result.output = *output;
  return result;
}

}  // namespace

Result<std::vector<Arrival>> draw_arrivals(Process process, double from, double to, double seconds,
                                           std::uint64_t seed) {
  if (!(from >= 0) || !(to >= 0) || !(from + to > 0) || !(seconds > 0))
    return failure("load-rate", "a rate and a duration have to be above 0", "e.g. --rate 8");
  const double expected = (from + to) / 2 * seconds;
  if (expected > static_cast<double>(kMostArrivals)) {
    return failure(
        "load-rate",
        fmt::format("{:.0f} requests are more than the {} that are kept", expected, kMostArrivals),
        "a lower --rate or a shorter --duration");
  }
  const double slope = (to - from) / seconds;
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> step(1);
  std::vector<Arrival> arrivals;
  double count = 0;
  while (true) {
    // Arrivals are a Poisson process of rate 1 in the expected count.
    const double at =
        time_of_count(count += process == Process::kPoisson ? step(random) : 1, from, slope);
    if (count > expected || !(at < seconds) || arrivals.size() >= 2 * kMostArrivals) break;
    arrivals.push_back({nanoseconds(at), {}, {}});
  }
  return arrivals;
}

Result<std::vector<Arrival>> parse_trace(const std::string& text, const std::string& file,
                                         double speed) {
  std::istringstream lines(text);
  std::string line;
  std::vector<TraceLine> rows;
  int number = 0, time_column = -1, input_column = -1, output_column = -1;
  while (std::getline(lines, line)) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty()) continue;
    if (rows.size() >= kMostArrivals) return bad_line(file, number, "too many requests");
    if (content.front() == '{') {
      auto row = json_line(std::string(content), file, number);
      if (!row) return row.error();
      rows.push_back(*row);
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream cell_text{std::string(content)};
    for (std::string cell; std::getline(cell_text, cell, ',');) cells.emplace_back(trimmed(cell));
    if (time_column < 0) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string name = lower_case(cells[i]);
        if (name == "timestamp") time_column = static_cast<int>(i);
        if (name == "contexttokens") input_column = static_cast<int>(i);
        if (name == "generatedtokens") output_column = static_cast<int>(i);
      }
      if (time_column < 0 || input_column < 0 || output_column < 0)
        return bad_line(file, number, "neither a JSON object nor the titles of a known trace");
      continue;
    }
    if (cells.size() <=
        static_cast<std::size_t>(std::max({time_column, input_column, output_column})))
      return bad_line(file, number, "a column is missing");
    const auto at = trace_time(cells[static_cast<std::size_t>(time_column)]);
    const auto input = finite(cells[static_cast<std::size_t>(input_column)]);
    const auto output = finite(cells[static_cast<std::size_t>(output_column)]);
    if (!at || !input || !output || !trace_length(*input) || !trace_length(*output))
      return bad_line(file, number, "a time or a count of tokens can't be read");
    rows.push_back({*at, *trace_length(*input), *trace_length(*output)});
  }
  if (rows.empty()) return bad_line(file, number, "no request in the trace");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TraceLine& a, const TraceLine& b) { return a.seconds < b.seconds; });
  std::vector<Arrival> arrivals;
  arrivals.reserve(rows.size());
  for (const TraceLine& row : rows) {
    arrivals.push_back(
        {nanoseconds((row.seconds - rows.front().seconds) / speed), row.input, row.output});
  }
  return arrivals;
}

}  // namespace muster::load
