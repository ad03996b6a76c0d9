// A progress bar for people who watch.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

#include "base/clock.h"

namespace muster {

/// Draws one line and draws it over; says nothing at all when it is not shown (no terminal,
/// --quiet). Drawn at most ten times a second.
class Progress {
 public:
  Progress(std::ostream& err, const Clock& clock, bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A bar: `done` of 0…1, what goes on before it, figures behind it.
  void update(const std::string& label, double done, const std::string& note = {});

  /// No bar: something goes on, nobody knows how long.
  void update(const std::string& label, const std::string& note = {});

  /// Takes the line away; the next update draws it again. Called before other text is printed, and
  /// at the end.
  void clear();

 private:
  void draw(const std::string& line);

  std::ostream& err_;
  const Clock& clock_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

/// Columns of the terminal that standard error is; 80 when that can't be told.
int terminal_width();

}  // namespace muster
