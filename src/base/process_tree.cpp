#include "base/process_tree.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace muster {
namespace {

struct Stat {
  ProcessId id;
  pid_t parent = 0;
  char state = '?';
};

std::optional<Stat> read_stat(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name in parentheses may hold anything; the fields start behind its last parenthesis.
  const auto close = line.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(close + 1));
  Stat stat;
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;  // proc(5): 22 is starttime
  fields >> stat.id.started;
  if (!fields) return std::nullopt;
  stat.id.pid = static_cast<pid_t>(std::stol(pid));
  return stat;
}

}  // namespace

std::vector<ProcessId> descendants_of(pid_t root) {
  std::vector<Stat> all;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto stat = read_stat(name)) all.push_back(*stat);
  }
  std::set<pid_t> family{root};
  std::vector<ProcessId> found;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Stat& stat : all) {
      if (family.count(stat.parent) == 0 || !family.insert(stat.id.pid).second) continue;
      found.push_back(stat.id);
      grew = true;
    }
  }
  return found;
}

bool still_runs(const ProcessId& process) {
  const auto stat = read_stat(std::to_string(process.pid));
  return stat && stat->id.started == process.started && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace muster
