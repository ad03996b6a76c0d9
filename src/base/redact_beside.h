// Secrets whose own shape says nothing, known by what stands beside them.
#pragma once

#include <string>

namespace muster {

/// Replaces the secret access key beside an AWS access key id (forty characters of base64 within
/// two lines of it) and the API key (forty hexadecimal digits) that follows the word wandb in its
/// line.
void redact_beside(std::string& text);

}  // namespace muster
