// The OCI distribution API: GET /v2/NAME/manifests/TAG, and the token that a registry asks for.
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "lock/fetch.h"

namespace muster::lock {
namespace {

constexpr const char* kManifestTypes =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

struct Reference {
  std::string base;  ///< https://registry
  std::string name, tag;
};

/// "ubuntu:24.04" is library/ubuntu of Docker Hub; a first part with a dot, a colon or the name
/// localhost is a registry.
Reference parse_reference(const std::string& image) {
  Reference reference;
  std::string rest = image;
  std::string host = "docker.io";
  const auto slash = image.find('/');
  const std::string first = image.substr(0, slash);
  if (slash != std::string::npos &&
      (first.find_first_of(".:") != std::string::npos || first == "localhost")) {
    host = first;
    rest = image.substr(slash + 1);
  }
  const auto colon = rest.rfind(':');
  reference.tag = colon == std::string::npos ? "latest" : rest.substr(colon + 1);
  reference.name = rest.substr(0, colon);
  if (host == "docker.io") {
    host = "registry-1.docker.io";
    if (reference.name.find('/') == std::string::npos) reference.name = "library/" + reference.name;
  }
  const std::string plain = host.substr(0, host.find(':'));
  const bool is_local = plain == "localhost" || plain == "127.0.0.1";
  reference.base = (is_local ? "http://" : "https://") + host;
  return reference;
}

/// `Bearer realm="https://…",service="…",scope="…"`, names in small letters.
std::map<std::string, std::string> challenge_of(const std::string& text) {
  std::map<std::string, std::string> parts;
  if (text.rfind("Bearer ", 0) != 0 && text.rfind("bearer ", 0) != 0) return parts;
  std::size_t at = 7;
  while (at < text.size()) {
    const auto equals = text.find("=\"", at);
    if (equals == std::string::npos) break;
    const auto end = text.find('"', equals + 2);
    if (end == std::string::npos) break;
    const auto from = text.find_first_not_of(", ", at);
    parts[text.substr(from, equals - from)] = text.substr(equals + 2, end - equals - 2);
    at = end + 1;
  }
  return parts;
}

Result<std::string> token_for(const std::string& challenge, const Reference& reference,
                              Fetcher& fetcher) {
  const auto parts = challenge_of(challenge);
  const auto realm = parts.find("realm");
  const bool over_https = realm != parts.end() && realm->second.rfind("https://", 0) == 0;
  const bool is_local = reference.base.rfind("http://", 0) == 0;
  if (realm == parts.end() || (!over_https && !is_local))
    return failure("lock-token", "the registry asks for a login");
  const auto service = parts.find("service");
  const auto scope = parts.find("scope");
  HttpRequest request;
  request.url = fmt::format(
      "{}{}scope={}", realm->second, realm->second.find('?') == std::string::npos ? "?" : "&",
      scope == parts.end() ? fmt::format("repository:{}:pull", reference.name) : scope->second);
  if (service != parts.end()) request.url += "&service=" + service->second;
  const auto response = fetcher.ask(request);
  if (!response) return response.error();
  const auto document = nlohmann::json::parse(response->body, nullptr, false);
  for (const char* key : {"token", "access_token"}) {
    if (response->status == 200 && document.is_object() && document.contains(key) &&
        document[key].is_string())
      return document[key].get<std::string>();
  }
  return failure("lock-token",
                 fmt::format("the registry gives no token (status {})", response->status));
}

}  // namespace

Answer ask_image(const std::string& image, Fetcher& fetcher) {
  const Reference reference = parse_reference(image);
  HttpRequest request;
  request.method = "HEAD";
  request.url = fmt::format("{}/v2/{}/manifests/{}", reference.base, reference.name, reference.tag);
  request.headers = {{"Accept", kManifestTypes}};
  auto response = fetcher.ask(request);
  if (response && response->status == 401) {
    const auto token = token_for(header(*response, "www-authenticate"), reference, fetcher);
    if (!token) return Answer::unreached(token.findings().front().message);
    request.headers.emplace_back("Authorization", "Bearer " + *token);
    response = fetcher.ask(request);
  }
  // Some registries answer HEAD without the digest: it is the checksum of the manifest itself.
  if (response && response->status == 200 && header(*response, "docker-content-digest").empty()) {
    request.method = "GET";
    response = fetcher.ask(request);
    if (response && response->status == 200 && header(*response, "docker-content-digest").empty() &&
        !response->body.empty())
      response->headers["docker-content-digest"] = "sha256:" + sha256(response->body);
  }
  if (!response) return Answer::unreached(response.findings().front().message);
  const std::string digest = header(*response, "docker-content-digest");
  if (response->status == 404) return Answer::absent("the registry has no such tag");
  if (response->status != 200)
    return Answer::unreached(fmt::format("the registry answered with status {}", response->status));
  constexpr std::string_view kStart = "sha256:";
  if (digest.rfind(kStart, 0) != 0 || !is_hexadecimal(digest.substr(kStart.size()), 64))
    return Answer::unreached("the registry gave no SHA-256 digest");
  Answer answer;
  answer.state = Answer::State::kFound;
  answer.digest = digest;
  return answer;
}

}  // namespace muster::lock
