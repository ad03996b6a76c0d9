// JUnit XML, as CI systems read it: every check or finding is a test case.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/verdict.h"

namespace muster {

/// One suite. A check that fails is a failure, one that is unknown an error (skipped would count as
/// good); error findings are failures, others pass with their text. Nothing at all is one errored
/// case: nothing checked is no pass.
void write_junit(std::ostream& out, const std::string& suite, const std::vector<Check>& checks,
                 const Findings& findings);

}  // namespace muster
