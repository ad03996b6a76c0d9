#include "base/http_server.h"

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/http_connections.h"
#include "base/http_listen.h"
#include "base/words.h"

namespace muster::server {
namespace {

using Clock = std::chrono::steady_clock;
using Body = std::shared_ptr<const std::string>;

/// Where an exchange meets its connection, from whichever thread.
class Pending {
 public:
  explicit Pending(MHD_Connection* connection) : connection_(connection) {}

  void answer(Answer answer) {
    const std::lock_guard lock(mutex_);
    if (answer_ || connection_ == nullptr) return;
    answer_ = std::move(answer);
    if (suspended_) {
      suspended_ = false;
      MHD_resume_connection(connection_);
    }
  }

  /// The answer when there is one; else the connection sleeps until there is.
  std::optional<Answer> take_or_sleep() {
    const std::lock_guard lock(mutex_);
    if (answer_) return std::move(answer_);
    suspended_ = true;
    MHD_suspend_connection(connection_);
    return std::nullopt;
  }

  /// The connection has gone.
  void leave() {
    const std::lock_guard lock(mutex_);
    connection_ = nullptr;
  }

 private:
  std::mutex mutex_;
  MHD_Connection* connection_;
  bool suspended_ = false;
  std::optional<Answer> answer_;
};

class OpenExchange : public Exchange {
 public:
  OpenExchange(Request request, std::shared_ptr<Pending> pending)
      : request_(std::move(request)), pending_(std::move(pending)) {}
  ~OpenExchange() override { pending_->answer(Answer::text(500, "no answer\n")); }
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;

  const Request& request() const override { return request_; }
  void answer(Answer answer) override { pending_->answer(std::move(answer)); }

 private:
  const Request request_;
  const std::shared_ptr<Pending> pending_;
};

/// What the loop keeps of a request until its end.
struct Transfer {
  Request request;
  bool begun = false, handed_over = false, too_large = false;
  std::shared_ptr<Pending> pending;
};

MHD_Result keep_header(void* to, MHD_ValueKind /*kind*/, const char* name, const char* value) {
  static_cast<Request*>(to)->headers[lower_case(name)] = value != nullptr ? value : "";
  return MHD_YES;
}

class MhdServer : public Server {
 public:
  MhdServer(const Options& options, Handler handler)
      : options_(options), connections_(options), handler_(std::move(handler)) {}

  ~MhdServer() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      wake_.notify_all();
    }
    if (sweeper_.joinable()) sweeper_.join();
    std::vector<std::shared_ptr<Pending>> open;
    {
      const std::lock_guard lock(mutex_);
      open.assign(open_.begin(), open_.end());
    }
    // A connection that sleeps can't be ended.
    for (const auto& pending : open) pending->answer(Answer::text(503, "the server ends\n"));
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  MhdServer(const MhdServer&) = delete;
  MhdServer& operator=(const MhdServer&) = delete;

  Result<void> open() {
    const auto socket = listen_on(options_.address);
    if (!socket) return socket.error();
    port_ = port_of(*socket);
    std::vector<MHD_OptionItem> items = {
        {MHD_OPTION_LISTEN_SOCKET, *socket, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(options_.request_bytes),
         nullptr},
        // Some more than are kept: the newest of too many must come in for the oldest to go.
        {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(options_.connections + 64), nullptr},
    };
    const auto add = [&](MHD_OPTION option, const std::string& text) {
      if (!text.empty()) items.push_back({option, 0, const_cast<char*>(text.c_str())});
    };
    unsigned int flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    Tls tls;
    if (options_.tls != nullptr) {
      tls = *options_.tls;
      flags |= MHD_USE_TLS;
      add(MHD_OPTION_HTTPS_MEM_CERT, tls.certificate);
      add(MHD_OPTION_HTTPS_MEM_KEY, tls.key);
      add(MHD_OPTION_HTTPS_PRIORITIES, tls.priorities);
      // Asks every client for a certificate; which ones do is for allowed().
      add(MHD_OPTION_HTTPS_MEM_TRUST, tls.client_ca);
      require_client_ = tls.require_client;
      verify_client_ = tls.verify_client;
    }
    items.push_back({MHD_OPTION_END, 0, nullptr});
    daemon_ = MHD_start_daemon(
        flags, 0, nullptr, nullptr, &MhdServer::on_request, this, MHD_OPTION_EXTERNAL_LOGGER,
        &MhdServer::on_log, this, MHD_OPTION_NOTIFY_CONNECTION, &MhdServer::on_connection, this,
        MHD_OPTION_NOTIFY_COMPLETED, &MhdServer::on_completed, this, MHD_OPTION_URI_LOG_CALLBACK,
        &MhdServer::on_line, this, MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) {
      close(*socket);
      const std::lock_guard lock(mutex_);
      return failure("server", "the server can't be started: " + last_log_,
                     options_.tls != nullptr ? "a certificate and its key, both as PEM" : "");
    }
    sweeper_ = std::thread([this] { sweep(); });
    return {};
  }

  int port() const override { return port_; }

  Counts counts() const override {
    Counts counts;
    connections_.counts(counts);
    const std::lock_guard lock(mutex_);
    counts.answers = answers_;
    return counts;
  }

 private:
  static MhdServer& self(void* cls) { return *static_cast<MhdServer*>(cls); }

  static void on_log(void* cls, const char* form, va_list arguments) {
    char text[512];
    std::vsnprintf(text, sizeof text, form, arguments);  // NOLINT: the library's form
    const std::lock_guard lock(self(cls).mutex_);
    self(cls).last_log_ = trimmed(text);
  }

  static void on_connection(void* cls, MHD_Connection* connection, void** context,
                            MHD_ConnectionNotificationCode code) {
    Connections& all = self(cls).connections_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      const auto* socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      *context = new Connections::Handle(all.open(socket->connect_fd, Clock::now()));
    } else if (*context != nullptr) {
      const std::unique_ptr<Connections::Handle> handle(
          static_cast<Connections::Handle*>(*context));
      *context = nullptr;
      all.close(*handle);
    }
  }

  void enter(MHD_Connection* connection, Connections::Stage stage) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info == nullptr || info->socket_context == nullptr) return;
    connections_.enter(*static_cast<Connections::Handle*>(info->socket_context), stage,
                       Clock::now());
  }

  /// The first line of a request has come.
  static void* on_line(void* cls, const char* /*uri*/, MHD_Connection* connection) {
    self(cls).enter(connection, Connections::Stage::kExchange);
    return new Transfer;
  }

  static void on_completed(void* cls, MHD_Connection* connection, void** context,
                           MHD_RequestTerminationCode /*code*/) {
    const std::unique_ptr<Transfer> transfer(static_cast<Transfer*>(*context));
    *context = nullptr;
    MhdServer& server = self(cls);
    if (transfer != nullptr && transfer->pending != nullptr) {
      transfer->pending->leave();
      const std::lock_guard lock(server.mutex_);
      server.open_.erase(transfer->pending);
    }
    server.enter(connection, Connections::Stage::kIdle);
  }

  static MHD_Result on_request(void* cls, MHD_Connection* connection, const char* path,
                               const char* method, const char* /*version*/, const char* data,
                               std::size_t* size, void** context) {
    return self(cls).request(connection, path, method, data, *size,
                             *static_cast<Transfer*>(*context))
               ? MHD_YES
               : MHD_NO;
  }

  bool request(MHD_Connection* connection, const char* path, const char* method, const char* data,
               std::size_t& size, Transfer& transfer) {
    if (!transfer.begun) {  // the headers are there
      transfer.begun = true;
      transfer.request.method = method;
      transfer.request.path = path;
      MHD_get_connection_values(connection, MHD_HEADER_KIND, &keep_header, &transfer.request);
      if (!allowed(connection)) return send(connection, Answer::text(403, "no certificate\n"));
      return true;
    }
    if (size > 0) {
      if (transfer.request.body.size() + size > options_.body_bytes) {
        transfer.too_large = true;
      } else {
        transfer.request.body.append(data, size);
      }
      size = 0;
      return true;
    }
    if (transfer.too_large) return send(connection, Answer::text(413, "the body is too large\n"));
    if (!transfer.handed_over) {
      transfer.handed_over = true;
      transfer.pending = std::make_shared<Pending>(connection);
      bool ending = false;
      {
        const std::lock_guard lock(mutex_);
        open_.insert(transfer.pending);
        ending = ending_;
      }
      if (ending) return send(connection, Answer::text(503, "the server ends\n"));
      handler_(std::make_shared<OpenExchange>(std::move(transfer.request), transfer.pending));
    }
    const auto answer = transfer.pending->take_or_sleep();
    return !answer || send(connection, *answer);
  }

  /// Whether the client's certificate is one that may ask.
  bool allowed(MHD_Connection* connection) const {
    if (!require_client_ && !verify_client_) return true;
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info == nullptr || info->tls_session == nullptr) return false;
    auto* const session = static_cast<gnutls_session_t>(info->tls_session);
    unsigned int count = 0;
    if (gnutls_certificate_get_peers(session, &count) == nullptr || count == 0)
      return !require_client_;
    if (!verify_client_) return true;
    unsigned int status = 0;
    return gnutls_certificate_verify_peers2(session, &status) == GNUTLS_E_SUCCESS && status == 0;
  }

  bool send(MHD_Connection* connection, const Answer& answer) {
    static const Body kEmpty = std::make_shared<const std::string>();
    const Body& body = answer.body != nullptr ? answer.body : kEmpty;
    MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size(), const_cast<char*>(body->data()),
        [](void* held) { delete static_cast<Body*>(held); }, new Body(body));
    if (response == nullptr) return false;
    for (const auto& [name, value] : answer.headers)
      MHD_add_response_header(response, name.c_str(), value.c_str());
    const bool queued = MHD_queue_response(connection, static_cast<unsigned int>(answer.status),
                                           response) == MHD_YES;
    MHD_destroy_response(response);
    const std::lock_guard lock(mutex_);
    if (queued) ++answers_[answer.status];
    return queued;
  }

  void sweep() {
    std::unique_lock lock(mutex_);
    const auto step = std::clamp(std::min(options_.head, options_.exchange) / 4,
                                 std::chrono::milliseconds(20), std::chrono::milliseconds(1000));
    while (!ending_) {
      wake_.wait_for(lock, step);
      lock.unlock();
      connections_.sweep(Clock::now());
      lock.lock();
    }
  }

  const Options options_;
  Connections connections_;
  const Handler handler_;
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
  bool require_client_ = false, verify_client_ = false;
  std::thread sweeper_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::string last_log_;
  std::map<int, std::uint64_t> answers_;
  std::set<std::shared_ptr<Pending>> open_;
};

}  // namespace

const std::string& Request::header(const std::string& name) const {
  static const std::string kNone;
  const auto found = headers.find(name);
  return found != headers.end() ? found->second : kNone;
}

Answer Answer::text(int status, std::string body) {
  return {status,
          {{"Content-Type", "text/plain; charset=utf-8"}},
          std::make_shared<const std::string>(std::move(body))};
}

Result<std::unique_ptr<Server>> Server::start(const Options& options, Handler handler) {
  auto server = std::make_unique<MhdServer>(options, std::move(handler));
  if (const auto opened = server->open(); !opened) return opened.error();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace muster::server
