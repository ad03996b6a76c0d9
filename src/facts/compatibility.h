// Which versions go together: a choice of versions held against the rows of facts/versions.yaml.
// Rule identifiers:
//   version-clash       two versions that do not go together; both rows are named
//   version-unverified  a rule applies, but a version can't be compared with its range
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "facts/versions.h"

namespace muster::facts {

/// A version that an image holds, and where that is written.
struct Chosen {
  std::string version;
  Position where;
};

/// What is put together: versions by component, and the GPUs that it is for.
struct Selection {
  std::map<std::string, Chosen> versions;
  std::vector<std::string> gpus;  ///< models
};

/// Whether a text is a range: conditions joined by commas, ">=580,<590". A condition is one of
/// >= > <= < and a version, or a version alone, which stands for all that start with it: "2.4"
/// holds for 2.4.0.
bool is_range(const std::string& text);

/// Nothing when the version is none that can be compared.
std::optional<bool> in_range(const std::string& version, const std::string& range);

/// Every component of the catalog that has a version.
Selection everything(const VersionCatalog& catalog);

/// A rule says something only of components that are chosen: what an image does not hold, it takes
/// from its base.
Findings check_compatibility(const Selection& selection, const VersionCatalog& catalog);

}  // namespace muster::facts
