#include "launch/run_processes.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "runs/run_record.h"

namespace muster::launch {
namespace {

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool carries(const std::string& environment, const std::string& entry) {
  std::size_t start = 0;
  while (start < environment.size()) {
    const std::size_t end = std::min(environment.find('\0', start), environment.size());
    if (environment.compare(start, end - start, entry) == 0) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace

std::vector<ProcessId> processes_of_run(const std::string& run_id) {
  const std::string entry = "MUSTER_RUN_ID=" + run_id;
  std::vector<ProcessId> found;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename().string();
    int pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size() || pid == getpid()) continue;
    if (!carries(read_all(process.path() / "environ"), entry)) continue;
    found.push_back({pid, runs::ids_of_process(pid).start_ticks});
  }
  std::sort(found.begin(), found.end(),
            [](const ProcessId& a, const ProcessId& b) { return a.pid < b.pid; });
  return found;
}

int end_processes_of_run(const std::string& run_id, std::chrono::milliseconds grace,
                         pid_t launcher) {
  const std::vector<ProcessId> processes = processes_of_run(run_id);
  const auto tell = [&](const std::vector<ProcessId>& whom, int signal) {
    for (const ProcessId& process : whom) {
      if (still_runs(process)) kill(process.pid, signal);
    }
  };
  std::vector<ProcessId> asked = processes;
  if (processes.size() > 1)
    std::erase_if(asked, [&](const ProcessId& process) { return process.pid == launcher; });
  tell(asked, SIGTERM);
  tell(asked, SIGCONT);
  const auto until = std::chrono::steady_clock::now() + grace;
  while (std::any_of(processes.begin(), processes.end(), still_runs) &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  tell(processes, SIGKILL);
  tell(processes_of_run(run_id), SIGKILL);  // and what was started meanwhile
  return static_cast<int>(processes.size());
}

}  // namespace muster::launch
