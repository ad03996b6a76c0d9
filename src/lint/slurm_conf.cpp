#include "lint/slurm_conf.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hostlist.h"
#include "base/words.h"

namespace muster::lint {
namespace {

bool same_key(std::string_view a, std::string_view b) {
  return lower_case(a) == lower_case(b);
}

/// "gpu:h100:8(S:0-1)" -> gpu and 8; a missing count is one.
struct Gres {
  std::string name;
  std::uint64_t count = 1;
};

std::vector<Gres> gres_of(std::string_view value) {
  std::vector<Gres> all;
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    std::string_view one = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    one = one.substr(0, one.find('('));
    if (one.empty() || one == "(null)") continue;
    Gres gres;
    gres.name = lower_case(one.substr(0, one.find(':')));
    const std::size_t last = one.rfind(':');
    if (last != std::string_view::npos) {
      if (const auto count = whole(one.substr(last + 1))) gres.count = *count;
    }
    all.push_back(std::move(gres));
  }
  return all;
}

std::set<std::string> words_at(const std::vector<SlurmLine>& lines, std::string_view key) {
  std::set<std::string> words;
  for (const SlurmLine& line : lines) {
    const SlurmSetting* setting = line.find(key);
    if (setting == nullptr) continue;
    std::string_view rest = setting->value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      words.insert(lower_case(trimmed(rest.substr(0, comma))));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return words;
}

/// The lines that define nodes.
struct Nodes {
  std::map<std::string, const SlurmLine*> by_name;
  const SlurmLine* defaults = nullptr;
};

const SlurmSetting* of_node(const Nodes& nodes, const SlurmLine& line, std::string_view key) {
  const SlurmSetting* own = line.find(key);
  return own != nullptr || nodes.defaults == nullptr ? own : nodes.defaults->find(key);
}

Nodes read_nodes(const std::vector<SlurmLine>& slurm, Findings& findings) {
  Nodes nodes;
  for (const SlurmLine& line : slurm) {
    const SlurmSetting* name = line.find("NodeName");
    if (name == nullptr || !same_key(line.settings.front().key, "NodeName")) continue;
    if (name->value == "DEFAULT") {
      nodes.defaults = &line;
      continue;
    }
    for (const std::string& node : expand_hosts(name->value)) {
      const auto [known, is_new] = nodes.by_name.emplace(node, &line);
      if (is_new) continue;
      findings.push_back(error_at(name->where, "slurm-node-twice",
                                  fmt::format("the node {} is defined twice", node),
                                  fmt::format("first on line {}", known->second->where.line)));
      break;
    }
  }
  return nodes;
}

void check_partitions(const std::vector<SlurmLine>& slurm, const Nodes& nodes, Findings& findings) {
  for (const SlurmLine& line : slurm) {
    const SlurmSetting* name = line.find("PartitionName");
    const SlurmSetting* members = line.find("Nodes");
    if (name == nullptr || members == nullptr || members->value == "ALL") continue;
    for (const std::string& node : expand_hosts(members->value)) {
      // A set of nodes has its name from a NodeSet line.
      const bool set = std::any_of(slurm.begin(), slurm.end(), [&](const SlurmLine& other) {
        const SlurmSetting* given = other.find("NodeSet");
        return given != nullptr && given->value == node;
      });
      if (nodes.by_name.count(node) > 0 || set) continue;
      findings.push_back(
          error_at(members->where, "slurm-partition-node",
                   fmt::format("the partition {} has the node {}, which no NodeName defines",
                               name->value, node)));
      break;
    }
  }
}

void check_processors(const Nodes& nodes, Findings& findings) {
  std::set<const SlurmLine*> seen;
  for (const auto& [node, line] : nodes.by_name) {
    if (!seen.insert(line).second) continue;
    const auto number = [&, at = line](const char* key) -> std::optional<std::uint64_t> {
      const SlurmSetting* setting = of_node(nodes, *at, key);
      return setting == nullptr ? std::nullopt : whole(setting->value);
    };
    const auto cpus = number("CPUs");
    const auto sockets = number("Sockets"), cores = number("CoresPerSocket");
    const std::uint64_t threads = number("ThreadsPerCore").value_or(1);
    if (!cpus || !sockets || !cores) continue;
    const std::uint64_t all_cores = *sockets * *cores;
    if (*cpus == all_cores || *cpus == all_cores * threads) continue;
    findings.push_back(error_at(of_node(nodes, *line, "CPUs")->where, "slurm-cpus",
                                fmt::format("{} CPUs, but {} sockets of {} cores of {} threads "
                                            "make {}",
                                            *cpus, *sockets, *cores, threads, all_cores * threads),
                                "slurmd would register the node as invalid"));
  }
}

/// Nodes' Gres against GresTypes, and against gres.conf.
void check_gres(const std::vector<SlurmLine>& slurm, const std::vector<SlurmLine>& gres,
                const Nodes& nodes, const std::string& slurm_file, bool has_gres,
                Findings& findings) {
  const std::set<std::string> types = words_at(slurm, "GresTypes");
  std::set<const SlurmLine*> seen;
  std::set<std::string> on_nodes;
  for (const auto& [node, line] : nodes.by_name) {
    const SlurmSetting* setting = of_node(nodes, *line, "Gres");
    if (setting == nullptr) continue;
    for (const Gres& one : gres_of(setting->value)) {
      on_nodes.insert(one.name);
      if (types.count(one.name) == 0 && seen.insert(line).second) {
        findings.push_back(
            error_at(setting->where, "slurm-gres-types",
                     fmt::format("nodes have Gres={}, and GresTypes does not name {}",
                                 setting->value, one.name),
                     fmt::format("GresTypes={}", one.name)));
      }
    }
  }
  if (!has_gres) return;
  std::set<const SlurmLine*> bare;
  for (const SlurmLine& line : gres) {
    const SlurmSetting* detect = line.find("AutoDetect");
    const SlurmSetting* name = line.find("Name");
    std::string kind;
    const SlurmSetting* told = nullptr;
    if (name != nullptr) {
      kind = lower_case(name->value);
      told = name;
    } else if (detect != nullptr && !same_key(detect->value, "off")) {
      kind = "gpu";
      told = detect;
    }
    if (told == nullptr) continue;
    if (types.count(kind) == 0) {
      findings.push_back(error_at(told->where, "slurm-gres-types",
                                  fmt::format("gres.conf offers {}, and GresTypes of {} does not "
                                              "name it: no job can ask for it",
                                              kind, slurm_file),
                                  fmt::format("GresTypes={}", kind)));
    } else if (on_nodes.count(kind) == 0) {
      findings.push_back(error_at(
          told->where, "slurm-gres-nodes",
          fmt::format("gres.conf offers {}, and no node of {} has Gres={}", kind, slurm_file, kind),
          "Gres=gpu:8 on the line of the nodes"));
    } else if (const SlurmSetting* named = line.find("NodeName"); named != nullptr) {
      // Its first registration would have Gres=(null).
      for (const std::string& node : expand_hosts(named->value)) {
        const auto defined = nodes.by_name.find(node);
        if (defined == nodes.by_name.end() || !bare.insert(defined->second).second) continue;
        const SlurmSetting* own = of_node(nodes, *defined->second, "Gres");
        const auto offered = own != nullptr ? gres_of(own->value) : std::vector<Gres>();
        if (std::any_of(offered.begin(), offered.end(),
                        [&](const Gres& one) { return one.name == kind; }))
          continue;
        findings.push_back(error_at(
            defined->second->where, "slurm-gres-nodes",
            fmt::format("gres.conf offers {} on {}, whose line has no Gres={}", kind, node, kind),
            fmt::format("Gres={}:8 on the line of the node", kind)));
      }
    }
    // Devices by their files against the count of the nodes.
    const SlurmSetting* file = line.find("File");
    const SlurmSetting* of = line.find("NodeName");
    if (name == nullptr || file == nullptr) continue;
    const std::uint64_t devices = expand_hosts(file->value).size();
    std::set<std::pair<std::string, std::uint64_t>> told_counts;
    for (const auto& [node, defined] : nodes.by_name) {
      if (of != nullptr) {
        const auto named = expand_hosts(of->value);
        if (std::find(named.begin(), named.end(), node) == named.end()) continue;
      }
      const SlurmSetting* setting = of_node(nodes, *defined, "Gres");
      if (setting == nullptr) continue;
      for (const Gres& one : gres_of(setting->value)) {
        // Several lines may share the devices of a node: only more than it has is wrong.
        if (one.name != kind || devices <= one.count ||
            !told_counts.insert({kind, one.count}).second)
          continue;
        findings.push_back(error_at(
            file->where, "slurm-gres-count",
            fmt::format("{} devices, and the node {} has Gres={}", devices, node, setting->value)));
      }
    }
  }
}

}  // namespace

const SlurmSetting* SlurmLine::find(std::string_view key) const {
  for (const SlurmSetting& setting : settings) {
    if (same_key(setting.key, key)) return &setting;
  }
  return nullptr;
}

std::vector<SlurmLine> parse_slurm_conf(std::string_view text, const std::string& file,
                                        Findings& findings) {
  std::vector<SlurmLine> lines;
  int number = 0;
  bool goes_on = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
      line.remove_suffix(1);
    const bool joined = goes_on;
    goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    if (trimmed(line).empty()) continue;
    if (!joined || lines.empty()) lines.push_back({{}, {file, number, 1}});
    // Words, blanks within quotes not counted; "KEY = VALUE" is one setting.
    std::size_t i = 0;
    const auto is_blank = [&](std::size_t k) { return line[k] == ' ' || line[k] == '\t'; };
    while (i < line.size()) {
      while (i < line.size() && is_blank(i)) ++i;
      if (i >= line.size()) break;
      const std::size_t start = i;
      while (i < line.size() && line[i] != '=' && !is_blank(i)) ++i;
      const std::string key(line.substr(start, i - start));
      while (i < line.size() && is_blank(i)) ++i;
      const Position where{file, number, static_cast<int>(start) + 1};
      if (lower_case(key) == "include" || key == "!") {
        i = line.size();
        continue;
      }
      if (i >= line.size() || line[i] != '=') {
        findings.push_back(error_at(where, "slurm-conf-form",
                                    fmt::format("\"{}\" is no setting", key), "KEY=VALUE"));
        break;
      }
      ++i;
      const std::size_t before = i;
      while (i < line.size() && is_blank(i)) ++i;
      std::size_t from = i;
      if (i < line.size() && line[i] == '"') {
        from = ++i;
        while (i < line.size() && line[i] != '"') ++i;
        lines.back().settings.push_back({key, std::string(line.substr(from, i - from)), where});
        if (i < line.size()) ++i;
        continue;
      }
      while (i < line.size() && !is_blank(i)) ++i;
      const std::string value(line.substr(from, i - from));
      // "Topology= CoreSpecCount=36": what follows is a setting, and Slurm takes it for the value.
      const std::size_t equals = value.find('=');
      const bool swallows =
          from > before && equals != std::string::npos &&
          value.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == equals;
      if (swallows || value.empty()) {
        findings.push_back(
            error_at(where, "slurm-conf-empty",
                     swallows ? fmt::format("{} has no value, and takes \"{}\" for it", key, value)
                              : fmt::format("{} has no value", key),
                     "leave the key out"));
      }
      lines.back().settings.push_back({key, swallows ? std::string() : value, where});
      if (swallows) i = from;  // it is read as what it was meant to be
    }
  }
  std::erase_if(lines, [](const SlurmLine& line) { return line.settings.empty(); });
  return lines;
}

Findings check_slurm_set(const std::vector<SlurmLine>& slurm, const std::vector<SlurmLine>& gres,
                         const std::string& slurm_file, bool has_gres) {
  Findings findings;
  const Nodes nodes = read_nodes(slurm, findings);
  check_partitions(slurm, nodes, findings);
  check_processors(nodes, findings);
  check_gres(slurm, gres, nodes, slurm_file, has_gres, findings);
  return findings;
}

}  // namespace muster::lint
