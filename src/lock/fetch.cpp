#include "lock/fetch.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace muster::lock {
namespace {

constexpr int kMostRedirects = 3;
constexpr int kMostWaits = 2;
constexpr int kTooManyRequests = 429;
constexpr std::chrono::seconds kLongestWait{10};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string resolved(const std::string& url, const std::string& location) {
  if (location.rfind("http://", 0) == 0 || location.rfind("https://", 0) == 0) return location;
  if (location.rfind("//", 0) == 0) return url.substr(0, url.find("//")) + location;
  if (location.rfind('/', 0) == 0) return host_of(url) + location;
  return url.substr(0, url.rfind('/') + 1) + location;
}

std::chrono::seconds wait_asked(const HttpResponse& response) {
  const std::string text = header(response, "retry-after");
  int seconds = 1;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(std::max(0, seconds));
}

}  // namespace

std::string host_of(const std::string& url) {
  const auto begin = url.find("//");
  if (begin == std::string::npos) return url;
  return url.substr(0, url.find_first_of("/?#", begin + 2));
}

std::string header(const HttpResponse& response, const std::string& name) {
  const auto found = response.headers.find(name);
  return found == response.headers.end() ? std::string() : found->second;
}

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<HttpResponse> Fetcher::ask(HttpRequest request) {
  request.time_limit = limit_;
  for (int turn = 0;; ++turn) {
    auto response = ask_once(request);
    if (!response || !is_redirect(response->status)) return response;
    const std::string location = header(*response, "location");
    if (location.empty() || turn == kMostRedirects)
      return failure("lock-redirect", fmt::format("{}: redirected without an end", request.url));
    const std::string next = resolved(request.url, location);
    if (request.url.rfind("https://", 0) == 0 && next.rfind("https://", 0) != 0)
      return failure("lock-redirect", fmt::format("{}: redirected to {}, which nobody vouches for",
                                                  request.url, next));
    if (host_of(next) != host_of(request.url)) {
      std::erase_if(request.headers, [](const auto& one) { return one.first == "Authorization"; });
    }
    request.url = next;
  }
}

Result<HttpResponse> Fetcher::ask_once(const HttpRequest& request) {
  const std::string host = host_of(request.url);
  if (silent_.count(host) != 0)
    return failure("lock-silent", fmt::format("{} did not answer before", host));
  for (int waits = 0;; ++waits) {
    auto response = http_.request(request);
    if (!response) {
      silent_.insert(host);
      return response;
    }
    if (response->status != kTooManyRequests || waits == kMostWaits) return response;
    const auto pause = wait_asked(*response);
    if (pause > kLongestWait) return response;
    clock_.sleep_for(pause);
  }
}

}  // namespace muster::lock
