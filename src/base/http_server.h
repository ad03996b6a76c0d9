// An HTTP server for many connections: one event loop (libmicrohttpd on epoll), no thread a
// connection, everything bounded: connections, what a client may send, how long it may take.
//
// A handler gets an exchange and answers it, at once or later from any thread. The loop never waits
// for a handler, so a handler never may wait in it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::server {

struct Request {
  std::string method, path;                    ///< of the path what stands before "?"
  std::map<std::string, std::string> headers;  ///< names in lower case; the last of several
  std::string body;

  /// A header by its name in lower case; empty when there is none.
  const std::string& header(const std::string& name) const;
};

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Shared, so that one text serves any number of clients. Null: empty.
  std::shared_ptr<const std::string> body;

  static Answer text(int status, std::string body);
};

/// One request on its way to its answer. When the last reference goes without one, the client gets
/// a 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  /// From any thread; the first answer counts. A client that has gone is no error.
  virtual void answer(Answer answer) = 0;
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

struct Tls {
  std::string certificate, key;  ///< PEM
  std::string client_ca;         ///< PEM; empty: clients need no certificate
  bool require_client = false;   ///< and has to be there
  bool verify_client = false;    ///< and has to be of client_ca when it is there
  std::string priorities;        ///< as GnuTLS writes them; empty: its own
};

struct Options {
  std::string address;  ///< HOST:PORT, [HOST]:PORT, :PORT; port 0: a free one
  std::size_t connections = 2048;
  std::size_t request_bytes = 16384;      ///< line and headers
  std::size_t body_bytes = 0;             ///< larger ones get a 413
  std::chrono::milliseconds head{10000};  ///< from the connection to the first line of a request
  std::chrono::milliseconds exchange{30000};  ///< from there to the end of the answer
  std::chrono::milliseconds idle{150000};     ///< between two requests
  const Tls* tls = nullptr;                   ///< read when the server starts
};

struct Counts {
  std::size_t connections = 0;                  ///< open now
  std::map<int, std::uint64_t> answers;         ///< by status
  std::uint64_t slow = 0, idle = 0, crowd = 0;  ///< connections ended: too slow, idle, too many
};

class Server {
 public:
  /// Listens, and answers from then on. Failures: an address that is none or is taken, a
  /// certificate or key that is none.
  static Result<std::unique_ptr<Server>> start(const Options& options, Handler handler);
  /// Ends all connections; exchanges that are still open go nowhere from then on.
  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual Counts counts() const = 0;
};

/// "host" and "port" of an address; failure with what would be right.
Result<std::pair<std::string, int>> parse_address(std::string_view text);

}  // namespace muster::server
