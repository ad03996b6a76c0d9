#include "runs/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>

namespace muster::runs {
namespace {

std::string trim(const std::string& text) {
  const char* space = " \t\r\n\"";
  const auto begin = text.find_first_not_of(space);
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// /proc/cpuinfo: "key : value" lines, a block a processor.
nlohmann::json processors() {
  nlohmann::json cpu = nlohmann::json::object();
  std::ifstream in("/proc/cpuinfo");
  std::set<std::string> sockets;
  std::set<std::string> cores;
  std::string socket;
  int threads = 0;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    const std::string key = trim(line.substr(0, colon));
    const std::string value = trim(line.substr(colon + 1));
    if (key == "processor") {
      ++threads;
    } else if (key == "model name") {
      cpu["model"] = value;
    } else if (key == "physical id") {
      sockets.insert(socket = value);
    } else if (key == "core id") {
      cores.insert(fmt::format("{}/{}", socket, value));
    }
  }
  if (threads > 0) {
    cpu["threads"] = threads;
  }
  if (!sockets.empty()) {
    cpu["sockets"] = sockets.size();
  }
  if (!cores.empty()) {
    cpu["cores"] = cores.size();
  }
  return cpu;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

nlohmann::json this_machine() {
  nlohmann::json machine{{"host", host_name()}, {"cpu", processors()}};
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    machine["memory_bytes"] = static_cast<long long>(pages) * page;
  }
  return machine;
}

nlohmann::json operating_system() {
  nlohmann::json system = nlohmann::json::object();
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("PRETTY_NAME=")) {
      system["name"] = trim(line.substr(line.find('=') + 1));
    }
  }
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    system["kernel"] = std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine;
  }
  return system;
}

}  // namespace muster::runs
