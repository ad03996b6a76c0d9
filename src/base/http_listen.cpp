// Addresses to listen on.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "base/http_listen.h"
#include "base/http_server.h"

namespace muster::server {

Result<std::pair<std::string, int>> parse_address(std::string_view text) {
  const auto bad = [&](const char* why) {
    return failure("address", fmt::format("\"{}\" is no address to listen on: {}", text, why),
                   ":9401, 127.0.0.1:9401 or [::1]:9401");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("there is no port");
  std::string host(text.substr(0, colon));
  const std::string port(text.substr(colon + 1));
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos)
    return bad("the port is no number");
  const int number = std::stoi(port);
  if (number > 65535) return bad("ports end at 65535");
  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return bad("the bracket does not end");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return bad("an IPv6 address stands in brackets");
  }
  return std::pair(host, number);
}

namespace {

Result<int> try_to_listen(const addrinfo& at, const std::string& text) {
  const auto failed = [&](const char* what) {
    return failure("listen",
                   fmt::format("{} {}: {}", what, text, std::generic_category().message(errno)),
                   "another address, or end what listens there");
  };
  const int socket = ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failed("no socket for");
  const int on = 1, off = 0;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // All addresses means those of IPv4 too.
  if (at.ai_family == AF_INET6) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  constexpr int kBacklog = 1024;
  if (bind(socket, at.ai_addr, at.ai_addrlen) != 0 || listen(socket, kBacklog) != 0) {
    auto why = failed("can't listen on");
    close(socket);
    return why;
  }
  return socket;
}

}  // namespace

Result<int> listen_on(const std::string& text) {
  const auto address = parse_address(text);
  if (!address) return address.error();
  const auto& [host, port] = *address;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                               &hints, &list);
  if (code != 0) {
    return failure("address", fmt::format("{}: {}", text, gai_strerror(code)),
                   "a name or number of this machine");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  // IPv6 first, which serves both; a machine without it has the other.
  Result<int> last = failure("address", text + " is no address of this machine");
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      last = try_to_listen(*at, text);
      if (last) return last;
    }
  }
  return last;
}

int port_of(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&at)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(&at)->sin_port);
}

}  // namespace muster::server
