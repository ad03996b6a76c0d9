#include "bench/read.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"
#include "runs/log_patterns.h"

namespace muster::bench {
namespace {

/// A timestamp that a log collector puts before a line: 2025-05-16T16:39:55.210-07:00.
std::string_view without_time(std::string_view line) {
  if (line.size() < 20 || line[4] != '-' || line[7] != '-' || line[10] != 'T') return line;
  const std::size_t end = line.find(' ');
  return end != std::string_view::npos && end < 40 ? line.substr(end + 1) : line;
}

void read_text(std::string_view text, LogBuilder& builder) {
  std::vector<std::unique_ptr<TextReader>> readers;
  readers.push_back(make_native_reader());
  readers.push_back(make_nccl_reader());
  readers.push_back(make_osu_reader());
  readers.push_back(make_imb_reader());
  readers.push_back(make_expert_reader());
  readers.push_back(make_pplx_reader());
  readers.push_back(make_perftest_reader());
  readers.push_back(make_nvbandwidth_reader());
  readers.push_back(make_nccom_reader());
  readers.push_back(make_nvshmem_reader());
  Surroundings surroundings;
  int number = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    std::string_view one = text.substr(at, end - at);
    at = end + 1;
    constexpr std::size_t kLongest = 100000;  // no tool prints such a line
    if (one.size() > kLongest) {
      builder.unread({{}, {}, number}, "the line is too long to be a row");
      continue;
    }
    const auto plain = runs::plain_line(without_time(one));
    const LogLine line{plain.text, plain.source, number};
    const bool taken = std::any_of(readers.begin(), readers.end(),
                                   [&](const auto& reader) { return reader->take(line, builder); });
    if (!taken) surroundings.see(line, builder);
  }
  for (const auto& reader : readers) reader->finish(builder);
  surroundings.finish(builder);
}

void read_document(const Node& document, LogBuilder& builder) {
  for (const auto read : {read_nccl_json, read_rccl_json, read_perftest_json, read_nvbandwidth_json,
                          read_pplx_json, read_own_json}) {
    if (read(document, builder)) return;
  }
}

}  // namespace

Result<Log> read_log(std::string_view text, const std::string& file) {
  LogBuilder builder(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos &&
                    (text[first] == '{' ||
                     (text[first] == '[' &&
                      text.find_first_not_of(" \t\r\n", first + 1) != std::string_view::npos &&
                      text[text.find_first_not_of(" \t\r\n", first + 1)] == '{'));
  if (json) {
    const auto document = parse_json(text, file);
    if (!document) return document.error();
    read_document(*document, builder);
  } else {
    read_text(text, builder);
  }
  Log log = std::move(builder.log);
  for (Run& run : log.runs) {
    for (Record& record : run.records) {
      if (record.operation.empty()) record.operation = run.operation;
      if (!record.ranks) record.ranks = ranks_of(run);
      if (!record.nodes) record.nodes = nodes_of(run);
    }
  }
  return log;
}

}  // namespace muster::bench
