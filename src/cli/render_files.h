// What every kind of `muster render` does with the files that it has made: print them, write them,
// or compare them with those that are kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/output.h"
#include "cli/context.h"

namespace muster::cli {

struct RenderFile {
  std::string path;  ///< relative to the output folder
  std::string content;
  bool executable = false;
};

struct RenderWhere {
  std::string out;     ///< folder; empty: print
  bool check = false;  ///< compare instead of writing
};

/// Adds --out and --check.
void add_render_where(CLI::App* sub, const std::shared_ptr<RenderWhere>& where);

/// False, and said so, when --check has nothing to compare with.
bool is_usable(Context& context, const RenderWhere& where);

/// Exit code 5 when files that are compared differ.
void deliver(Context& context, const std::vector<RenderFile>& files, const RenderWhere& where,
             Output output);

/// `render cluster`, in a file of its own.
void add_render_cluster(CLI::App* render, Context& context);

}  // namespace muster::cli
