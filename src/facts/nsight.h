// How Nsight Systems captures, and what its statistics mean. The data is facts/nsight.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/regex.h"
#include "base/result.h"

namespace muster::facts {

struct NsightTable {
  std::string name;
  std::vector<std::string> also;  ///< names in other versions
  std::string count, item;        ///< columns, in lower case, without their unit
  std::string what;    ///< kernels, calls, system, memory-time, memory-size, ranges, other
  bool named = false;  ///< no header alone says that it is this table
};

struct KernelCategory {
  std::string name;
  std::string group;  ///< communication, core, other
  std::shared_ptr<const Regex> pattern;
};

struct BoundRule {
  std::string bound, share;
  double above = 0;
};

struct EfaPlugin {
  std::string since;   ///< version of nsys, e.g. 2025.1
  std::string plugin;  ///< as --enable takes it
};

struct Nsight {
  std::vector<std::string> trace, statistics;
  int delay = 0, duration = 0;  ///< seconds
  std::vector<EfaPlugin> efa;   ///< newest first
  std::vector<NsightTable> tables;
  std::vector<KernelCategory> categories;
  std::vector<BoundRule> nsys_bounds, native_bounds;
  std::shared_ptr<const Regex> synchronises;
  std::map<std::string, double, std::less<>> limits;

  /// A limit that the file does not have is a bug of the caller.
  double limit(std::string_view name) const;
  /// Null: none fits.
  const KernelCategory* category(std::string_view kernel) const;
};

Result<Nsight> load_nsight(const FileSystem& files, const std::filesystem::path& root);
Result<Nsight> parse_nsight(const std::string& text, const std::string& file);

}  // namespace muster::facts
