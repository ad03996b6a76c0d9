// How a refusal of the operating system becomes a finding: the path, what could not be done, the
// system's reason.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "base/result.h"

namespace muster {

/// `error` is an errno value.
inline Failure io_failure(const std::filesystem::path& path, const char* rule,
                          const std::string& what, int error) {
  return Failure(
      error_at({path.string(), 0, 0}, rule, what + ": " + std::generic_category().message(error)));
}

}  // namespace muster
