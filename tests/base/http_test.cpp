// The real client against a server of a few lines, on a free port of this machine.
#include "base/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace muster {
namespace {

/// Answers every connection with the same text; keeps what it was sent.
class Server {
 public:
  explicit Server(std::string answer)
      : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    ::listen(socket_, 8);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
    ::close(socket_);
  }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  const std::string& received() const { return received_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd waiting{socket_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int peer = ::accept(socket_, nullptr, nullptr);
      char buffer[4096];
      const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
      if (got > 0) received_.append(buffer, static_cast<std::size_t>(got));
      ::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      if (answer_.empty()) {  // one that never answers
        while (!stop_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      ::close(peer);
    }
  }

  std::string answer_;
  std::string received_;
  int socket_;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

HttpRequest get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.time_limit = std::chrono::seconds(10);
  return request;
}

TEST(HttpTest, SendsAndReceives) {
  std::string received;
  {
    Server server("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nX-Thing: a  \r\n\r\nhello");
    HttpRequest request = get(server.url("/p?q=1"));
    request.method = "PUT";
    request.headers = {{"X-Mine", "v"}};
    request.body = "body";
    const auto response = real_http_client().request(request);
    ASSERT_TRUE(response) << to_string(response.findings()[0]);
    EXPECT_EQ(response->status, 404);
    EXPECT_EQ(response->body, "hello");
    EXPECT_EQ(response->headers.at("x-thing"), "a");
    received = server.received();
  }
  EXPECT_EQ(received.rfind("PUT /p?q=1 HTTP/1.1\r\n", 0), 0U) << received;
  EXPECT_NE(received.find("X-Mine: v\r\n"), std::string::npos);
  EXPECT_NE(received.find("\r\n\r\nbody"), std::string::npos);
}

TEST(HttpTest, AnAnswerThatIsTooLargeIsRefused) {
  Server server("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
  HttpRequest request = get(server.url("/"));
  request.size_limit = 999;
  const auto response = real_http_client().request(request);
  ASSERT_FALSE(response);
  EXPECT_NE(response.findings()[0].message.find("larger than 999"), std::string::npos);
}

TEST(HttpTest, AServerThatNeverAnswersIsLeft) {
  Server server("");
  HttpRequest request = get(server.url("/"));
  request.time_limit = std::chrono::milliseconds(200);
  const auto response = real_http_client().request(request);
  ASSERT_FALSE(response);
  EXPECT_NE(response.findings()[0].message.find("no answer within 200 ms"), std::string::npos);
}

TEST(HttpTest, OtherProtocolsAreRefused) {
  EXPECT_FALSE(real_http_client().request(get("file:///etc/passwd")));
}

TEST(FakeHttpTest, TheLongestPrefixAnswers) {
  FakeHttpClient client;
  client.answer("GET http://h/", HttpResponse{200, {}, "root"});
  client.answer("GET http://h/a", HttpResponse{201, {}, "a"});
  EXPECT_EQ(client.request(get("http://h/ab"))->body, "a");
  EXPECT_EQ(client.request(get("http://h/x"))->body, "root");
  EXPECT_FALSE(client.request(get("http://other/")));
  EXPECT_EQ(client.asked().size(), 3U);
}

}  // namespace
}  // namespace muster
