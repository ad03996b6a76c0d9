// The seam to HTTP servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  ///< http or https
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds time_limit{30000};  ///< for the whole exchange
  std::size_t size_limit = std::size_t{16}
                           << 20;  ///< of the answer's body; more is a failure, not a cut
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case; of repeated ones the last
  std::string body;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  /// Any status is an answer. Failure: no answer (no such host, refused, time limit, too large,
  /// certificate).
  virtual Result<HttpResponse> request(const HttpRequest& request) = 0;
};

/// libcurl, with the machine's certificates; follows no redirects. Loaded when it is first asked;
/// where it is missing every request fails and says so. In the library muster_http.
HttpClient& real_http_client();

/// Scripted answers for tests; records what it was asked.
class FakeHttpClient : public HttpClient {
 public:
  using Answer = std::function<Result<HttpResponse>(const HttpRequest&)>;
  /// `prefix` matches when "METHOD URL" starts with it; the longest prefix wins.
  void answer(std::string prefix, Answer answer);
  void answer(std::string prefix, HttpResponse response);
  const std::vector<HttpRequest>& asked() const { return asked_; }

  Result<HttpResponse> request(const HttpRequest& request) override;

 private:
  std::map<std::string, Answer> answers_;
  std::vector<HttpRequest> asked_;
};

}  // namespace muster
