#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>

#include "base/http.h"
#include "base/process.h"

namespace muster {
namespace {

struct Exchange {
  HttpResponse response;
  std::size_t size_limit = 0;
  bool too_large = false;
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (exchange.response.body.size() + size > exchange.size_limit) {
    exchange.too_large = true;
    return 0;  // ends the transfer
  }
  exchange.response.body.append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (line.substr(0, 5) == "HTTP/")
    exchange.response.headers.clear();  // an interim answer came before
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && std::string_view(" \t\r\n").find(value.back()) != std::string_view::npos)
    value.remove_suffix(1);
  exchange.response.headers[name] = value;
  return size;
}

int stop_on_interrupt(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupted() ? 1 : 0;
}

class CurlClient : public HttpClient {
 public:
  CurlClient() { curl_global_init(CURL_GLOBAL_DEFAULT); }

  Result<HttpResponse> request(const HttpRequest& request) override {
    const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
    if (!handle) return failure("http-failed", request.url + ": libcurl can't be set up");
    curl_slist* list = nullptr;
    for (const auto& [name, value] : request.headers)
      list = curl_slist_append(list, fmt::format("{}: {}", name, value).c_str());
    const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, curl_slist_free_all);

    Exchange exchange;
    exchange.size_limit = request.size_limit;
    CURL* curl = handle.get();
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.time_limit.count()));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    if (request.method == "HEAD") {
      curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (!request.body.empty()) {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST,
                     request.method == "HEAD" ? nullptr : request.method.c_str());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_on_interrupt);

    const CURLcode code = curl_easy_perform(curl);
    if (exchange.too_large) {
      return failure("http-failed", request.url + ": the answer is larger than " +
                                        std::to_string(request.size_limit) + " bytes");
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
      return failure("http-failed", request.url + ": no answer within " +
                                        std::to_string(request.time_limit.count()) + " ms");
    }
    if (code != CURLE_OK)
      return failure("http-failed", request.url + ": " + curl_easy_strerror(code));
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    exchange.response.status = static_cast<int>(status);
    return std::move(exchange.response);
  }
};

}  // namespace

HttpClient& real_http_client() {
  static CurlClient client;
  return client;
}

}  // namespace muster
