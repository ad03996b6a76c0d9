// Where a case reads and writes, and what in it belongs to one account or site.
#pragma once

#include "base/finding.h"
#include "catalog/case.h"

namespace muster::catalog {

/// Rule identifiers:
///   case-mount           a path in a container that no mount is behind
///   case-rendezvous      a fixed rank among the arguments beside an elastic rendezvous
///   case-identity, case-region, case-site-path, case-numbered-path: identities.h
Findings check_places(const Case& values, const Node& manifest, const facts::PublicAccounts& known);

}  // namespace muster::catalog
