// The form of test_cases/lock.yaml, which `muster lock` writes: the digests and checksums that the
// catalog's pins stand for.
#pragma once

#include "base/schema.h"

namespace muster::catalog {

const Schema& lock_schema();

}  // namespace muster::catalog
