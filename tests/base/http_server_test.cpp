// The server: answers at once and later, limits on what a client may send and how long it may take,
// users, and the web configuration.
#include "base/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/basic_auth.h"
#include "base/web_config.h"

namespace muster::server {
namespace {

constexpr int kPatience = 60000;  // ms

class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  bool send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// What comes until `marker` has, or the other side ends.
  std::string receive(std::string_view marker) {
    std::string all;
    char buffer[65536];
    while (marker.empty() || all.find(marker) == std::string::npos) {
      pollfd one{socket_, POLLIN, 0};
      if (poll(&one, 1, kPatience) <= 0) return all + "(nothing more came)";
      const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) return all + "(end)";
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::string get(const std::string& path, const std::string& more = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n", path, more);
}

std::unique_ptr<Server> started(Handler handler, Options options = {}) {
  options.address = "127.0.0.1:0";
  auto server = Server::start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << to_string(server.findings().front());
  return std::move(*server);
}

void echo(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  exchange->answer(Answer::text(200, fmt::format("{} {} {} {}.", request.method, request.path,
                                                 request.header("x-word"), request.body)));
}

TEST(HttpServer, AnswersOneRequestAfterAnother) {
  const auto server = started(echo);
  Client client(server->port());
  ASSERT_TRUE(client.send(get("/one?x=1", "X-Word: hello\r\n")));
  const std::string first = client.receive("/one hello .");
  EXPECT_NE(first.find("HTTP/1.1 200 OK"), std::string::npos) << first;
  EXPECT_NE(first.find("Content-Length: 16\r\n"), std::string::npos) << first;
  ASSERT_TRUE(client.send(get("/two")));
  EXPECT_NE(client.receive("/two  .").find("GET /two  ."), std::string::npos);
  EXPECT_EQ(server->counts().answers.at(200), 2U);
  EXPECT_EQ(server->counts().connections, 1U);
}

TEST(HttpServer, AnAnswerMayComeLaterAndFromAnotherThread) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Exchange>> waiting;
  const auto server = started([&](std::shared_ptr<Exchange> exchange) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(exchange));
    changed.notify_all();
  });
  constexpr std::size_t kClients = 50;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>(server->port()));
    ASSERT_TRUE(clients.back()->send(get(fmt::format("/{}", i))));
  }
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::milliseconds(kPatience),
                                 [&] { return waiting.size() == kClients; }));
  }
  for (const auto& exchange : waiting)
    exchange->answer(Answer::text(200, "for " + exchange->request().path + "."));
  for (std::size_t i = 0; i < kClients; ++i) {
    const std::string wanted = fmt::format("for /{}.", i);
    EXPECT_NE(clients[i]->receive(wanted).find(wanted), std::string::npos);
  }
}

TEST(HttpServer, AnExchangeThatIsDroppedIsA500) {
  const auto server = started([](const std::shared_ptr<Exchange>&) {});
  Client client(server->port());
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_NE(client.receive("no answer").find("500"), std::string::npos);
}

TEST(HttpServer, EndsWithExchangesOpen) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> waiting;
  auto server = started([&](std::shared_ptr<Exchange> exchange) {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(exchange));
  });
  Client client(server->port());
  ASSERT_TRUE(client.send(get("/")));
  for (int i = 0; i < kPatience / 10; ++i) {
    const std::lock_guard lock(mutex);
    if (!waiting.empty()) break;
    usleep(10000);
  }
  server.reset();
  waiting.front()->answer(Answer::text(200, "too late"));
  EXPECT_EQ(client.receive("").find("too late"), std::string::npos);
}

TEST(HttpServer, ASlowClientIsEndedAndOthersAreServed) {
  Options options;
  options.head = options.exchange = std::chrono::milliseconds(300);
  const auto server = started(echo, options);
  Client silent(server->port()), dripping(server->port());
  ASSERT_TRUE(dripping.send("GET / HTTP/1.1\r\nX-A: "));
  Client quick(server->port());
  ASSERT_TRUE(quick.send(get("/quick")));
  EXPECT_NE(quick.receive("/quick  .").find("200"), std::string::npos);
  EXPECT_EQ(silent.receive(""), "(end)");
  EXPECT_EQ(dripping.receive(""), "(end)");
  EXPECT_GE(server->counts().slow, 2U);
}

TEST(HttpServer, TheCrowdMakesRoomForTheNewest) {
  Options options;
  options.connections = 8;
  const auto server = started(echo, options);
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Client>(server->port()));
  Client client(server->port());
  ASSERT_TRUE(client.send(get("/me")));
  EXPECT_NE(client.receive("/me  .").find("200"), std::string::npos);
  EXPECT_GE(server->counts().crowd, 30U);
}

TEST(HttpServer, WhatIsTooLargeIsRefused) {
  Options options;
  options.request_bytes = 4096;
  options.body_bytes = 10;
  const auto server = started(echo, options);
  Client headers(server->port());
  ASSERT_TRUE(headers.send(get("/", "X-Long: " + std::string(20000, 'x') + "\r\n")));
  EXPECT_NE(headers.receive("\r\n").find("431"), std::string::npos);
  Client fits(server->port());
  ASSERT_TRUE(fits.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"));
  EXPECT_NE(fits.receive("body.").find("POST /p  body."), std::string::npos);
  Client body(server->port());
  ASSERT_TRUE(body.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world"));
  EXPECT_NE(body.receive("\r\n").find("413"), std::string::npos);
}

TEST(HttpServer, AnAddressThatIsNoneOrTakenIsAFinding) {
  for (const char* bad : {"9401", "localhost", "::1:9401", "[::1:9401", "x:", "x:99999", "x:1a"})
    EXPECT_FALSE(parse_address(bad).ok()) << bad;
  EXPECT_EQ(parse_address("[::1]:9401").value(), (std::pair<std::string, int>("::1", 9401)));
  EXPECT_EQ(parse_address(":9401").value(), (std::pair<std::string, int>("", 9401)));
  const auto server = started(echo);
  Options options;
  options.address = fmt::format("127.0.0.1:{}", server->port());
  const auto second = Server::start(options, echo);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.findings().front().message.find("in use"), std::string::npos);
}

// Of "right", at the lowest cost.
constexpr const char* kRight = "$2b$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC";

Access judged(BasicAuth& auth, const std::string& header) {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Access> answer;
  auth.check(header, [&](Access access) {
    const std::lock_guard lock(mutex);
    answer = access;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(kPatience), [&] { return answer.has_value(); });
  return answer.value_or(Access::kBusy);
}

TEST(BasicAuthentication, HeadersAreReadAsTheyAreWritten) {
  EXPECT_EQ(basic_credentials("Basic YWxpY2U6cmlnaHQ="), "alice:right");
  EXPECT_EQ(basic_credentials("basic  YWxpY2U6cmlnaHQ= "), "alice:right");
  for (const char* bad : {"", "Basic", "Bearer YWxpY2U6cmlnaHQ=", "Basic YWxpY2U", "Basic ***"})
    EXPECT_EQ(basic_credentials(bad), "") << bad;
}

RC_GTEST_PROP(BasicAuthentication, AnyHeaderIsReadWithoutHarm, (const std::string& text)) {
  const std::string read = basic_credentials("Basic " + text);
  RC_ASSERT(read.empty() || read.find(':') != std::string::npos);
}

TEST(BasicAuthentication, OnlyTheRightPasswordOfAUserIsTaken) {
  BasicAuth auth(std::map<std::string, std::string>{{"alice", kRight}});
  for (int i = 0; i < 2; ++i) {  // judged, then remembered
    EXPECT_EQ(judged(auth, "Basic YWxpY2U6cmlnaHQ="), Access::kGranted);
    EXPECT_EQ(judged(auth, "Basic YWxpY2U6d3Jvbmc="), Access::kDenied) << "alice:wrong";
    EXPECT_EQ(judged(auth, "Basic Ym9iOnJpZ2h0"), Access::kDenied) << "bob:right";
    EXPECT_EQ(judged(auth, ""), Access::kDenied);
  }
  BasicAuth open(std::map<std::string, std::string>{});
  EXPECT_EQ(judged(open, ""), Access::kGranted);
}

TEST(WebConfiguration, IsReadInPrometheusForm) {
  const auto config = parse_web_config(
      "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
      "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"
      "  min_version: TLS13\nhttp_server_config:\n  headers:\n    X-Frame-Options: deny\n"
      "basic_auth_users:\n  alice: " +
          std::string(kRight) + "\n",
      "web.yml");
  ASSERT_TRUE(config.ok()) << to_string(config.findings().front());
  EXPECT_EQ(config->tls->certificate, "server.crt");
  EXPECT_TRUE(config->tls->require_client);
  EXPECT_TRUE(config->tls->verify_client);
  EXPECT_EQ(config->tls->priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3:%SERVER_PRECEDENCE");
  EXPECT_EQ(config->users.at("alice"), kRight);
  EXPECT_EQ(config->headers.front().second, "deny");
  EXPECT_FALSE(parse_web_config("", "web.yml")->tls.has_value());
}

TEST(WebConfiguration, WhatCannotBeDoneIsRefusedWithItsPlace) {
  const auto said = [](const std::string& text) {
    const auto config = parse_web_config(text, "web.yml");
    return config ? std::string("nothing") : to_string(config.findings().front());
  };
  const std::string tls = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
  EXPECT_NE(said("basic_auth_users:\n  alice: secret\n").find("web.yml:2:10: error:"),
            std::string::npos)
      << said("basic_auth_users:\n  alice: secret\n");
  EXPECT_EQ(said("basic_auth_users:\n  alice: hunter2\n").find("hunter2"), std::string::npos)
      << "what stands there may be a password";
  EXPECT_NE(said("tls_server_config:\n  cert_file: a\n").find("key_file"), std::string::npos);
  EXPECT_NE(said(tls + "  cipher_suites: [x]\n").find("web.yml:4:18"), std::string::npos)
      << said(tls + "  cipher_suites: [x]\n");
  EXPECT_NE(said(tls + "  client_auth_type: RequireAnyClientCert\n").find("client_ca_file"),
            std::string::npos);
  EXPECT_NE(said(tls + "  max_version: TLS11\n").find("no version"), std::string::npos);
  EXPECT_NE(said("tls_config: {}\n").find("unknown key"), std::string::npos);
  EXPECT_NE(said("basic_auth_users:\n  a: $2y$31$" + std::string(53, 'a') + "\n").find("cost"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::server
