#include "metrics/scrape.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/reading.h"

namespace muster::metrics {
namespace {

/// One rule of relabel_configs, as lines of YAML.
std::string relabel(const std::vector<std::string>& from, const std::string& regex,
                    const std::string& to, const std::string& replacement = {}) {
  std::string text = "  - {";
  if (!from.empty()) text += fmt::format("source_labels: [{}], ", fmt::join(from, ", "));
  if (!regex.empty()) text += fmt::format("regex: {}, ", yaml_quoted(regex));
  text += fmt::format("target_label: {}", to);
  if (!replacement.empty()) text += fmt::format(", replacement: {}", yaml_quoted(replacement));
  return text + "}\n";
}

std::string select(const char* action, const std::vector<std::string>& from,
                   const std::string& regex) {
  return fmt::format("  - {{action: {}, source_labels: [{}], regex: {}}}\n", action,
                     fmt::join(from, ", "), yaml_quoted(regex));
}

bool is_on(const facts::Exporter& exporter, const char* kind) {
  return std::find(exporter.on.begin(), exporter.on.end(), kind) != exporter.on.end();
}

class Scrape {
 public:
  Scrape(const ScrapeRequest& request, const facts::Exporters& exporters)
      : request_(request), kubernetes_(request.target.ends_with("eks")) {
    for (const facts::Exporter& exporter : exporters.exporters) {
      const bool asked = std::find(request.with.begin(), request.with.end(), exporter.name) !=
                             request.with.end() ||
                         (is_on(exporter, "serving") && !request.servers.empty());
      if (!exporter.job.empty() && (!exporter.optional || asked)) visited_.push_back(&exporter);
    }
  }

  std::vector<BoardFile> files() const {
    const bool otel = request_.collector == "otel";
    std::vector<BoardFile> files = {{request_.collector + ".yaml", otel ? collector() : server()}};
    if (!request_.nodes.empty() && !otel) files.push_back({"targets.yaml", targets()});
    return files;
  }

 private:
  std::string heading() const {
    return fmt::format(
        "# Metrics of a cluster on {}. Rendered by muster render metrics from "
        "facts/exporters.yaml: "
        "change it there.\n",
        request_.target);
  }

  std::string write_url() const {
    return fmt::format("https://aps-workspaces.{}.amazonaws.com/workspaces/{}/api/v1/remote_write",
                       request_.region, request_.workspace);
  }

  std::string server() const {
    std::string text = heading() +
                       "global: {scrape_interval: 15s, scrape_timeout: 10s, evaluation_interval: "
                       "15s}\nrule_files: [rules/*.yaml]\n";
    if (request_.collector == "amp") {
      text += fmt::format(
          "remote_write:\n- url: {}\n  sigv4: {{region: {}}}\n"
          "  queue_config: {{max_samples_per_send: 1000, max_shards: 200, capacity: 2500}}\n",
          yaml_quoted(write_url()), request_.region);
    }
    return text + "scrape_configs:\n" + jobs();
  }

  // On Slurm a collector runs on every host and asks that host alone; in Kubernetes one asks all.
  std::string collector() const {
    std::string scrapes = jobs(), indented, line;
    for (const char c : scrapes) {
      // The collector takes $ for its own variables.
      if (c == '$') line += '$';
      line += c;
      if (c != '\n') continue;
      indented += "      " + line;
      line.clear();
    }
    if (!kubernetes_) {
      for (const char* variable : {"${env:HOSTNAME}", "${env:INSTANCE_TYPE}"}) {
        const std::string doubled = std::string("$") + variable;
        for (auto at = indented.find(doubled); at != std::string::npos; at = indented.find(doubled))
          indented.erase(at, 1);
      }
    }
    const std::string cluster = "$" + request_.cluster;
    if (request_.cluster.starts_with("${")) {
      for (auto at = indented.find(cluster); at != std::string::npos; at = indented.find(cluster))
        indented.replace(at, cluster.size(), environment(request_.cluster));
    }
    return heading() +
           "receivers:\n  prometheus:\n    config:\n"
           "      global: {scrape_interval: 15s, scrape_timeout: 10s}\n      scrape_configs:\n" +
           indented +
           "processors:\n"
           "  memory_limiter: {check_interval: 1s, limit_mib: 512, spike_limit_mib: 128}\n"
           "  batch: {timeout: 10s, send_batch_size: 1024}\n"
           "extensions:\n" +
           fmt::format("  sigv4auth: {{region: {}, service: aps}}\n",
                       yaml_quoted(environment(request_.region))) +
           "exporters:\n  prometheusremotewrite:\n" +
           fmt::format("    endpoint: {}\n", yaml_quoted(environment(write_url()))) +
           "    auth: {authenticator: sigv4auth}\n"
           "    add_metric_suffixes: false  # names stay as exported, for dashboards and rules\n"
           "service:\n  extensions: [sigv4auth]\n  pipelines:\n    metrics:\n"
           "      receivers: [prometheus]\n      processors: [memory_limiter, batch]\n"
           "      exporters: [prometheusremotewrite]\n";
  }

  /// ${NAME} as the collector spells it.
  static std::string environment(std::string text) {
    for (auto at = text.find("${"); at != std::string::npos; at = text.find("${", at + 2))
      text.insert(at + 2, "env:");
    return text;
  }

  std::string jobs() const {
    std::string text;
    for (const facts::Exporter* exporter : visited_) {
      text += fmt::format("- job_name: {}\n", exporter->job);
      if (exporter->path != "/metrics") text += fmt::format("  metrics_path: {}\n", exporter->path);
      text += kubernetes_                    ? pods(*exporter)
              : request_.collector == "otel" ? this_host(*exporter)
              : request_.nodes.empty()       ? instances(*exporter)
                                             : hosts(*exporter);
      text += relabel({}, {}, "cluster", request_.cluster);
      text += kept(*exporter);
    }
    return text;
  }

  std::string hosts(const facts::Exporter& exporter) const {
    std::string text =
        "  file_sd_configs: [{files: [targets.yaml], refresh_interval: 1m}]\n"
        "  relabel_configs:\n";
    text += select("keep", {"__meta_role"}, fmt::format("{}", fmt::join(exporter.on, "|")));
    text += relabel({"__address__"}, {}, "instance");
    return text + relabel({"__address__"}, {}, "__address__", fmt::format("$1:{}", exporter.port));
  }

  std::string this_host(const facts::Exporter& exporter) const {
    return fmt::format("  static_configs: [{{targets: ['localhost:{}']}}]\n  relabel_configs:\n",
                       exporter.port) +
           relabel({}, {}, "instance", "${env:HOSTNAME}") +
           relabel({}, {}, "instance_type", "${env:INSTANCE_TYPE}");
  }

  std::string instances(const facts::Exporter& exporter) const {
    std::vector<std::string> kinds;
    const std::map<std::string, std::string> tags = {
        {"compute", "Compute"}, {"controller", "HeadNode"}, {"login", "LoginNode"}};
    for (const std::string& kind : exporter.on) {
      if (const auto tag = tags.find(kind); tag != tags.end()) kinds.push_back(tag->second);
    }
    std::string text = fmt::format(
        "  ec2_sd_configs:\n  - region: {}\n    port: {}\n    filters:\n"
        "    - {{name: 'tag:parallelcluster:cluster-name', values: [{}]}}\n"
        "    - {{name: instance-state-name, values: [running]}}\n  relabel_configs:\n",
        yaml_quoted(request_.region), exporter.port, yaml_quoted(request_.cluster));
    if (kinds.empty()) kinds = {"Compute"};  // what serves runs there
    text += select("keep", {"__meta_ec2_tag_parallelcluster_node_type"},
                   fmt::format("{}", fmt::join(kinds, "|")));
    text += relabel({"__meta_ec2_private_dns_name"}, "([^.]+).*", "instance");
    return text + relabel({"__meta_ec2_instance_type"}, {}, "instance_type");
  }

  // One target for each pod: its container that declares the exporter's port.
  std::string pods(const facts::Exporter& exporter) const {
    std::string text =
        "  kubernetes_sd_configs: [{role: pod, attach_metadata: {node: true}}]\n"
        "  relabel_configs:\n";
    text += select(
        "keep",
        {"__meta_kubernetes_pod_label_app_kubernetes_io_name", "__meta_kubernetes_pod_label_app"},
        fmt::format("({0});.*|.*;({0})", exporter.app));
    text += select("keep", {"__meta_kubernetes_pod_container_port_number"},
                   fmt::format("{}", exporter.port));
    text += select("drop", {"__meta_kubernetes_pod_phase"}, "Pending|Succeeded|Failed");
    // Several servers may share a host.
    text += relabel({is_on(exporter, "serving") ? "__meta_kubernetes_pod_name"
                                                : "__meta_kubernetes_pod_node_name"},
                    {}, "instance");
    return text + relabel({"__meta_kubernetes_node_label_node_kubernetes_io_instance_type"},
                          "(?:ml[.])?(.+)", "instance_type");
  }

  // What of the samples stays: nothing that another exporter brings already.
  std::string kept(const facts::Exporter& exporter) const {
    std::string text;
    for (const facts::Exporter* other : visited_) {
      for (const std::string& family : other->replaces) {
        if (std::find(exporter.families.begin(), exporter.families.end(), family) !=
            exporter.families.end())
          text += select("drop", {"__name__"}, family);
      }
    }
    // The label of the host that older dashboards know.
    if (!exporter.replaces.empty()) text += relabel({"Hostname", "hostname"}, ";(.+)", "Hostname");
    return text.empty() ? text : "  metric_relabel_configs:\n" + text;
  }

  static std::string targets_of(const std::vector<std::pair<std::string, std::string>>& hosts,
                                const char* role) {
    std::map<std::string, std::vector<std::string>> by_type;
    for (const auto& [name, type] : hosts) by_type[type].push_back(name);
    std::string text;
    for (const auto& [type, names] : by_type)
      text +=
          fmt::format("- targets: [{}]\n  labels: {{__meta_role: {}{}}}\n", fmt::join(names, ", "),
                      role, type.empty() ? "" : ", instance_type: " + type);
    return text;
  }

  std::string targets() const {
    std::string text =
        "# Hosts by instance type. Each job adds its own port. No label here says which job runs "
        "on "
        "a host:\n# that is muster_job_info's, which tells all jobs of a shared host.\n";
    text += targets_of(request_.nodes, "compute") + targets_of(request_.servers, "serving");
    if (!request_.controller.empty())
      text += fmt::format("- targets: [{}]\n  labels: {{__meta_role: controller}}\n",
                          request_.controller);
    return text;
  }

  const ScrapeRequest& request_;
  bool kubernetes_;
  std::vector<const facts::Exporter*> visited_;
};

Failure none_of(const char* what, const std::string& word, const auto& known) {
  std::vector<std::string> names(std::begin(known), std::end(known));
  return facts::unknown_name(what, word, names);
}

}  // namespace

Result<std::vector<BoardFile>> render_scrape(const ScrapeRequest& request,
                                             const facts::Exporters& exporters) {
  if (std::find(std::begin(kScrapeTargets), std::end(kScrapeTargets), request.target) ==
      std::end(kScrapeTargets))
    return none_of("target", request.target, kScrapeTargets);
  if (std::find(std::begin(kScrapeCollectors), std::end(kScrapeCollectors), request.collector) ==
      std::end(kScrapeCollectors))
    return none_of("collector", request.collector, kScrapeCollectors);
  std::vector<std::string> optional;
  for (const facts::Exporter& exporter : exporters.exporters) {
    if (exporter.optional) optional.push_back(exporter.name);
  }
  for (const std::string& name : request.with) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end())
      return none_of("exporter", name, optional);
  }
  return Scrape(request, exporters).files();
}

std::vector<BoardFile> render_all_scrapes(const facts::Exporters& exporters) {
  std::vector<BoardFile> all;
  for (const char* target : kScrapeTargets) {
    for (const char* collector : kScrapeCollectors) {
      ScrapeRequest request;
      request.target = target;
      request.collector = collector;
      if (request.target == "hyperpod-slurm") {
        request.nodes = {{"node-1", "p5.48xlarge"}, {"node-2", "p5.48xlarge"}};
        request.controller = "controller-1";
      }
      for (BoardFile& file : Scrape(request, exporters).files())
        all.push_back({fmt::format("config/{}/{}", target, file.path), std::move(file.content)});
    }
  }
  // Two collectors of a target read the same file of targets.
  std::sort(all.begin(), all.end(),
            [](const BoardFile& one, const BoardFile& other) { return one.path < other.path; });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const BoardFile& one, const BoardFile& other) {
                          return one.path == other.path;
                        }),
            all.end());
  return all;
}

}  // namespace muster::metrics
