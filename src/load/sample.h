// What is known of one request of a load when it is over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::load {

/// Times are nanoseconds since the load began, -1: never came to it.
struct Sample {
  std::uint64_t conversation = 0;
  int turn = 0;
  std::int64_t scheduled = 0;        ///< when it was due; latencies count from here
  std::int64_t sent = -1;            ///< when it was handed to the network
  std::int64_t first = -1;           ///< first piece of text; without streaming, the answer
  std::int64_t last = -1;            ///< last piece of text
  std::int64_t end = -1;             ///< the answer was complete, or the request failed
  std::vector<std::int64_t> pieces;  ///< when each piece of text came
  int asked_tokens = 0;
  int prompt_tokens = -1, output_tokens = -1;  ///< as the server counts; -1: it does not
  int status = 0;                              ///< HTTP; 0: no answer
  std::string finish;

  /// Empty: complete. Else unreachable (nobody there), connection (it broke), time-limit,
  /// status-NNN, malformed, api-error, empty, interrupted.
  std::string error;
  std::string detail;

  /// The server's count, or the pieces of text that came.
  int tokens() const {
    return output_tokens >= 0 ? output_tokens : static_cast<int>(pieces.size());
  }
};

}  // namespace muster::load
