#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace muster::cli {
namespace {

void write_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Key key_of(const std::string& bytes) {
  if (bytes.empty()) return Key::kNone;
  // Ctrl-D is here for terminals whose other end is gone.
  if (bytes == "q" || bytes == "Q" || bytes == "\x04") return Key::kQuit;
  if (bytes == "s") return Key::kSort;
  if (bytes == "k" || bytes == "\x1b[A" || bytes == "\x1bOA") return Key::kUp;
  if (bytes == "j" || bytes == "\x1b[B" || bytes == "\x1bOB") return Key::kDown;
  if (bytes == "l" || bytes == "\t" || bytes == "\x1b[C" || bytes == "\x1bOC") return Key::kRight;
  if (bytes == "h" || bytes == "\x1b[D" || bytes == "\x1bOD") return Key::kLeft;
  if (bytes == "\x1b[5~") return Key::kPageUp;
  if (bytes == "\x1b[6~" || bytes == " ") return Key::kPageDown;
  return Key::kOther;
}

Screen::Screen() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return;
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave its screen behind
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return;
  taken_ = true;
  write_terminal("\x1b[?1049h\x1b[?25l");  // the other screen, no cursor
}

Screen::~Screen() {
  if (!taken_) return;
  write_terminal("\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

ScreenSize Screen::size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {size.ws_col, size.ws_row};
  return {};
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i > 0 ? "\r\n" : "") + lines[i] + "\x1b[K";
  write_terminal(text + "\x1b[J");
}

Key Screen::wait(std::chrono::milliseconds limit) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::poll(&input, 1, static_cast<int>(limit.count())) <= 0) return Key::kNone;
  std::array<char, 16> bytes{};
  const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (got <= 0) return Key::kQuit;  // the terminal is gone
  return key_of(std::string(bytes.data(), static_cast<std::size_t>(got)));
}

}  // namespace muster::cli
