// A listening socket of an address.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::server {

/// Listens, without waiting in accept(). Failures name the address and why.
Result<int> listen_on(const std::string& text);

/// The port that a socket has got; 0 when it has none.
int port_of(int socket);

}  // namespace muster::server
