// Credentials that somebody wrote into a manifest.
#pragma once

#include <string>

#include "base/document.h"
#include "base/finding.h"

namespace muster::catalog {

/// True for a text that looks like a credential by itself (known token prefixes, a private key, a
/// password in a URL), or for any literal under a name such as HF_TOKEN or DB_PASSWORD.
/// `${VARIABLE}` is no literal.
bool looks_like_secret(const std::string& name, const std::string& value);

/// An error for every scalar of the document that looks like a secret. The message never repeats
/// it.
Findings find_secrets(const Node& document, const std::string& rule);

}  // namespace muster::catalog
