// A stream of server-sent events, as it comes in pieces: https://html.spec.whatwg.org, section
// "Server-sent events". Only data counts here; names and ids of events are left out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::load {

class EventStream {
 public:
  /// One event's data; lines of it are joined by line feeds. False ends the reading.
  using Sink = std::function<bool(std::string_view data)>;

  /// Takes a piece of the body. False: an event is larger than kLargest, or the sink said so.
  bool feed(std::string_view piece, const Sink& sink);

  /// Whether the last event was cut off: something came behind the last blank line.
  bool torn() const { return !line_.empty() || any_data_; }

  static constexpr std::size_t kLargest = std::size_t{4} << 20;

 private:
  bool end_of_line(const Sink& sink);

  std::string line_, data_;
  bool any_data_ = false;
  bool after_return_ = false;  ///< the last byte was \r: a \n behind it belongs to it
  bool started_ = false;       ///< the byte order mark is behind us
};

}  // namespace muster::load
