// The checks by name, and the suites of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/check.h"
#include "health/host.h"
#include "health/view.h"

namespace muster::health {

struct CheckKind {
  const char* name;
  const char* doc;
  const char* reads;  ///< outputs that --from takes
  bool hardware;      ///< of accelerators or the fabric: not applicable where there is none
  /// Reads a saved output.
  void (*read)(const Text& text, const Host& host, CheckResult& check);
  /// Looks at a host.
  void (*look)(const HostView& view, const Host& host, CheckResult& check);
  /// Reads several outputs that belong together. Null: each by itself.
  void (*read_all)(const std::vector<Text>& texts, const Host& host, CheckResult& check) = nullptr;
};

struct Suite {
  const char* name;
  const char* doc;
  std::vector<const char*> checks;
};

const std::vector<CheckKind>& check_kinds();
const std::vector<Suite>& suites();

const CheckKind* find_check(std::string_view name);
const Suite* find_suite(std::string_view name);

/// Of a suite: where nothing of the hardware that it is about could be found, and nobody said that
/// the host has none, it has shown nothing.
bool shows_nothing(const std::vector<CheckResult>& checks, const Host& host);

}  // namespace muster::health
