#include <utility>

#include "base/http.h"

namespace muster {

void FakeHttpClient::answer(std::string prefix, Answer answer) {
  answers_[std::move(prefix)] = std::move(answer);
}

void FakeHttpClient::answer(std::string prefix, HttpResponse response) {
  answer(std::move(prefix),
         [response = std::move(response)](const HttpRequest&) -> Result<HttpResponse> {
           return response;
         });
}

Result<HttpResponse> FakeHttpClient::request(const HttpRequest& request) {
  asked_.push_back(request);
  const std::string line = request.method + " " + request.url;
  const Answer* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [prefix, answer] : answers_) {
    if (line.rfind(prefix, 0) != 0 || (best != nullptr && prefix.size() < best_length)) continue;
    best = &answer;
    best_length = prefix.size();
  }
  if (best == nullptr) return failure("http-failed", request.url + ": could not connect to server");
  return (*best)(request);
}

}  // namespace muster
