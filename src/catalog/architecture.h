// architecture.yaml: how an architecture is stood up. Which stacks in which order from which
// template, where each of their parameters comes from, and which documents are made beside them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "base/schema.h"

namespace muster::catalog {

/// Where a template's parameter takes its value from. `source` is one of
///   =TEXT            the text itself
///   stacks.NAME.KEY  the output KEY of an earlier stack
///   a key            a value of the cluster or of the facts, e.g. network.cidr, group.instance
/// A key without a value leaves the template's default.
struct ParameterSource {
  std::string parameter, source;
  Position where;
};

struct StackStep {
  std::string name;           ///< last part of the stack's name, and what others call it
  std::string template_file;  ///< from the architecture's folder
  std::string when;           ///< a key that has to have a value; "!key": that must have none
  std::string each;           ///< role of groups of which each has a stack, NAME-GROUP; or empty
  std::vector<ParameterSource> parameters;
  std::vector<std::string> capabilities;
  Position where;
};

/// A file that is made for another tool, from the cluster and the stacks' outputs.
struct DocumentStep {
  std::string file;    ///< its name
  std::string render;  ///< who makes it: a name of render.h
  std::string when;
  std::string apply;  ///< what is done with it, as a command line; empty: it is read by another
  Position where;
};

struct Architecture {
  std::string file;  ///< how messages name it
  std::string name, description;
  std::vector<std::string> needs;       ///< what has to be there before, in words
  std::vector<std::string> capacities;  ///< kinds of capacity that it can use
  std::vector<std::string> accounting;  ///< back-ends that it can use
  std::vector<std::string> directories;
  std::vector<std::string> monitoring;
  std::vector<std::string> roles;  ///< of groups that there must be, one at least
  int min_zones = 1;
  std::vector<StackStep> stacks;
  std::vector<DocumentStep> documents;
};

const Schema& architecture_schema();

/// Reads architecture.yaml. Findings "architecture-…" are located.
Result<Architecture> read_architecture(std::string_view text, const std::string& file);

/// The same findings of a document that is parsed.
Findings check_architecture(const Node& document);

}  // namespace muster::catalog
