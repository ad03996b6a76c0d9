#include "metrics/exporter.h"

#include <zlib.h>

#include <stdexcept>

#include <fmt/format.h>

#include "base/words.h"

namespace muster::metrics {
namespace {

constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

constexpr const char* kPage =
    "<!doctype html>\n<html lang=\"en\"><head><meta "
    "charset=\"utf-8\"><title>muster-exporter</title>"
    "</head>\n<body><h1>muster-exporter " MUSTER_VERSION
    "</h1>\n<p>What this host tells of itself, for Prometheus: <a href=\"/metrics\">/metrics</a>. "
    "Whether this program answers: <a href=\"/health\">/health</a>.</p></body></html>\n";

/// Calls with each part of a header's list: its name in lower case and its q.
template <typename Each>
void for_each_choice(std::string_view list, const Each& each) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const auto semicolon = std::min(one.find(';'), one.size());
    const std::string name = lower_case(trimmed(one.substr(0, semicolon)));
    double quality = 1;
    one.remove_prefix(semicolon);
    while (!one.empty()) {
      one.remove_prefix(1);
      const auto next = std::min(one.find(';'), one.size());
      const std::string parameter = lower_case(trimmed(one.substr(0, next)));
      if (parameter.starts_with("q="))
        quality = finite(std::string_view(parameter).substr(2)).value_or(0);
      one.remove_prefix(next);
    }
    if (!name.empty()) each(name, quality);
  }
}

}  // namespace

Form negotiated_form(std::string_view accept) {
  double open_metrics = 0, text = 0;
  for_each_choice(accept, [&](const std::string& name, double quality) {
    if (name == "application/openmetrics-text") open_metrics = std::max(open_metrics, quality);
    if (name == "text/plain") text = std::max(text, quality);
  });
  return open_metrics > 0 && open_metrics >= text ? Form::kOpenMetrics : Form::kText;
}

bool allows_gzip(std::string_view accept_encoding) {
  bool allowed = false;
  for_each_choice(accept_encoding, [&](const std::string& name, double quality) {
    if (name == "gzip") allowed = quality > 0;
  });
  return allowed;
}

std::string gzipped(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16, kMemory = 8;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

ExporterPages::ExporterPages(Scrape scrape, std::map<std::string, std::string> users,
                             std::vector<std::pair<std::string, std::string>> headers)
    : scrape_(std::move(scrape)),
      headers_(std::move(headers)),
      thread_([this] { work(); }),
      auth_(std::move(users)) {}

ExporterPages::~ExporterPages() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ExporterPages::send(server::Exchange& exchange, server::Answer answer) const {
  answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
  exchange.answer(std::move(answer));
}

void ExporterPages::answer(const std::shared_ptr<server::Exchange>& exchange) {
  const server::Request& request = exchange->request();
  if (request.method != "GET" && request.method != "HEAD") {
    auto refused = server::Answer::text(405, "GET or HEAD\n");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return send(*exchange, std::move(refused));
  }
  // Open to all: it says nothing of the host, and probes have no passwords.
  if (request.path == "/health") return send(*exchange, server::Answer::text(200, "ok\n"));
  auth_.check(request.header("authorization"), [this, exchange](server::Access access) {
    if (access == server::Access::kGranted) return answer_allowed(exchange);
    if (access == server::Access::kBusy)
      return send(*exchange, server::Answer::text(503, "too many wait\n"));
    auto refused = server::Answer::text(401, "who are you?\n");
    refused.headers.emplace_back("WWW-Authenticate", "Basic realm=\"muster-exporter\"");
    send(*exchange, std::move(refused));
  });
}

void ExporterPages::answer_allowed(const std::shared_ptr<server::Exchange>& exchange) {
  const std::string& path = exchange->request().path;
  if (path == "/metrics") {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(exchange);
    changed_.notify_all();
  } else if (path == "/") {
    server::Answer page = server::Answer::text(200, kPage);
    page.headers.front().second = "text/html; charset=utf-8";
    send(*exchange, std::move(page));
  } else {
    send(*exchange, server::Answer::text(404, "there is /metrics, /health and /\n"));
  }
}

void ExporterPages::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) break;
    const auto clients = std::move(waiting_);
    waiting_.clear();
    lock.unlock();
    // By form and gzip: each made once, when somebody wants it.
    std::shared_ptr<const std::string> bodies[2][2];
    for (const auto& client : clients) {
      const server::Request& request = client->request();
      const Form form = negotiated_form(request.header("accept"));
      const bool gzip = allows_gzip(request.header("accept-encoding"));
      auto& plain = bodies[static_cast<int>(form)][0];
      if (plain == nullptr) plain = std::make_shared<const std::string>(scrape_(form));
      auto& body = bodies[static_cast<int>(form)][gzip ? 1 : 0];
      if (body == nullptr) body = std::make_shared<const std::string>(gzipped(*plain));
      server::Answer answer;
      answer.body = body;
      answer.headers = {{"Content-Type", form == Form::kText ? kText : kOpenMetrics},
                        {"Vary", "Accept, Accept-Encoding"}};
      if (gzip) answer.headers.emplace_back("Content-Encoding", "gzip");
      send(*client, std::move(answer));
    }
    lock.lock();
  }
}

}  // namespace muster::metrics
