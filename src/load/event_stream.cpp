#include "load/event_stream.h"

namespace muster::load {

bool EventStream::end_of_line(const Sink& sink) {
  if (!started_) {
    started_ = true;
    if (line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
  }
  if (line_.empty()) {
    if (!any_data_) return true;
    any_data_ = false;
    const bool go_on = sink(data_);
    data_.clear();
    return go_on;
  }
  std::string_view line = line_;
  const bool is_data = line == "data" || line.starts_with("data:");
  if (is_data) {
    line.remove_prefix(std::min<std::size_t>(line.size(), 5));
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (any_data_) data_ += '\n';
    data_ += line;
    any_data_ = true;
  }
  line_.clear();
  return data_.size() <= kLargest;
}

bool EventStream::feed(std::string_view piece, const Sink& sink) {
  while (!piece.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (piece.front() == '\n') {
        piece.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = piece.find_first_of("\r\n");
    line_ += piece.substr(0, end);
    if (line_.size() > kLargest) return false;
    if (end == std::string_view::npos) return true;
    after_return_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    if (!end_of_line(sink)) return false;
  }
  return true;
}

}  // namespace muster::load
