#include "lock/fetch.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace muster::lock {
namespace {

using State = Answer::State;

constexpr const char* kManifest = "https://registry.example/v2/team/app/manifests/1.2";

std::string digest(char c) {
  return "sha256:" + std::string(64, c);
}

HttpResponse response(int status, std::map<std::string, std::string> headers = {},
                      std::string body = {}) {
  return {status, std::move(headers), std::move(body)};
}

std::string authorization(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers) {
    if (name == "Authorization") return value;
  }
  return {};
}

class FetchTest : public ::testing::Test {
 protected:
  int asked(const std::string& url) const {
    int count = 0;
    for (const HttpRequest& request : http_.asked()) count += request.url == url ? 1 : 0;
    return count;
  }

  FakeHttpClient http_;
  ManualClock clock_;
  Fetcher fetcher_{http_, clock_, std::chrono::seconds(5)};
};

TEST_F(FetchTest, AnImageBehindAToken) {
  http_.answer(
      std::string("HEAD ") + kManifest, [](const HttpRequest& request) -> Result<HttpResponse> {
        if (authorization(request) == "Bearer t0")
          return response(200, {{"docker-content-digest", digest('a')}});
        return response(401, {{"www-authenticate",
                               "Bearer realm=\"https://auth.example/token\",service=\"registry\","
                               "scope=\"repository:team/app:pull\""}});
      });
  http_.answer("GET https://auth.example/token?scope=repository:team/app:pull&service=registry",
               response(200, {}, R"({"token": "t0", "expires_in": 300})"));
  const Answer answer = ask_image("registry.example/team/app:1.2", fetcher_);
  EXPECT_EQ(answer.state, State::kFound) << answer.why;
  EXPECT_EQ(answer.digest, digest('a'));
}

TEST_F(FetchTest, HubsShortNamesAndAHeadWithoutADigest) {
  const std::string url = "https://registry-1.docker.io/v2/library/ubuntu/manifests/24.04";
  http_.answer("HEAD " + url, response(200));
  http_.answer("GET " + url, response(200, {}, "{}"));
  EXPECT_EQ(ask_image("ubuntu:24.04", fetcher_).digest, "sha256:" + sha256("{}"));
  http_.answer("HEAD https://registry-1.docker.io/v2/pytorch/pytorch/manifests/2",
               response(200, {{"docker-content-digest", digest('b')}}));
  EXPECT_EQ(ask_image("pytorch/pytorch:2", fetcher_).digest, digest('b'));
}

TEST_F(FetchTest, ATagThatIsNotThereIsAbsentAndAFailureIsNot) {
  const std::string head = std::string("HEAD ") + kManifest;
  http_.answer(head, response(404));
  EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kAbsent);
  for (const int status : {403, 500, 429}) {
    http_.answer(head, response(status));
    EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kUnreached)
        << status;
  }
  // A realm that would send the token in the clear, and a login of another kind.
  for (const char* challenge :
       {"Bearer realm=\"http://auth.example/token\"", "Basic realm=\"x\"", ""}) {
    http_.answer(head, response(401, {{"www-authenticate", challenge}}));
    EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kUnreached);
  }
}

TEST_F(FetchTest, TooManyRequestsAreWaitedOutShortly) {
  int turn = 0;
  const std::string head = std::string("HEAD ") + kManifest;
  http_.answer(head, [&](const HttpRequest&) -> Result<HttpResponse> {
    if (++turn < 3) return response(429, {{"retry-after", "4"}});
    return response(200, {{"docker-content-digest", digest('c')}});
  });
  const auto before = clock_.steady();
  EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kFound);
  EXPECT_EQ(clock_.steady() - before, std::chrono::seconds(8));
  http_.answer(head, response(429, {{"retry-after", "3600"}}));
  const auto again = clock_.steady();
  const Answer answer = ask_image("registry.example/team/app:1.2", fetcher_);
  EXPECT_EQ(answer.state, State::kUnreached);
  EXPECT_EQ(answer.why, "the registry answered with status 429");
  EXPECT_EQ(clock_.steady(), again);
}

TEST_F(FetchTest, AHostThatDoesNotAnswerIsAskedOnce) {
  http_.answer("HEAD https://registry.example", [](const HttpRequest&) -> Result<HttpResponse> {
    return failure("http-failed", "no answer within 5000 ms");
  });
  EXPECT_EQ(ask_image("registry.example/a:1", fetcher_).why, "no answer within 5000 ms");
  EXPECT_EQ(ask_image("registry.example/b:1", fetcher_).why,
            "https://registry.example did not answer before");
  EXPECT_EQ(http_.asked().size(), 1U);
  EXPECT_EQ(http_.asked().front().time_limit, std::chrono::seconds(5));
}

TEST_F(FetchTest, RedirectsAreFollowedWithoutTheToken) {
  const std::string head = std::string("HEAD ") + kManifest;
  http_.answer(head, [](const HttpRequest& request) -> Result<HttpResponse> {
    if (authorization(request).empty())
      return response(401, {{"www-authenticate", "Bearer realm=\"https://auth.example/token\""}});
    return response(307, {{"location", "https://mirror.example/m"}});
  });
  http_.answer("GET https://auth.example/token", response(200, {}, R"({"access_token": "t1"})"));
  http_.answer("HEAD https://mirror.example/m",
               [](const HttpRequest& request) -> Result<HttpResponse> {
                 EXPECT_EQ(authorization(request), "");
                 return response(200, {{"docker-content-digest", digest('d')}});
               });
  EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).digest, digest('d'));
  http_.answer(head, response(302, {{"location", "http://mirror.example/m"}}));
  EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kUnreached);
  http_.answer(head, response(302, {{"location", kManifest}}));
  EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kUnreached);
  EXPECT_LE(asked(kManifest), 8);
}

std::string packet(const std::string& text) {
  char length[5];
  std::snprintf(length, sizeof length, "%04zx", text.size() + 4);
  return length + text;
}

TEST_F(FetchTest, TheCommitOfATag) {
  const std::string first(40, '1'), tag(40, '2'), peeled(40, '3');
  const std::string list = packet("# service=git-upload-pack\n") + "0000" +
                           packet(first + " HEAD" + std::string("\0multi_ack", 10) + "\n") +
                           packet(first + " refs/heads/main\n") + packet(tag + " refs/tags/v1\n") +
                           packet(peeled + " refs/tags/v1^{}\n") + "0000";
  http_.answer("GET https://git.example/a.git/info/refs?service=git-upload-pack",
               response(200, {}, list));
  const std::string url = "https://git.example/a.git";
  EXPECT_EQ(ask_repository(url, "v1", fetcher_).digest, peeled);
  EXPECT_EQ(ask_repository(url, "main", fetcher_).digest, first);
  EXPECT_EQ(ask_repository(url, "v2", fetcher_).state, State::kAbsent);
  // Cut anywhere it is no answer: neither another commit nor a tag that is not there.
  for (std::size_t size = 0; size < list.size(); ++size) {
    http_.answer("GET https://git.example/a.git/info/refs?service=git-upload-pack",
                 response(200, {}, list.substr(0, size)));
    for (const char* ref : {"v1", "main", "v2"})
      EXPECT_EQ(ask_repository(url, ref, fetcher_).state, State::kUnreached) << size << ref;
  }
}

TEST_F(FetchTest, ThePackagesFilesInBothForms) {
  const std::string url = "https://index.example/simple/some-name/";
  const std::string one(64, 'a'), two(64, 'b');
  http_.answer("GET " + url,
               response(200, {{"content-type", "application/vnd.pypi.simple.v1+json"}},
                        R"({"files": [
    {"filename": "some_name-1.2-py3-none-any.whl", "hashes": {"sha256": ")" +
                            one + R"("}},
    {"filename": "some-name-1.2.tar.gz", "hashes": {"sha256": ")" +
                            two + R"("}},
    {"filename": "some_name-1.2-cp312-cp312-win_amd64.whl", "hashes": {"sha256": ")" +
                            two + R"("}},
    {"filename": "some_name-1.20-py3-none-any.whl", "hashes": {"sha256": ")" +
                            two + R"("}}]})"));
  const std::vector<std::string> index = {"https://index.example/simple"};
  const Answer json = ask_package("some-name", "1.2", index, fetcher_);
  ASSERT_EQ(json.state, State::kFound) << json.why;
  EXPECT_EQ(json.files, (std::map<std::string, std::string>{{"some_name-1.2-py3-none-any.whl", one},
                                                            {"some-name-1.2.tar.gz", two}}));
  EXPECT_EQ(ask_package("some-name", "1.3", index, fetcher_).state, State::kAbsent);

  http_.answer("GET " + url,
               response(200, {{"content-type", "text/html"}},
                        "<!DOCTYPE html><a href=\"../../f/some_name-1.2%2Bcu130-cp312-cp312-"
                        "manylinux_2_28_x86_64.whl#sha256=" +
                            one + "\">x</a>"));
  const Answer html = ask_package("some-name", "1.2", index, fetcher_);
  ASSERT_EQ(html.state, State::kFound) << html.why;
  EXPECT_EQ(html.files.begin()->first, "some_name-1.2+cu130-cp312-cp312-manylinux_2_28_x86_64.whl");
}

// The lock file has to be read again.
TEST_F(FetchTest, WhatIsNoChecksumIsNoAnswer) {
  const std::string head = std::string("HEAD ") + kManifest;
  for (const char* odd : {"sha256:short", "sha512:0", "sha256: x"}) {
    http_.answer(head, response(200, {{"docker-content-digest", odd}}));
    EXPECT_EQ(ask_image("registry.example/team/app:1.2", fetcher_).state, State::kUnreached);
  }
  const std::string commit(40, 'x');
  http_.answer("GET https://git.example/a.git/info/refs?service=git-upload-pack",
               response(200, {}, packet(commit + " refs/tags/v1\n") + "0000"));
  EXPECT_EQ(ask_repository("https://git.example/a.git", "v1", fetcher_).state, State::kUnreached);
  const auto files = [&](const std::string& name, const std::string& sum) {
    http_.answer("GET https://index.example/p/",
                 response(200, {{"content-type", "application/json"}},
                          R"({"files": [{"filename": ")" + name + R"(", "hashes": {"sha256": ")" +
                              sum + R"("}}]})"));
    return ask_package("p", "1", {"https://index.example"}, fetcher_).state;
  };
  EXPECT_EQ(files("p-1.tar.gz", std::string(64, 'a')), State::kFound);
  EXPECT_EQ(files("p-1.tar.gz", "short: x"), State::kUnreached);
  EXPECT_EQ(files(R"(p-1-\"\n-any.whl)", std::string(64, 'a')), State::kUnreached);
}

TEST_F(FetchTest, OnlyWhenEveryIndexSaysNoIsAPackageAbsent) {
  const std::vector<std::string> both = {"https://one.example/simple",
                                         "https://two.example/simple"};
  http_.answer("GET https://one.example/simple/p/", response(404));
  http_.answer("GET https://two.example/simple/p/", response(503));
  EXPECT_EQ(ask_package("p", "1", both, fetcher_).state, State::kUnreached);
  http_.answer("GET https://two.example/simple/p/", response(404));
  EXPECT_EQ(ask_package("p", "1", both, fetcher_).state, State::kAbsent);
  http_.answer("GET https://two.example/simple/p/", response(200, {}, "hello"));
  EXPECT_EQ(ask_package("p", "1", both, fetcher_).state, State::kUnreached);
}

}  // namespace
}  // namespace muster::lock
