// The terminal as a screen: one key at a time, frames drawn in place, and everything as it was
// afterwards, however the program ends.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <termios.h>

namespace muster::cli {

enum class Key { kNone, kQuit, kUp, kDown, kPageUp, kPageDown, kLeft, kRight, kSort, kOther };

/// What the bytes of one key press mean.
Key key_of(const std::string& bytes);

struct ScreenSize {
  std::size_t width = 80, height = 24;
};

/// Takes the terminal over while it lives; does nothing on what is none.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool taken() const { return taken_; }
  static ScreenSize size();
  /// Draws the lines from the top and clears the rest.
  void draw(const std::vector<std::string>& lines);
  /// Waits for a key, at most so long, or until a signal comes.
  Key wait(std::chrono::milliseconds limit);

 private:
  bool taken_ = false;
  termios before_{};
};

}  // namespace muster::cli
