// The nodes of a Slurm cluster and their states.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/words.h"
#include "health/readers.h"
#include "health/slurm_nodes.h"

namespace muster::health {
namespace {

/// Long names of base states, by all that Slurm writes for them.
const std::map<std::string, std::string, std::less<>>& base_states() {
  static const std::map<std::string, std::string, std::less<>> kStates = {
      {"alloc", "allocated"},
      {"allocated", "allocated"},
      {"comp", "completing"},
      {"completing", "completing"},
      {"down", "down"},
      {"drain", "drained"},
      {"drained", "drained"},
      {"drng", "draining"},
      {"draining", "draining"},
      {"error", "error"},
      {"err", "error"},
      {"fail", "fail"},
      {"failg", "failing"},
      {"failing", "failing"},
      {"future", "future"},
      {"futr", "future"},
      {"idle", "idle"},
      {"inval", "inval"},
      {"maint", "maint"},
      {"mix", "mixed"},
      {"mixed", "mixed"},
      {"npc", "perfctrs"},
      {"perfctrs", "perfctrs"},
      {"plnd", "planned"},
      {"planned", "planned"},
      {"pow_dn", "power_down"},
      {"power_down", "power_down"},
      {"pow_up", "power_up"},
      {"power_up", "power_up"},
      {"powering_down", "powering_down"},
      {"powered_down", "powered_down"},
      {"powering_up", "powering_up"},
      {"resv", "reserved"},
      {"reserved", "reserved"},
      {"boot", "reboot"},
      {"reboot", "reboot"},
      {"rebooting", "reboot"},
      {"unk", "unknown"},
      {"unknown", "unknown"},
      {"block", "blocked"},
      {"blocked", "blocked"},
      {"no_respond", "not_responding"},
      {"not_responding", "not_responding"},
  };
  return kStates;
}

/// What a sign behind sinfo's state means.
constexpr std::array<std::pair<char, const char*>, 10> kSigns = {{
    {'*', "not_responding"},
    {'~', "powered_down"},
    {'#', "powering_up"},
    {'!', "power_down_pending"},
    {'%', "powering_down"},
    {'$', "maint"},
    {'@', "reboot_pending"},
    {'^', "reboot_issued"},
    {'-', "planned"},
    {'&', "blocked"},
}};

int count_of(std::string_view word) {
  const auto number = whole(word);
  return number && *number <= 10000000 ? static_cast<int>(*number) : -1;
}

/// scontrol show nodes, in lines or one line a node: "NodeName=n1 … State=IDLE+DRAIN … Reason=…".
void read_scontrol(const std::vector<Line>& stream, std::vector<NodeRow>& seen) {
  static thread_local const Regex& name = pattern(R"((?:^|\s)NodeName=(\S+))");
  static thread_local const Regex& state = pattern(R"((?:^|\s)State=(\S+))");
  static thread_local const Regex& reason = pattern(R"((?:^|\s)Reason=(.*?)(?: \[|$))");
  Regex::Match match;
  for (const Line& line : stream) {
    if (finds(name, line.text, match))
      seen.push_back({std::string(group(match, 1)), 1, {}, {}, line.number});
    if (seen.empty()) continue;
    if (finds(state, line.text, match)) seen.back().state = parse_node_state(group(match, 1));
    if (finds(reason, line.text, match)) seen.back().reason = group(match, 1);
  }
}

/// sinfo's table with titles, or rows that hold a count, a state and a node list in any order.
void read_sinfo(const std::vector<Line>& stream, std::vector<NodeRow>& seen,
                std::vector<int>& not_understood) {
  std::vector<std::string> titles;
  for (const Line& line : stream) {
    const bool bars = line.text.find('|') != std::string::npos;
    std::vector<std::string> cells;
    if (bars) {
      std::string_view rest = line.text;
      while (true) {
        const std::size_t bar = rest.find('|');
        cells.emplace_back(trimmed(rest.substr(0, bar)));
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
      }
    } else {
      for (const auto word : words_of(line.text)) cells.emplace_back(word);
    }
    if (cells.empty() || (cells.size() == 1 && cells[0].empty())) continue;
    const auto is_title = [](const std::string& cell) {
      return cell == "STATE" || cell == "STATECOMPACT" || cell == "StateLong" ||
             cell == "STATELONG" || cell == "StateComplete" || cell == "STATECOMPLETE";
    };
    if (std::any_of(cells.begin(), cells.end(), is_title)) {
      titles = cells;
      continue;
    }
    NodeRow one;
    one.line = line.number;
    one.count = -1;
    bool found = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string title = i < titles.size() ? lower_case(titles[i]) : std::string();
      if (title.starts_with("state") && !found) {
        one.state = parse_node_state(cells[i]);
        found = true;
      } else if (title == "nodes" && one.count < 0) {
        one.count = count_of(cells[i]);
      } else if (title == "nodelist" || title == "hostnames") {
        one.node = cells[i];
      } else if (titles.empty()) {
        NodeState state = parse_node_state(cells[i]);
        // Any word may be "unknown"; behind a title it is a state.
        if (!found && !state.base.empty() && state.base != "unknown") {
          one.state = std::move(state);
          found = true;
        } else if (one.count < 0 && count_of(cells[i]) >= 0) {
          one.count = count_of(cells[i]);
        } else if (i + 1 == cells.size() || one.node.empty()) {
          one.node = cells[i];
        }
      }
    }
    if (!found) {
      not_understood.push_back(line.number);
      continue;
    }
    // Beside a count, what stands in a row without titles need be no names: features, reasons.
    if (titles.empty() && one.count >= 0) one.node.clear();
    if (one.count < 0)
      one.count = one.node.empty() ? 1 : static_cast<int>(expand_hosts(one.node).size());
    if (one.count == 0) continue;  // a partition without nodes
    seen.push_back(std::move(one));
  }
}

}  // namespace

NodeState parse_node_state(std::string_view text) {
  NodeState state;
  state.text = text;
  const std::string rest = lower_case(text);
  std::set<std::string> modifiers;
  if (rest.ends_with('+')) modifiers.insert("completing");
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t plus = std::min(rest.find('+', at), rest.size());
    std::string word = rest.substr(at, plus - at);
    at = plus + 1;
    while (!word.empty()) {
      const auto sign = std::find_if(kSigns.begin(), kSigns.end(),
                                     [&](const auto& each) { return each.first == word.back(); });
      if (sign == kSigns.end()) break;
      modifiers.insert(sign->second);
      word.pop_back();
    }
    if (word.empty()) continue;
    const auto known = base_states().find(word);
    if (!state.base.empty()) {
      // Behind the base state a word is what Slurm calls it, drain before all.
      modifiers.insert(word == "drain" || known == base_states().end() ? word : known->second);
    } else if (known == base_states().end()) {
      return state;  // no state at all
    } else {
      state.base = known->second;
    }
  }
  state.modifiers = std::move(modifiers);
  return state;
}

Health health_of(const NodeState& state) {
  const auto has = [&](const char* modifier) { return state.modifiers.count(modifier) > 0; };
  if (state.base.empty() || state.base == "unknown" || state.base == "inval" || has("invalid_reg"))
    return state.base.empty() ? Health::kUnknown : Health::kInvestigate;
  if (state.base == "fail" || state.base == "failing" || state.base == "error" || has("fail"))
    return Health::kInvestigate;
  if (state.base == "down" || state.base == "not_responding" || has("not_responding") ||
      has("down")) {
    return Health::kInvestigate;
  }
  if (state.base == "drained" || state.base == "draining" || has("drain") || has("drained") ||
      has("draining")) {
    return Health::kInvestigate;
  }
  if (state.base == "future") return Health::kNotApplicable;
  if (state.base == "idle" || state.base == "allocated" || state.base == "mixed" ||
      state.base == "completing" || state.base == "planned") {
    for (const char* passing : {"reboot_pending", "reboot_issued", "reboot", "maint", "blocked"}) {
      if (has(passing)) return Health::kFlag;
    }
    return Health::kOk;
  }
  return Health::kFlag;  // maint, reserved, powering, rebooting: neither broken nor in service
}

std::vector<NodeRow> parse_scontrol_nodes(std::string_view text) {
  std::vector<NodeRow> rows;
  read_scontrol(lines_of(text), rows);
  return rows;
}

void read_slurm(const Text& text, const Host& host, CheckResult& check) {
  std::vector<NodeRow> seen;
  std::vector<int> not_understood;
  const std::vector<Line> lines = lines_of(text.content);
  const bool scontrol = text.content.find("NodeName=") != std::string::npos;
  if (scontrol)
    read_scontrol(lines, seen);
  else
    read_sinfo(lines, seen, not_understood);
  int all = 0, well = 0;
  std::map<std::string, int> states;
  for (const NodeRow& one : seen) {
    all += one.count;
    const Health health = health_of(one.state);
    states[one.state.text.empty() ? "no state" : lower_case(one.state.text)] += one.count;
    if (health == Health::kOk) {
      well += one.count;
      continue;
    }
    std::string evidence =
        one.state.text.empty() ? std::string("no state is told") : one.state.text;
    if (!one.reason.empty()) evidence += ": " + one.reason;
    std::string subject = one.node;
    if (one.count > 1)
      subject = fmt::format("{}{} nodes", one.node.empty() ? "" : one.node + ", ", one.count);
    check.add(health, "slurm-state", subject, evidence, {text.file, one.line, 0});
  }
  for (const Line& line : lines) {
    if (line.text.find("error:") != std::string::npos) {
      check.add(Health::kError, "slurm-error", {}, std::string(trimmed(line.text)),
                {text.file, line.number, 0});
      std::erase(not_understood, line.number);
    }
  }
  for (const int line : not_understood) {
    check.add(Health::kUnknown, "slurm-form", {}, "a row without a state that is known",
              {text.file, line, 0});
  }
  if (all == 0) {
    check.add(Health::kUnknown, "slurm-empty", {}, "no node is told of", {text.file, 0, 0});
    return;
  }
  std::vector<std::string> parts;
  parts.reserve(states.size());
  for (const auto& [state, count] : states) parts.push_back(fmt::format("{} {}", count, state));
  check.add(Health::kOk, "slurm", {},
            fmt::format("{} of {} nodes take jobs ({})", well, all, fmt::join(parts, ", ")),
            {text.file, 0, 0});
  if (host.nodes && *host.nodes != all) {
    check.add(Health::kInvestigate, "slurm-count", {},
              fmt::format("{} nodes, {} were expected", all, *host.nodes), {text.file, 0, 0});
  }
}

}  // namespace muster::health
