// What the exporter answers over HTTP.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/basic_auth.h"
#include "base/http_server.h"
#include "metrics/exposition.h"

namespace muster::metrics {

/// Which form a client's Accept header asks for.
Form negotiated_form(std::string_view accept);
/// Whether an Accept-Encoding header allows gzip.
bool allows_gzip(std::string_view accept_encoding);
/// The text as gzip.
std::string gzipped(std::string_view text);

/// Answers requests: /metrics, /health, and a page at /. All who ask while a scrape is under way
/// get the next one, together: a thousand clients cost one collection.
class ExporterPages {
 public:
  using Scrape = std::function<std::string(Form)>;

  ExporterPages(Scrape scrape, std::map<std::string, std::string> users,
                std::vector<std::pair<std::string, std::string>> headers);
  ~ExporterPages();
  ExporterPages(const ExporterPages&) = delete;
  ExporterPages& operator=(const ExporterPages&) = delete;

  void answer(const std::shared_ptr<server::Exchange>& exchange);

 private:
  void send(server::Exchange& exchange, server::Answer answer) const;
  void answer_allowed(const std::shared_ptr<server::Exchange>& exchange);
  void work();

  const Scrape scrape_;
  const std::vector<std::pair<std::string, std::string>> headers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::vector<std::shared_ptr<server::Exchange>> waiting_;
  std::thread thread_;
  server::BasicAuth auth_;  ///< last: its thread calls the others
};

}  // namespace muster::metrics
