// Batch scripts: never crashes, never loops, and every place it tells lies in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lint/lint.h"
#include "lint/sbatch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  muster::facts::Facts known;
  known.slurm.sbatch = {{"nodes", 'N', muster::facts::SlurmOption::Value::kRequired},
                        {"hold", 'H', muster::facts::SlurmOption::Value::kNone}};
  known.slurm.srun = known.slurm.sbatch;
  const auto script = muster::lint::parse_sbatch(text, known.slurm);
  for (const auto& command : script.shell.commands) {
    for (const auto& word : command.words) {
      if (word.at > size || word.at + word.raw.size() > size) std::abort();
    }
  }
  for (const auto& expansion : script.shell.expansions) {
    if (expansion.at >= size || text[expansion.at] != '$') std::abort();
  }
  bool unreadable = false;
  for (const auto& finding :
       muster::lint::kSbatchChecker.check({"f.sbatch", "/p", text}, known, unreadable)) {
    if (finding.where.line < 1 || finding.where.column < 1 || finding.message.empty()) std::abort();
  }
  return 0;
}
