// The block form of YAML that people and tools write, read in one pass.
//
// A Kubernetes object is 6 KB of it, and a cluster's worth of objects is checked in a second: the
// full parser reads 5 MB/s, this one about forty times as much. It reads
//   - streams of documents parted by `---`, comments,
//   - block mappings and sequences with plain, single- or double-quoted keys on one line,
//   - plain and quoted scalars on one line, literal blocks (`|`),
//   - flow sequences and mappings, also over several lines.
// All else is not read at all: anchors, aliases, tags, directives, folded blocks, scalars over
// several lines, tabs and carriage returns outside of literal blocks, explicit
// keys, empty documents, and every text that is wrong. Then the whole text goes to the full parser,
// which is the one that words errors. What both read is the same tree with the same places; the
// fuzz target and a property test hold them to that.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace muster {

/// The documents of a stream, or nothing when any of it is outside of the form above. Expects text
/// without control characters (find_not_text).
std::optional<std::vector<Node>> parse_yaml_block(std::string_view text, const FileName& file);

/// The same stream by the full parser, for all of YAML, with errors.
Result<std::vector<Node>> parse_yaml_full(std::string_view text, const std::string& file,
                                          bool single);

}  // namespace muster
