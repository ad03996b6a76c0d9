// test_cases/lock.yaml: what each pin of the catalog stood for when it was last looked up.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace muster::lock {

/// By the pins' keys (pins.h).
struct LockFile {
  std::map<std::string, std::string> images;                           ///< digest
  std::map<std::string, std::string> repositories;                     ///< commit
  std::map<std::string, std::map<std::string, std::string>> packages;  ///< file -> sha256

  bool operator==(const LockFile&) const = default;
};

Result<LockFile> parse_lock_file(const std::string& text, const std::string& file);

/// The file's text: keys in order, so that the same pins give the same bytes.
std::string to_text(const LockFile& lock);

}  // namespace muster::lock
