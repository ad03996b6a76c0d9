// Kubernetes objects: never crashes, and every finding has a place in the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lint/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const auto kKnown =
      muster::facts::load_facts(muster::real_file_system(), MUSTER_SOURCE_DIR);
  if (!kKnown) std::abort();
  bool unreadable = false;
  const auto findings = muster::lint::kKubernetesChecker.check(
      {"hyperpod-eks/f.yaml", MUSTER_SOURCE_DIR, text}, *kKnown, unreadable);
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const auto& finding : findings) {
    if (finding.where.line < 1 || finding.where.line > lines || finding.message.empty())
      std::abort();
  }
  return 0;
}
