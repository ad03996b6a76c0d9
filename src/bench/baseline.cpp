#include "bench/baseline.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/schema.h"
#include "facts/reading.h"

namespace muster::bench {
namespace {

const Schema& baseline_schema() {
  static const Schema kSchema = [] {
    const Schema samples = Schema::object(
        "Samples at one size",
        {{"size", Schema::integer("Bytes; 0 where the tool gives none").at_least(0).required()},
         {"rates", Schema::list("GB/s", Schema::number("GB/s"))},
         {"times", Schema::list("Microseconds", Schema::number("Microseconds"))}});
    const Schema row = Schema::object(
        "One series", {{"key", Schema::text("What makes it unlike others").required()},
                       {"samples", Schema::list("By size", samples).required()}});
    auto fields = facts::envelope("Baseline");
    fields.push_back({"series", Schema::list("Series", row).required()});
    return Schema::object("Measurements of earlier runs", std::move(fields));
  }();
  return kSchema;
}

void keep_newest(std::vector<double>& samples) {
  if (samples.size() > kMostSamples)
    samples.erase(samples.begin(), samples.end() - static_cast<std::ptrdiff_t>(kMostSamples));
}

std::string number_list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", value);
  return text;
}

std::vector<double> numbers_at(const Node& node, std::string_view key) {
  std::vector<double> values;
  if (const Node* list = node.find(key); list != nullptr && list->is_sequence()) {
    for (const Node& item : list->items()) values.push_back(item.as_double().value_or(0));
  }
  return values;
}

Findings no_rules(const Node& /*document*/) {
  return {};
}

}  // namespace

std::optional<double> rate_of(const Record& record) {
  return record.busbw ? record.busbw : record.algbw;
}

void add_to_baseline(const Log& log, Baseline& baseline) {
  for (const Run& run : log.runs) {
    for (const Record& record : run.records) {
      BaselineSamples& samples = baseline.series[series_key(run, record)][record.size.value_or(0)];
      if (const auto rate = rate_of(record)) samples.rates.push_back(*rate);
      if (record.time) samples.times.push_back(*record.time);
      keep_newest(samples.rates);
      keep_newest(samples.times);
    }
  }
}

std::string baseline_text(const Baseline& baseline) {
  std::string text =
      "# Made by `muster bench baseline`: GB/s of 10^9 bytes and microseconds of earlier runs.\n"
      "apiVersion: muster/v1\nkind: Baseline\nseries:\n";
  if (baseline.series.empty()) text.replace(text.rfind(":\n"), 2, ": []\n");
  for (const auto& [key, sizes] : baseline.series) {
    // A key may hold characters that YAML reads otherwise; in JSON's quotes none does.
    text += fmt::format(
        "  - key: {}\n    samples:\n",
        nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    for (const auto& [size, samples] : sizes) {
      text += fmt::format("      - {{size: {}, rates: [{}], times: [{}]}}\n", size,
                          number_list(samples.rates), number_list(samples.times));
    }
  }
  return text;
}

Result<Baseline> parse_baseline(const std::string& text, const std::string& file) {
  const auto document = facts::parse_facts(text, file, baseline_schema(), no_rules);
  if (!document) return document.error();
  Baseline baseline;
  baseline.file = file;
  for (const Node& row : document->find("series")->items()) {
    auto& sizes = baseline.series[text_at(row, "key")];
    for (const Node& node : row.find("samples")->items()) {
      const auto size = node.find("size")->as_int();
      if (!size || *size < 0) {
        return Failure(error_at(node.find("size")->where(), "baseline-size",
                                "size is not a number of bytes", "a whole number"));
      }
      sizes[static_cast<std::uint64_t>(*size)] = {numbers_at(node, "rates"),
                                                  numbers_at(node, "times")};
    }
  }
  return baseline;
}

}  // namespace muster::bench
