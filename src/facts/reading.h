// What the readers of facts files share.
#pragma once

#include <filesystem>
#include <string>

#include "base/document.h"
#include "base/file_system.h"
#include "base/result.h"
#include "base/schema.h"

namespace muster::facts {

/// apiVersion and kind, as every facts file starts.
std::vector<Schema::Field> envelope(const std::string& kind);

/// Where a facts file is: the project's own, else the installation's, else where the project's
/// would be.
std::filesystem::path facts_file(const FileSystem& files, const std::filesystem::path& root,
                                 const std::string& name);

/// Parses and checks a facts file; `rules` says what the schema can't.
Result<Node> parse_facts(const std::string& text, const std::string& file, const Schema& schema,
                         Findings (*rules)(const Node&));

/// Errors for names that a list of rows holds twice.
Findings repeated_names(const Node& rows);

/// "unknown instance type …", with the nearest known name.
Failure unknown_name(const std::string& what, const std::string& name,
                     const std::vector<std::string>& known);

}  // namespace muster::facts
