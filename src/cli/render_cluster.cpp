// muster render cluster: the templates, their parameters and the documents that a cluster.yaml
// comes to.
#include <memory>

#include <CLI/CLI.hpp>

#include "architectures/render.h"
#include "cli/render_files.h"
#include "facts/facts.h"

namespace muster::cli {
namespace {

struct ClusterRequest {
  std::string file;
  bool own_only = false;
};

void render_cluster(Context& context, const ClusterRequest& request, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return context.fail(known.findings(), kExitBadInput);
  const auto plan =
      architectures::plan_file(context.files, context.project(), request.file, *known);
  if (!plan) return context.fail(plan.findings(), kExitBadInput);
  if (has_errors(plan->findings)) return context.fail(plan->findings, kExitFailed);
  std::vector<RenderFile> files;
  for (const architectures::RenderedFile& file : architectures::render(*plan, request.own_only))
    files.push_back({file.path, file.content, false});
  Output output;
  output.data["cluster"] = plan->cluster.name;
  deliver(context, files, where, std::move(output));
}

/// Everything below architectures/ that is made: blocks of templates, what the examples come to.
void render_architectures(Context& context, RenderWhere where) {
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return context.fail(known.findings(), kExitBadInput);
  const auto kept = architectures::kept_files(context.files, context.project(), *known);
  if (!kept) return context.fail(kept.findings(), kExitBadInput);
  std::vector<RenderFile> files;
  for (const architectures::RenderedFile& file : *kept)
    files.push_back({file.path, file.content, false});
  if (where.out.empty()) where.out = context.project().string();
  deliver(context, files, where, {});
}

}  // namespace

void add_render_cluster(CLI::App* render, Context& context) {
  CLI::App* sub =
      render->add_subcommand("cluster", "Templates, parameters and documents of a cluster");
  auto request = std::make_shared<ClusterRequest>();
  auto where = std::make_shared<RenderWhere>();
  sub->add_option("file", request->file, "The cluster's file")->required()->type_name("FILE");
  sub->add_flag("--own-only", request->own_only,
                "Leave out templates that are the architecture's as they stand");
  add_render_where(sub, where);
  sub->footer(
      "Outputs of stacks stand as ${stacks.NAME.OUTPUT} until they are known.\n"
      "Example:\n  muster render cluster architectures/vpc_network/examples/one-zone/cluster.yaml "
      "--out here");
  sub->callback([&context, request, where] { render_cluster(context, *request, *where); });

  CLI::App* all = render->add_subcommand(
      "architectures", "What architectures/ keeps: blocks of templates, rendered examples");
  auto all_where = std::make_shared<RenderWhere>();
  add_render_where(all, all_where);
  all->footer("Example:\n  muster render architectures --check");
  all->callback([&context, all_where] { render_architectures(context, *all_where); });
}

}  // namespace muster::cli
