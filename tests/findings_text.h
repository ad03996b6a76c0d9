// Findings as text, so that a test that wants none shows those that there are.
#pragma once

#include <string>

#include "base/finding.h"

namespace muster::testing {

/// One a line; empty: none.
inline std::string text_of_findings(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

}  // namespace muster::testing
