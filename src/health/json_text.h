// JSON documents in the output of a tool that talks around them.
#pragma once

#include <string>
#include <vector>

#include "health/host.h"

namespace muster::health {

struct JsonText {
  std::string text;    ///< from the opening bracket to the closing one
  int line = 0;        ///< where it starts
  bool whole = true;   ///< false: the output ends before the closing bracket
  std::string source;  ///< of which node or process
};

/// Every outermost {…} or […] of a stream that spans at least its brackets, braces in strings not
/// counted.
std::vector<JsonText> json_texts(const std::vector<Line>& stream);

}  // namespace muster::health
