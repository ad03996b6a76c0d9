#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>

#include "base/curl_library.h"
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
  Result<HttpResponse> request(const HttpRequest& request) override {
    const CurlLibrary* const library = CurlLibrary::load();
    if (library == nullptr)
      return failure("http-failed", request.url + ": libcurl is missing",
                     "apt-get install libcurl4");
    const std::unique_ptr<CURL, void (*)(CURL*)> handle(library->easy_init(),
                                                        library->easy_cleanup);
    if (!handle) return failure("http-failed", request.url + ": libcurl can't be set up");
    curl_slist* list = nullptr;
    for (const auto& [name, value] : request.headers)
      list = library->list_append(list, fmt::format("{}: {}", name, value).c_str());
    const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, library->list_free);

    Exchange exchange;
    exchange.size_limit = request.size_limit;
    CURL* curl = handle.get();
    library->set(curl, CURLOPT_URL, request.url.c_str());
    library->set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    library->set(curl, CURLOPT_NOSIGNAL, 1L);
    library->set(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.time_limit.count()));
    library->set(curl, CURLOPT_HTTPHEADER, headers.get());
    if (request.method == "HEAD") {
      library->set(curl, CURLOPT_NOBODY, 1L);
    } else if (!request.body.empty()) {
      library->set(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      library->set(curl, CURLOPT_POSTFIELDS, request.body.data());
    }
    library->set(curl, CURLOPT_CUSTOMREQUEST,
                 request.method == "HEAD" ? nullptr : request.method.c_str());
    library->set(curl, CURLOPT_WRITEFUNCTION, take_body);
    library->set(curl, CURLOPT_WRITEDATA, &exchange);
    library->set(curl, CURLOPT_HEADERFUNCTION, take_header);
    library->set(curl, CURLOPT_HEADERDATA, &exchange);
    library->set(curl, CURLOPT_NOPROGRESS, 0L);
    library->set(curl, CURLOPT_XFERINFOFUNCTION, stop_on_interrupt);

    const CURLcode code = library->perform(curl);
    if (exchange.too_large) {
      return failure("http-failed", request.url + ": the answer is larger than " +
                                        std::to_string(request.size_limit) + " bytes");
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
      return failure("http-failed", request.url + ": no answer within " +
                                        std::to_string(request.time_limit.count()) + " ms");
    }
    if (code != CURLE_OK)
      return failure("http-failed", request.url + ": " + library->describe(code));
    long status = 0;
    library->get(curl, CURLINFO_RESPONSE_CODE, &status);
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
