// What the kernel's log tells of GPUs, NVSwitches and the host, and how bad it is. The data is
// facts/xid.yaml.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/regex.h"
#include "base/result.h"

namespace muster::facts {

/// How often one device has to tell a code for it to become worse, and how bad it is then.
struct Repeats {
  int count = 0;
  std::string outcome;
};

struct KernelRow {
  std::string name;
  std::string outcome;                ///< flag, reset, reboot, investigate, replace, unknown
  std::vector<int> codes;             ///< of an Xid
  std::vector<std::string> models;    ///< empty: any accelerator
  std::shared_ptr<const Regex> text;  ///< null: any text
  std::optional<Repeats> repeats;
  std::string bucket;  ///< NVIDIA's name of what to do; may be empty
  std::string source;
};

struct KernelPolicy {
  std::string unknown_code;  ///< outcome of an Xid that stands in no row
  std::vector<KernelRow> xids, sxids, lines;

  /// The row that counts for an Xid, or null. `model` is the accelerator's ("A100"), may be empty.
  const KernelRow* xid(int code, const std::string& model, const std::string& text) const;
};

/// The first row whose text is in `text`, or null.
const KernelRow* row_for(const std::vector<KernelRow>& rows, const std::string& text);

Result<KernelPolicy> load_xid(const FileSystem& files, const std::filesystem::path& root);
Result<KernelPolicy> parse_xid(const std::string& text, const std::string& file);

}  // namespace muster::facts
