#include "load/stub_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::testing {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

struct StubServer::Connection {
  int socket = -1;
  std::uint64_t number = 0;  ///< sockets are used again, numbers are not
  std::string in, out;
};

struct StubServer::Piece {
  steady_clock::time_point at;
  std::uint64_t order = 0, connection = 0;
  std::string text;
  bool closes = false, last = false;
  bool operator>(const Piece& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

namespace {

/// What a request asks of the stub.
struct Wish {
  bool stream = false;
  int tokens = 16, words = 0;
  double ttft = 20, gap = 5;
  int pieces = 1, status = 200, fail = 0;
  bool cut = false, garbage = false, api_error = false, silent = false, usage = true, done = true;
};

Wish wish_of(const nlohmann::json& body, const std::string& path, std::string model) {
  Wish wish;
  wish.stream = body.value("stream", false) || path.find("_stream") != std::string::npos;
  wish.tokens = body.value("max_tokens", 16);
  if (body.contains("parameters")) wish.tokens = body["parameters"].value("max_new_tokens", 16);
  if (body.contains("model")) model = body["model"];
  const auto number = [&model](const std::string& name, double standard) {
    const std::size_t at = model.find(name + "=");
    return at == std::string::npos ? standard : std::stod(model.substr(at + name.size() + 1));
  };
  const auto has = [&model](const char* word) { return model.find(word) != std::string::npos; };
  wish.ttft = number("ttft", wish.ttft);
  wish.gap = number("gap", wish.gap);
  wish.pieces = static_cast<int>(number("pieces", 1));
  wish.status = static_cast<int>(number("status", 200));
  wish.fail = static_cast<int>(number("fail", 0));
  wish.cut = has("cut");
  wish.garbage = has("garbage");
  wish.api_error = has("apierror");
  wish.silent = has("silent");
  wish.usage = !has("nousage");
  wish.done = !has("nodone");
  std::string text = body.dump();
  wish.words = static_cast<int>(std::count(text.begin(), text.end(), ' ')) + 1;
  return wish;
}

std::string chunk(const std::string& text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

std::string event(const nlohmann::json& data) {
  return chunk("data: " + data.dump() + "\n\n");
}

/// Text of one event, in the words of the interface that the path names.
nlohmann::json text_event(const std::string& path, const std::string& text) {
  if (path.find("/v1/completions") == 0) return {{"choices", {{{"text", text}}}}};
  if (path.find("/v2/") == 0) return {{"text_output", text}};
  if (path.find("/generate") == 0) return {{"token", {{"text", text}}}};
  return {
      {"id", "chatcmpl-1"},
      {"object", "chat.completion.chunk"},
      {"created", 1},
      {"model", "stub"},
      {"choices", {{{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}}}}};
}

nlohmann::json whole_answer(const std::string& path, const std::string& text, const Wish& wish) {
  nlohmann::json body;
  if (path.find("/v1/completions") == 0) {
    body = {{"choices", {{{"text", text}, {"finish_reason", "length"}}}}};
  } else if (path.find("/v2/") == 0) {
    body = {{"text_output", text}};
  } else if (path.find("/generate") == 0) {
    body = {{"generated_text", text}, {"details", {{"generated_tokens", wish.tokens}}}};
  } else {
    body = {{"choices", {{{"message", {{"content", text}}}, {"finish_reason", "length"}}}}};
  }
  if (wish.usage && body.contains("choices"))
    body["usage"] = {{"prompt_tokens", wish.words}, {"completion_tokens", wish.tokens}};
  return body;
}

std::string response(int status, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
      body.size(), body);
}

}  // namespace

class StubServer::Loop {
 public:
  explicit Loop(StubServer& server) : server_(server), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    watch(server_.listener_, EPOLLIN);
    watch(server_.wake_, EPOLLIN);
  }
  ~Loop() {
    for (const auto& [socket, connection] : connections_) close(socket);
    close(epoll_);
  }

  void run() {
    std::array<epoll_event, 256> events{};
    while (!server_.stop_) {
      const timespec pause = time_left();
      const int ready =
          epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &pause, nullptr);
      for (int i = 0; i < ready; ++i) {
        const int socket = events[static_cast<std::size_t>(i)].data.fd;
        if (socket == server_.listener_) {
          accept_all();
        } else if (socket != server_.wake_) {
          serve(socket);
        }
      }
      send_due();
    }
  }

 private:
  void watch(int socket, std::uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.fd = socket;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }

  timespec time_left() const {
    nanoseconds left{100'000'000};
    if (!due_.empty())
      left = std::clamp<nanoseconds>(due_.top().at - steady_clock::now(), nanoseconds(0), left);
    return {0, static_cast<long>(left.count())};
  }

  void accept_all() {
    while (true) {
      const int socket = accept4(server_.listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket < 0) return;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      auto connection = std::make_unique<Connection>();
      connection->socket = socket;
      connection->number = ++numbers_;
      by_number_[connection->number] = connection.get();
      connections_[socket] = std::move(connection);
      watch(socket, EPOLLIN);
    }
  }

  void drop(int socket) {
    by_number_.erase(connections_[socket]->number);
    connections_.erase(socket);
    close(socket);
  }

  void serve(int socket) {
    const auto found = connections_.find(socket);
    if (found == connections_.end()) return;
    Connection& connection = *found->second;
    std::array<char, 65536> buffer{};
    while (true) {
      const ssize_t got = read(socket, buffer.data(), buffer.size());
      if (got == 0 || (got < 0 && errno != EAGAIN)) return drop(socket);
      if (got < 0) break;
      connection.in.append(buffer.data(), static_cast<std::size_t>(got));
    }
    take_requests(connection);
  }

  void take_requests(Connection& connection) {
    while (true) {
      const std::size_t head = connection.in.find("\r\n\r\n");
      if (head == std::string::npos) return;
      const std::size_t length_at = connection.in.find("Content-Length: ");
      const std::size_t length =
          length_at < head ? std::stoul(connection.in.substr(length_at + 16)) : 0;
      if (connection.in.size() < head + 4 + length) return;
      const std::size_t space = connection.in.find(' ');
      const std::string path =
          connection.in.substr(space + 1, connection.in.find(' ', space + 1) - space - 1);
      const std::string body = connection.in.substr(head + 4, length);
      connection.in.erase(0, head + 4 + length);
      plan(connection, path, body);
    }
  }

  void add(const Connection& connection, steady_clock::time_point at, std::string text,
           bool last = false, bool closes = false) {
    due_.push({at, ++order_, connection.number, std::move(text), closes, last});
  }

  void plan(const Connection& connection, const std::string& path, const std::string& text) {
    const auto now = steady_clock::now();
    {
      const std::lock_guard lock(server_.mutex_);
      server_.paths_.push_back(path);
      server_.bodies_.push_back(text);
    }
    server_.most_open_ = std::max<int>(server_.most_open_, ++open_);
    const auto body = nlohmann::json::parse(text, nullptr, false);
    if (!body.is_object()) return add(connection, now, response(400, "{}"), true);
    Wish wish = wish_of(body, path, path);
    if (wish.fail > 0 && ++requests_ % wish.fail == 0) wish.status = 503;
    const auto at = [&now](double milliseconds) {
      return now + nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6));
    };
    if (wish.silent) return;
    if (wish.status != 200) {
      return add(connection, now,
                 response(wish.status, R"({"error": {"message": "the stub was told to fail"}})"),
                 true);
    }
    if (!wish.stream) {
      std::string words;
      for (int i = 0; i < wish.tokens; ++i) words += " word";
      return add(connection, at(wish.ttft + wish.gap * (wish.tokens - 1)),
                 response(200, whole_answer(path, words, wish).dump()), true);
    }
    add(connection, now,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
        "chunked\r\n\r\n");
    double when = wish.ttft;
    for (int sent = 0; sent < wish.tokens; sent += wish.pieces, when += wish.gap) {
      std::string words;
      for (int i = 0; i < wish.pieces; ++i) words += " word";
      if (sent >= wish.tokens / 2) {
        if (wish.cut) return add(connection, at(when), "", true, true);
        if (wish.garbage) add(connection, at(when), chunk("data: {oops\n\n"));
        if (wish.api_error)
          add(connection, at(when), event({{"error", {{"message", "out of memory"}}}}));
      }
      add(connection, at(when), event(text_event(path, words)));
    }
    std::string tail;
    const bool openai = path.find("/v1/") == 0 || path == "/invocations";
    if (openai && wish.usage) {
      tail +=
          event({{"choices", nlohmann::json::array()},
                 {"usage", {{"prompt_tokens", wish.words}, {"completion_tokens", wish.tokens}}}});
    }
    if (openai && wish.done) tail += chunk("data: [DONE]\n\n");
    add(connection, at(when - wish.gap), tail + "0\r\n\r\n", true);
  }

  void send_due() {
    while (!due_.empty() && due_.top().at <= steady_clock::now()) {
      const Piece piece = due_.top();
      due_.pop();
      if (piece.last) --open_;
      {
        const std::lock_guard lock(server_.mutex_);
        server_.lateness_.push_back(nanoseconds(steady_clock::now() - piece.at).count());
      }
      const auto found = by_number_.find(piece.connection);
      if (found == by_number_.end()) continue;
      // The pieces are small; a client that does not read them is none of these tests'.
      if (!piece.text.empty() &&
          send(found->second->socket, piece.text.data(), piece.text.size(), MSG_NOSIGNAL) < 0) {
        drop(found->second->socket);
        continue;
      }
      if (piece.closes) drop(found->second->socket);
    }
  }

  StubServer& server_;
  int epoll_;
  std::map<int, std::unique_ptr<Connection>> connections_;
  std::map<std::uint64_t, Connection*> by_number_;
  std::priority_queue<Piece, std::vector<Piece>, std::greater<>> due_;
  std::uint64_t order_ = 0, numbers_ = 0;
  int open_ = 0, requests_ = 0;
};

StubServer::StubServer() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 4096) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the stub can't listen");
  port_ = ntohs(address.sin_port);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { Loop(*this).run(); });
}

StubServer::~StubServer() {
  stop_ = true;
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) {
    // The loop looks ten times a second anyway.
  }
  thread_.join();
  close(listener_);
  close(wake_);
}

std::vector<std::string> StubServer::paths() const {
  const std::lock_guard lock(mutex_);
  return paths_;
}

std::vector<std::string> StubServer::bodies() const {
  const std::lock_guard lock(mutex_);
  return bodies_;
}

std::vector<std::int64_t> StubServer::lateness() const {
  const std::lock_guard lock(mutex_);
  return lateness_;
}

}  // namespace muster::testing
