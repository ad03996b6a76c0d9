// Dockerfiles: never crashes, never loops, and every place it tells lies in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lint/dockerfile.h"
#include "lint/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = muster::lint::parse_dockerfile(text, "f");
  for (const auto& instruction : file.instructions) {
    if (instruction.at > size || instruction.body_at > size + 1) std::abort();
    file.expand(instruction.body, instruction);
    for (const auto& heredoc : instruction.heredocs) {
      if (heredoc.at > size) std::abort();
    }
  }
  bool unreadable = false;
  const auto findings =
      muster::lint::kDockerfileChecker.check({"Dockerfile", "/p", text}, {}, unreadable);
  if (unreadable && findings.empty()) std::abort();
  for (const auto& finding : findings) {
    if (finding.where.line < 1 || finding.where.column < 1 || finding.message.empty()) std::abort();
  }
  return 0;
}
