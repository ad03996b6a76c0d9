#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

#include "base/display.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr int kBarWidth = 24;

std::string bar(double done) {
  const double share = std::isfinite(done) ? std::clamp(done, 0.0, 1.0) : 0.0;
  const int filled = static_cast<int>(share * kBarWidth);
  return fmt::format("[{}{}] {:3.0f} %", std::string(filled, '#'),
                     std::string(kBarWidth - filled, '.'), std::floor(share * 100));
}

/// The start of the text that fits; cut between characters.
std::string_view fitting(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + std::max<std::size_t>(1, utf8_length(text, end));
    if (display_width(text.substr(0, next)) > width) break;
    end = next;
  }
  return text.substr(0, end);
}

}  // namespace

Progress::Progress(std::ostream& err, const Clock& clock, bool shown)
    : err_(err), clock_(clock), shown_(shown) {}

Progress::~Progress() {
  clear();
}

void Progress::update(const std::string& label, double done, const std::string& note) {
  draw(label + " " + bar(done) + (note.empty() ? "" : "  " + note));
}

void Progress::update(const std::string& label, const std::string& note) {
  draw(label + " …" + (note.empty() ? "" : "  " + note));
}

void Progress::clear() {
  if (!drawn_) return;
  err_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
  next_ = {};
}

void Progress::draw(const std::string& line) {
  if (!shown_ || (drawn_ && clock_.steady() < next_)) return;
  const auto width = static_cast<std::size_t>(std::max(1, terminal_width() - 1));
  err_ << "\r\x1b[K" << fitting(terminal_safe(line), width) << std::flush;
  drawn_ = true;
  next_ = clock_.steady() + std::chrono::milliseconds(100);
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace muster
