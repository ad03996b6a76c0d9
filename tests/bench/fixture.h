// Logs of tests/bench/logs; where each is from stands in its README.
#pragma once

#include <string>

#include "base/file_system.h"
#include "bench/read.h"
#include "testing.h"

namespace muster::bench {

inline std::string log_text(const std::string& name) {
  return real_file_system().read(testing::source_dir() / "tests" / "bench" / "logs" / name).value();
}

inline Log log_of(const std::string& name) {
  return read_log(log_text(name), name).value();
}

}  // namespace muster::bench
