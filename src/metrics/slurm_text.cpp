#include "metrics/slurm_text.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "metrics/slurm.h"

namespace muster::metrics {
namespace {

constexpr std::array<std::size_t, 7> kJobColumns = {64, 20, 12, 64, 64, 64, 160};

double number_of(std::string_view text) {
  return finite(trimmed(text)).value_or(0);
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(between);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// GPUs of Gres=gpu:h100:8(S:0-1),nic:2.
double gpus_of_gres(std::string_view gres) {
  double count = 0;
  std::string flat;
  int depth = 0;
  for (const char c : gres) {  // what stands in brackets holds commas
    if (c == '(') ++depth;
    if (depth == 0) flat += c;
    if (c == ')' && depth > 0) --depth;
  }
  for (const std::string_view one : parts_of(flat, ',')) {
    const auto fields = parts_of(one, ':');
    if (fields[0] != "gpu") continue;
    const auto number = fields.size() > 1 ? finite(fields.back()) : std::nullopt;
    count += number.value_or(1);
  }
  return count;
}

}  // namespace

const char* const kSlurmJobFormat =
    "Partition:64,State:20,NumCPUs:12,Account:64,UserName:64,Reason:64,tres-alloc:160";

std::vector<std::string> slurm_version_command() {
  return {"scontrol", "--version"};
}

std::vector<std::string> slurm_nodes_command() {
  return {"scontrol", "--oneliner", "show", "nodes"};
}

std::vector<std::string> slurm_jobs_command() {
  return {"squeue",  "--noheader",   "--all",
          "--array", "--states=all", std::string("--Format=") + kSlurmJobFormat};
}

std::vector<std::string> slurm_scheduler_command() {
  return {"sdiag"};
}

std::vector<std::string_view> slurm_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

double gpus_of_tres(std::string_view tres) {
  double all = 0, typed = 0;
  for (const std::string_view one : parts_of(tres, ',')) {
    const auto equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(one.substr(0, equals));
    const double count = number_of(one.substr(equals + 1));
    if (name == "gres/gpu") all += count;
    if (name.starts_with("gres/gpu:")) typed += count;
  }
  return all > 0 ? all : typed;
}

std::vector<SlurmNode> parse_slurm_nodes(std::string_view text, int& not_understood) {
  std::vector<SlurmNode> nodes;
  for (const std::string_view line : slurm_lines(text)) {
    const auto words = words_of(line);
    if (words.empty() || line == "No nodes in the system") continue;
    std::map<std::string_view, std::string_view> fields;
    for (const std::string_view word : words) {
      const auto equals = word.find('=');
      // Reason and the like hold blanks, and words with a sign of equality: the first counts.
      if (equals != std::string_view::npos)
        fields.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    if (!words[0].starts_with("NodeName=") || fields.count("State") == 0) {
      ++not_understood;
      continue;
    }
    SlurmNode node;
    node.name = fields["NodeName"];
    node.state = health::parse_node_state(fields["State"]);
    node.cpus = number_of(fields["CPUTot"]);
    node.cpus_alloc = number_of(fields["CPUAlloc"]);
    node.memory = number_of(fields["RealMemory"]);
    node.memory_alloc = number_of(fields["AllocMem"]);
    node.gpus = std::max(gpus_of_tres(fields["CfgTRES"]), gpus_of_gres(fields["Gres"]));
    node.gpus_alloc = gpus_of_tres(fields["AllocTRES"]);
    for (const std::string_view partition : parts_of(fields["Partitions"], ',')) {
      if (!partition.empty()) node.partitions.emplace_back(partition);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::vector<SlurmJob> parse_slurm_jobs(std::string_view text, int& not_understood) {
  std::vector<SlurmJob> jobs;
  for (const std::string_view line : slurm_lines(text)) {
    if (trimmed(line).empty()) continue;
    std::array<std::string_view, kJobColumns.size()> cells;
    std::size_t at = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = at < line.size() ? trimmed(line.substr(at, kJobColumns[i])) : std::string_view();
      at += kJobColumns[i];
    }
    const auto cpus = finite(cells[2]);
    if (cells[1].empty() || !cpus) {
      ++not_understood;
      continue;
    }
    jobs.push_back({std::string(cells[0]), std::string(cells[1]), std::string(cells[3]),
                    std::string(cells[4]), std::string(cells[5]), *cpus, gpus_of_tres(cells[6])});
  }
  return jobs;
}

}  // namespace muster::metrics
