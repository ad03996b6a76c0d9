// What is wrong with a configuration that scrapes, whoever wrote it.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/schema.h"
#include "metrics/scrape.h"

namespace muster::metrics {
namespace {

const Node* scrape_jobs(const Node& document) {
  if (!document.is_mapping()) return nullptr;
  const Node* jobs = node_at(document, "scrape_configs");
  if (jobs == nullptr) jobs = node_at(document, "receivers.prometheus.config.scrape_configs");
  return jobs != nullptr && jobs->is_sequence() ? jobs : nullptr;
}

std::vector<const Node*> items_at(const Node& node, std::string_view key) {
  std::vector<const Node*> items;
  const Node* list = node_at(node, key);
  if (list == nullptr || !list->is_sequence()) return items;
  for (const Node& item : list->items()) items.push_back(&item);
  return items;
}

/// Whether a label says which job has the host: then it is wrong for every other job there.
bool names_a_job(std::string_view label) {
  return label == "slurm_job_id" || label == "slurm_jobid" || label == "job_id" ||
         label == "jobid" || label == "hpc_job" || label == "slurm_user";
}

/// Names that an image of instance types is spelt with in a pattern of EC2: "p5.*".
bool type_fits(std::string_view pattern, std::string_view type) {
  const std::size_t star = pattern.find('*');
  return star == std::string_view::npos ? pattern == type
                                        : type.starts_with(pattern.substr(0, star));
}

class ScrapeChecker {
 public:
  ScrapeChecker(const std::string& file, const FileSystem& files, const facts::Exporters& exporters,
                const std::vector<facts::Instance>& instances)
      : file_(file), files_(files), exporters_(exporters), instances_(instances) {}

  Findings check(const Node& document) {
    for (const Node& job : scrape_jobs(document)->items()) {
      if (job.is_mapping()) check_job(job);
    }
    check_families();
    check_labels();
    check_writes(document);
    return std::move(findings_);
  }

 private:
  struct Job {
    std::string name;
    Position where;
    std::set<std::string> labels;   ///< that its targets get
    std::set<std::string> dropped;  ///< families
    const facts::Exporter* exporter = nullptr;
  };

  void wrong(const Position& where, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }
  void doubtful(const Position& where, const char* rule, std::string message,
                std::string hint = {}) {
    findings_.push_back(warning_at(where, rule, std::move(message), std::move(hint)));
  }

  void check_job(const Node& node) {
    Job job;
    job.name = text_at(node, "job_name");
    job.where = node.where();
    if (jobs_.count(job.name) > 0)
      wrong(node.where(), "scrape-twice", fmt::format("a second job \"{}\"", job.name));
    std::string path = text_at(node, "metrics_path");
    if (path.empty()) path = "/metrics";
    std::string rewrite;  // what __address__ becomes
    for (const Node* rule : items_at(node, "relabel_configs")) {
      const std::string to = text_at(*rule, "target_label");
      if (to == "__address__") rewrite = text_at(*rule, "replacement");
      if (!to.empty() && !to.starts_with("__")) job.labels.insert(to);
    }
    for (const Node* rule : items_at(node, "metric_relabel_configs")) {
      if (text_at(*rule, "action") == "drop") job.dropped.insert(text_at(*rule, "regex"));
    }
    for (const Node* targets : items_at(node, "static_configs"))
      check_targets(*targets, job, rewrite, path);
    for (const Node* discovery : items_at(node, "file_sd_configs")) {
      for (const Node* pattern : items_at(*discovery, "files"))
        check_file(*pattern, job, rewrite, path);
    }
    for (const Node* discovery : items_at(node, "ec2_sd_configs")) {
      find_exporter(job, integer_at(*discovery, "port").value_or(80));
      for (const Node* filter : items_at(*discovery, "filters")) check_types(*filter);
    }
    jobs_.emplace(job.name, std::move(job));
  }

  void find_exporter(Job& job, std::int64_t port) {
    for (const facts::Exporter& exporter : exporters_.exporters) {
      if (exporter.port == port && !exporter.job.empty()) job.exporter = &exporter;
    }
  }

  // An endpoint belongs to one job.
  void visit(const Node& at, Job& job, std::string address, const std::string& rewrite,
             const std::string& path) {
    if (const auto port = rewrite.rfind(':'); port != std::string::npos)
      address = address.substr(0, address.rfind(':')) + rewrite.substr(port);
    if (const auto port = address.rfind(':'); port != std::string::npos) {
      const auto number = Node::scalar(address.substr(port + 1), false, {}).as_int();
      if (number) find_exporter(job, *number);
    }
    const auto [first, is_new] = visited_.emplace(address + path, job.name);
    if (is_new || first->second == job.name) return;
    wrong(at.where(), "scrape-twice",
          fmt::format("{}{} is asked by the job \"{}\" too: all its series are there twice, under "
                      "both names",
                      address, path, first->second),
          "one job for one endpoint");
  }

  void check_targets(const Node& node, Job& job, const std::string& rewrite,
                     const std::string& path) {
    for (const Node* target : items_at(node, "targets")) {
      if (target->is_scalar()) visit(*target, job, target->text(), rewrite, path);
    }
    const Node* labels = node_at(node, "labels");
    if (labels == nullptr || !labels->is_mapping()) return;
    for (const Node::Entry& label : labels->entries()) {
      if (!label.key.starts_with("__")) job.labels.insert(label.key);
      if (!names_a_job(label.key)) continue;
      wrong(label.where, "scrape-job-label",
            fmt::format("\"{}\" marks all that the host tells as one job's: on a shared host that "
                        "is wrong for the others, and the last writer wins",
                        label.key),
            "join with muster_job_info or muster_job_gpu_info, which name all jobs of a host");
    }
  }

  void check_file(const Node& pattern, Job& job, const std::string& rewrite,
                  const std::string& path) {
    const auto place = std::filesystem::path(file_).parent_path() / pattern.text();
    const auto text = files_.read(place);
    const auto read = text ? (place.extension() == ".json" ? parse_json(*text, place.string())
                                                           : parse_yaml(*text, place.string()))
                           : Result<Node>(text.error());
    if (!read || !read->is_sequence()) {
      // Not here: two jobs that take the same hosts, and no port of their own, meet all the same.
      visit(pattern, job, "file " + pattern.text(), rewrite, path);
      return;
    }
    for (const Node& targets : read->items()) {
      if (targets.is_mapping()) check_targets(targets, job, rewrite, path);
    }
  }

  void check_types(const Node& filter) {
    if (text_at(filter, "name") != "instance-type") return;
    const auto values = texts_at(filter, "values");
    std::vector<std::string> missing;
    for (const facts::Instance& instance : instances_) {
      const bool in = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return type_fits(value, instance.name);
      });
      if (!in && instance.accelerators) missing.push_back(instance.name);
    }
    if (missing.empty()) return;
    const std::size_t count = missing.size();
    missing.resize(std::min<std::size_t>(count, 4));
    doubtful(filter.where(), "scrape-types",
             fmt::format("{} accelerated instance types are left out, e.g. {}", count,
                         fmt::join(missing, ", ")),
             "filter by the cluster's tag instead");
  }

  void check_families() {
    for (const auto& [name, job] : jobs_) {
      if (job.exporter == nullptr) continue;
      for (const auto& [other_name, other] : jobs_) {
        if (other.exporter == nullptr) continue;
        for (const std::string& family : other.exporter->replaces) {
          const auto& own = job.exporter->families;
          if (std::find(own.begin(), own.end(), family) == own.end()) continue;
          if (job.dropped.count(family) > 0) continue;
          wrong(job.where, "scrape-family",
                fmt::format("{} comes from the jobs \"{}\" and \"{}\": sums count it twice", family,
                            name, other_name),
                fmt::format("metric_relabel_configs of {}: action drop, regex {}", name, family));
        }
      }
    }
  }

  // Labels by which series of several exporters are laid beside each other.
  void check_labels() {
    for (const std::string& label : exporters_.target_labels) {
      if (label == "job") continue;
      std::vector<const Job*> without;
      for (const auto& [name, job] : jobs_) {
        if (job.labels.count(label) == 0) without.push_back(&job);
      }
      if (without.empty() || without.size() == jobs_.size()) continue;
      for (const Job* job : without)
        doubtful(job->where, "scrape-labels",
                 fmt::format("the job \"{}\" has no label {}, which others have: their series do "
                             "not match",
                             job->name, label),
                 "the same relabel_configs in all jobs");
    }
  }

  void check_writes(const Node& document) {
    for (const Node* write : items_at(document, "remote_write")) {
      if (text_at(*write, "url").find("aps-workspaces") != std::string::npos &&
          node_at(*write, "sigv4") == nullptr)
        wrong(write->where(), "scrape-auth", "Amazon Managed Prometheus takes signed requests only",
              "sigv4: {region: …}");
    }
    const Node* exporters = node_at(document, "exporters");
    if (exporters == nullptr || !exporters->is_mapping()) return;
    for (const Node::Entry& exporter : exporters->entries()) {
      const std::string kind = exporter.key.substr(0, exporter.key.find('/'));
      const Node& value = exporter.value;
      if (kind == "debug" && value.is_mapping() && text_at(value, "verbosity") == "detailed")
        doubtful(exporter.where, "scrape-debug", "every sample goes into the log",
                 "verbosity: basic, or none");
      if (kind != "prometheusremotewrite" || !value.is_mapping()) continue;
      if (boolean_at(value, "add_metric_suffixes").value_or(true))
        doubtful(exporter.where, "scrape-suffix",
                 "the collector puts _total and units behind names: dashboards and rules for "
                 "Prometheus do not find them",
                 "add_metric_suffixes: false");
      if (text_at(value, "endpoint").find("aps-workspaces") != std::string::npos &&
          node_at(value, "auth") == nullptr)
        wrong(exporter.where, "scrape-auth", "Amazon Managed Prometheus takes signed requests only",
              "auth: {authenticator: sigv4auth}");
    }
  }

  std::string file_;
  const FileSystem& files_;
  const facts::Exporters& exporters_;
  const std::vector<facts::Instance>& instances_;
  Findings findings_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::string> visited_;  ///< endpoint to job
};

}  // namespace

bool is_scrape(const Node& document) {
  return scrape_jobs(document) != nullptr;
}

Findings check_scrape(const Node& document, const std::string& file, const FileSystem& files,
                      const facts::Exporters& exporters,
                      const std::vector<facts::Instance>& instances) {
  return ScrapeChecker(file, files, exporters, instances).check(document);
}

}  // namespace muster::metrics
