// What is known about this machine, for the record.
#pragma once

#include <nlohmann/json.hpp>

namespace muster::runs {

std::string host_name();

/// {host, cpu {model, sockets, cores, threads}, memory_bytes}; what can't be read is absent.
nlohmann::json this_machine();

/// {name, kernel}: the distribution's own name, and the kernel's release.
nlohmann::json operating_system();

}  // namespace muster::runs
