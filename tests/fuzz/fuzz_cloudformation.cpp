// CloudFormation templates and other clusters' configurations: never crashes, and every finding has
// a place in the text.
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
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const char* name : {"t.yaml", "t.json"}) {
    const muster::lint::Source source{name, MUSTER_SOURCE_DIR, text, nullptr};
    for (const auto* checker :
         {&muster::lint::kCloudFormationChecker, &muster::lint::kClusterConfigChecker}) {
      if (checker == &muster::lint::kClusterConfigChecker && !checker->claims(source)) continue;
      bool unreadable = false;
      for (const auto& finding : checker->check(source, *kKnown, unreadable)) {
        if (finding.where.line < 1 || finding.where.line > lines || finding.message.empty())
          std::abort();
      }
    }
    muster::lint::kCloudFormationChecker.check_together({&source});
  }
  return 0;
}
