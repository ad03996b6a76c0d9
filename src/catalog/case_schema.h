// What a case manifest may hold: the one description behind validation, defaults and JSON Schema.
#pragma once

#include "base/schema.h"
#include "catalog/case.h"

namespace muster::catalog {

/// Of the whole manifest, `profiles` included.
const Schema& case_schema();

/// Reads a manifest that has its defaults and no findings.
Case read_case(const Node& manifest);

}  // namespace muster::catalog
