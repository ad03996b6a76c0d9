// Looks up what the pins of the catalog stand for, and compares it with what is written down.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lock/fetch.h"
#include "lock/lock_file.h"
#include "lock/pins.h"

namespace muster::lock {

enum class State {
  kSame,       ///< as it is written down
  kNew,        ///< not written down yet
  kChanged,    ///< another digest, commit or checksum than the one written down
  kAbsent,     ///< the registry does not have it
  kUnreached,  ///< could not be looked up: what is written down stays
  kStale,      ///< written down, and pinned by nothing any more
};

/// "same", "new", "changed", "absent", "unreached", "stale".
const char* to_string(State state);

struct Entry {
  PinKind kind = PinKind::kImage;
  std::string key;
  State state = State::kUnreached;
  std::string evidence;  ///< digest, or number of files, or why not
  Position where;        ///< of the pin
};

struct Outcome {
  std::vector<Entry> entries;  ///< by kind and key
  LockFile lock;               ///< as it would be written
};

struct LockOptions {
  std::vector<std::string> indexes = {"https://pypi.org/simple"};  ///< of Python packages, in order
  bool drop_stale =
      true;  ///< rows that no pin asks for go; false where only some pins are looked at
};

/// Asks for every pin. A version's new files are no change; a file that is gone or has another
/// checksum is one.
Outcome look_up(const std::vector<Pin>& pins, const LockFile& known, const LockOptions& options,
                Fetcher& fetcher, const std::function<void(const Pin&)>& on_pin = {});

}  // namespace muster::lock
