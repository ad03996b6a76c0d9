// Where `muster top` takes its samples from.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/http.h"
#include "cli/context.h"
#include "metrics/top.h"

namespace muster::cli {

struct TopSource {
  enum class Kind { kHost, kExporter, kServer, kFile };
  Kind kind = Kind::kHost;
  std::string name;  ///< as given
  std::string url;   ///< what is asked
  std::string host;  ///< whose series an exporter's are
};

/// http://HOST:PORT and its /metrics are an exporter; with `server` it is a Prometheus, asked by
/// federation; anything else is a file that was saved. Failure: a URL that is none.
Result<TopSource> top_source(const std::string& text, bool server);

/// Asks one; never longer than the limit.
metrics::Scraped scrape_source(const Context& context, HttpClient& http, const TopSource& source,
                               std::chrono::milliseconds limit);

/// All of them, some at a time.
std::vector<metrics::Scraped> scrape_sources(const Context& context, HttpClient& http,
                                             const std::vector<TopSource>& sources,
                                             std::chrono::milliseconds limit);

}  // namespace muster::cli
