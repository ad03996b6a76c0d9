// Asking registries: follows redirects, waits out a short "too many requests", and asks a host that
// does not answer only once.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/http.h"
#include "base/result.h"

namespace muster::lock {

class Fetcher {
 public:
  Fetcher(HttpClient& http, Clock& clock, std::chrono::milliseconds limit)
      : http_(http), clock_(clock), limit_(limit) {}

  /// Any status but a redirect is an answer. Failure: no answer, a host that gave none before, more
  /// than three redirects, one to another protocol. What is sent as authorization goes to its own
  /// host only.
  Result<HttpResponse> ask(HttpRequest request);

 private:
  Result<HttpResponse> ask_once(const HttpRequest& request);

  HttpClient& http_;
  Clock& clock_;
  std::chrono::milliseconds limit_;
  std::set<std::string> silent_;  ///< hosts
};

/// "https://host:443" of a URL.
std::string host_of(const std::string& url);

/// Value of a header; empty when it is not there.
std::string header(const HttpResponse& response, const std::string& name);

/// Whether a text is so many hexadecimal digits, in small letters, as the lock file takes them.
bool is_hexadecimal(std::string_view text, std::size_t digits);

/// What a registry says of one pin.
struct Answer {
  enum class State { kFound, kAbsent, kUnreached };
  State state = State::kUnreached;
  std::string digest;                        ///< of an image, or the commit of a tag
  std::map<std::string, std::string> files;  ///< of a package: name -> sha256
  std::string why;                           ///< where it was not found, or not reached

  static Answer absent(std::string why) { return {State::kAbsent, {}, {}, std::move(why)}; }
  static Answer unreached(std::string why) { return {State::kUnreached, {}, {}, std::move(why)}; }
};

/// The digest that a tag of an image stands for now: the OCI distribution API, with the token that
/// the registry asks for where it gives one to anybody.
Answer ask_image(const std::string& image, Fetcher& fetcher);

/// The commit that a tag or branch stands for now: git's own protocol over HTTP.
Answer ask_repository(const std::string& url, const std::string& ref, Fetcher& fetcher);

/// The checksums of a version's files: the simple index (PEP 503, PEP 691) of each address in turn.
Answer ask_package(const std::string& name, const std::string& version,
                   const std::vector<std::string>& indexes, Fetcher& fetcher);

}  // namespace muster::lock
