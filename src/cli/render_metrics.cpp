#include "cli/render_metrics.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/hostlist.h"
#include "cli/render_files.h"
#include "facts/instances.h"
#include "metrics/scrape.h"

namespace muster::cli {
namespace {

struct MetricsRequest {
  metrics::ScrapeRequest scrape;
  std::vector<std::string> nodes, servers;
};

// "n[1-4]=p5.48xlarge": hosts and what they are, so that thresholds of the type hold for them.
Result<void> read_nodes(const Context& context, const std::vector<std::string>& texts,
                        std::vector<std::pair<std::string, std::string>>& to) {
  const auto instances = facts::load_instances(context.files, context.project());
  if (!instances) return instances.error();
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    std::string type;
    if (equals != std::string::npos) {
      const auto instance = facts::find_instance(*instances, text.substr(equals + 1));
      if (!instance) return instance.error();
      type = instance->name;
    }
    for (std::string& host : expand_hosts(text.substr(0, equals)))
      to.emplace_back(std::move(host), type);
  }
  return {};
}

void render_metrics(Context& context, MetricsRequest request, const RenderWhere& place) {
  if (!is_usable(context, place)) return;
  for (const auto& [texts, to] : {std::pair(&request.nodes, &request.scrape.nodes),
                                  std::pair(&request.servers, &request.scrape.servers)}) {
    const auto read = read_nodes(context, *texts, *to);
    if (!read) return context.fail(read.findings(), kExitBadInput);
  }
  const auto exporters = facts::load_exporters(context.files, context.project());
  if (!exporters) return context.fail(exporters.findings(), kExitBadInput);
  const auto rendered = metrics::render_scrape(request.scrape, *exporters);
  if (!rendered) return context.fail(rendered.findings(), kExitBadInput);
  std::vector<RenderFile> files;
  for (const metrics::BoardFile& file : *rendered)
    files.push_back({file.path, file.content, false});
  Output output;
  output.data["target"] = request.scrape.target;
  output.data["collector"] = request.scrape.collector;
  deliver(context, files, place, std::move(output));
}

}  // namespace

void add_render_metrics(CLI::App& render, Context& context) {
  CLI::App* sub = render.add_subcommand(
      "metrics", "What scrapes a cluster: Prometheus, Amazon Managed Prometheus, OpenTelemetry");
  auto request = std::make_shared<MetricsRequest>();
  auto place = std::make_shared<RenderWhere>();
  metrics::ScrapeRequest& scrape = request->scrape;
  sub->add_option("--target", scrape.target,
                  "What the cluster is: slurm, hyperpod-slurm, eks, hyperpod-eks")
      ->type_name("TARGET");
  sub->add_option(
         "--collector", scrape.collector,
         "prometheus keeps the data; amp also writes it to Amazon Managed Prometheus; otel "
         "is the OpenTelemetry collector, which writes it there")
      ->type_name("COLLECTOR");
  sub->add_option("--cluster", scrape.cluster, "The label cluster of all series")
      ->type_name("NAME");
  sub->add_option("--region", scrape.region, "AWS region")->type_name("REGION");
  sub->add_option("--workspace", scrape.workspace, "Workspace of Amazon Managed Prometheus")
      ->type_name("ID");
  sub->add_option("--nodes", request->nodes,
                  "Hosts of a Slurm cluster and their instance type, e.g. n[1-4]=p5.48xlarge; "
                  "repeatable; without it EC2 is asked for the cluster's")
      ->type_name("HOSTS=TYPE")
      ->allow_extra_args(false);
  sub->add_option("--servers", request->servers,
                  "Hosts of a Slurm cluster that serve models, likewise; repeatable")
      ->type_name("HOSTS=TYPE")
      ->allow_extra_args(false);
  sub->add_option("--controller", scrape.controller, "Host of slurmctld")->type_name("HOST");
  sub->add_option("--with", scrape.with,
                  "An optional exporter to scrape too: dcgm-exporter, or, in Kubernetes, serving; "
                  "repeatable")
      ->type_name("EXPORTER")
      ->allow_extra_args(false);
  add_render_where(sub, place);
  sub->footer(
      "Example:\n  muster render metrics --target slurm --cluster c1 --nodes 'n[1-4]=p5.48xlarge' "
      "--controller head");
  sub->callback([&context, request, place] { render_metrics(context, *request, *place); });
}

}  // namespace muster::cli
