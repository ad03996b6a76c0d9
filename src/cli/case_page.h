// The page of the documentation that lists all cases, made from their manifests.
#pragma once

#include <string>
#include <vector>

#include "catalog/case.h"

namespace muster::cli {

/// Markdown: a table for each library, its cases with what they do and how far they can be taken.
std::string case_page(const std::vector<catalog::CaseEntry>& entries);

}  // namespace muster::cli
