// Texts that bind a file to one account, one site or one person: what a shared catalog must not
// hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "facts/registries.h"

namespace muster::catalog {

/// One such text. `rule` is the last part of the identifiers of all checkers: "identity" (accounts,
/// resource ids, buckets, load balancers), "region" (a Region in an image's address), "site-path"
/// (home and scratch folders of one site), "numbered-path" (folders with an old numbered prefix).
struct BoundText {
  const char* rule;
  std::size_t at = 0;  ///< where it starts
  std::string text;    ///< as it stands there
  std::string message;
  std::string hint;
};

/// All of them in order. Documented placeholders (123456789012, 111122223333,
/// vpc-0123456789abcdef0, example buckets) and what is filled in later (${ACCOUNT}) are none.
/// So is the account of a registry in `known` that is everybody's.
std::vector<BoundText> find_identities(std::string_view text, const facts::PublicAccounts& known);

/// The same as findings of a whole file; rules are `prefix` + "-" + rule.
Findings identity_findings(std::string_view text, const std::string& file,
                           const std::string& prefix, const facts::PublicAccounts& known);

}  // namespace muster::catalog
