// What `nvidia-smi -q` prints, as text or as XML, as one tree with the names of the XML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "health/host.h"

namespace muster::health {

struct SmiNode {
  std::string name;  ///< as the XML has it: product_name, ecc_errors
  std::string value;
  int line = 0;
  std::vector<SmiNode> children;

  /// By path: "ecc_errors/volatile/dram_uncorrectable". Null: not told.
  const SmiNode* find(std::string_view path) const;
};

struct SmiGpu {
  std::string name;    ///< its PCI address as the output writes it
  std::string source;  ///< the node or process that printed it
  SmiNode tree;
};

struct SmiLog {
  std::vector<SmiGpu> gpus;
  std::optional<int> attached;  ///< as the log says
  bool whole = true;            ///< false: it breaks off
  int line = 0;
};

/// The logs in a stream; none when it is not nvidia-smi's. XML that breaks off is read as far as it
/// goes.
std::vector<SmiLog> parse_smi(const std::vector<Line>& stream);

}  // namespace muster::health
