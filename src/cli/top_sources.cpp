#include "cli/top_sources.h"

#include <algorithm>
#include <atomic>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/words.h"
#include "cli/engine_program.h"
#include "health/view.h"
#include "metrics/collectors.h"

namespace muster::cli {
namespace {

using metrics::Sample;
using metrics::Scraped;

/// How many sources are asked at the same time.
constexpr std::size_t kAtATime = 16;

std::string host_of_url(const std::string& url) {
  const std::size_t start = url.find("://") + 3;
  const std::string authority = url.substr(start, url.find('/', start) - start);
  const std::string host = authority.substr(authority.rfind('@') + 1);
  return host.substr(0, host.rfind(':'));
}

/// Everything of a name that the view is made of, escaped for a URL.
std::string federation() {
  std::string names;
  for (const std::string& name : metrics::top_metrics())
    names += (names.empty() ? "" : "%7C") + name;
  return "/federate?match%5B%5D=%7B__name__%3D~%22" + names + "%22%7D";
}

double seconds_of(const Context& context) {
  return std::chrono::duration<double>(context.clock.steady().time_since_epoch()).count();
}

void take_text(const std::string& text, Scraped& to) {
  metrics::SampleText read = metrics::read_samples(text);
  to.samples = std::move(read.samples);
  to.refused = read.refused;
  if (to.samples.empty()) to.wrong = "no metrics in what it answers";
}

/// Load and memory of this machine, by the names of node_exporter.
void read_proc(const Context& context, Scraped& to) {
  if (const auto load = context.files.read("/proc/loadavg")) {
    const auto words = words_of(*load);
    if (const auto value = words.empty() ? std::nullopt : finite(words[0]))
      to.samples.push_back({"node_load1", {}, *value});
  }
  const auto memory = context.files.read("/proc/meminfo");
  if (!memory) return;
  std::istringstream lines(*memory);
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    const auto value = words.size() > 1 ? finite(words[1]) : std::nullopt;
    if (!value) continue;
    if (words[0] == "MemTotal:")
      to.samples.push_back({"node_memory_MemTotal_bytes", {}, *value * 1024});
    if (words[0] == "MemAvailable:")
      to.samples.push_back({"node_memory_MemAvailable_bytes", {}, *value * 1024});
  }
}

// This machine: the exporter's program tells all that it would serve; where it is not installed,
// the kernel's files tell of the links.
void read_this_host(const Context& context, std::chrono::milliseconds limit, Scraped& to) {
  const auto exporter = find_engine(context, "muster-exporter");
  bool told = false;
  if (exporter) {
    Command command;
    command.argv = {exporter->string(), "--once"};
    command.time_limit = limit;
    const auto ran = context.processes.run(command);
    if (ran && ran->exit_code == 0) {
      take_text(ran->out, to);
      to.wrong.clear();
      told = true;
    }
  }
  if (!told) {
    metrics::Exposition links;
    metrics::collect_efa(health::LiveView(context.files, context.processes), links);
    to.samples = metrics::read_samples(links.text()).samples;
  }
  read_proc(context, to);
}

}  // namespace

Result<TopSource> top_source(const std::string& text, bool server) {
  const bool url = text.starts_with("http://") || text.starts_with("https://");
  if (!url && (server || text.find("://") != std::string::npos))
    return failure("top-source", fmt::format("\"{}\" is no http or https URL", text));
  if (!url) return TopSource{TopSource::Kind::kFile, text, {}, text};
  std::string base = text;
  while (base.ends_with('/')) base.pop_back();
  const bool bare = base.find('/', base.find("://") + 3) == std::string::npos;
  if (server) return TopSource{TopSource::Kind::kServer, text, base + federation(), {}};
  return TopSource{TopSource::Kind::kExporter, text, bare ? base + "/metrics" : base,
                   host_of_url(base)};
}

Scraped scrape_source(const Context& context, HttpClient& http, const TopSource& source,
                      std::chrono::milliseconds limit) {
  Scraped scraped;
  scraped.source = source.name;
  scraped.host = source.host;
  if (source.kind == TopSource::Kind::kHost) {
    read_this_host(context, limit, scraped);
  } else if (source.kind == TopSource::Kind::kFile) {
    scraped.host.clear();
    const auto text = context.files.read(context.directory / source.name);
    if (text)
      take_text(*text, scraped);
    else
      scraped.wrong = text.findings().front().message;
  } else {
    HttpRequest request;
    request.url = source.url;
    request.time_limit = limit;
    const auto answer = http.request(request);
    if (!answer)
      scraped.wrong = answer.findings().front().message;
    else if (answer->status != 200)
      scraped.wrong = fmt::format("answers {}", answer->status);
    else
      take_text(answer->body, scraped);
  }
  scraped.seconds = seconds_of(context);
  return scraped;
}

std::vector<Scraped> scrape_sources(const Context& context, HttpClient& http,
                                    const std::vector<TopSource>& sources,
                                    std::chrono::milliseconds limit) {
  std::vector<Scraped> scraped(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++)
      scraped[i] = scrape_source(context, http, sources[i], limit);
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min(kAtATime, sources.size()); ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return scraped;
}

}  // namespace muster::cli
