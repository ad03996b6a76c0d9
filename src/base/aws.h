// The `aws` command line: asked with a limit, its failures in plain words.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "base/process.h"
#include "base/result.h"

namespace muster {

/// Standard output of an `aws` command that succeeded, as JSON, within a minute. `arn`: of what it
/// is about, whose Region is asked; empty: the Region that this machine is set to.
Result<std::string> ask_aws(ProcessRunner& processes, std::vector<std::string> argv,
                            const std::string& arn = {});

/// Why the AWS command line failed, in one sentence, with what mends it where that is known: no
/// credentials, no Region, expired credentials. Of its standard error.
Finding aws_failure(const std::string& what, const ProcessResult& result);

/// A failure as part of a sentence: "… (export AWS_REGION)".
std::string aws_words(const Findings& findings);

/// The answer of a command is not what its documentation says.
Failure odd_aws_answer(const std::string& command, const std::string& text);

}  // namespace muster
