#include "launch/batch_logs.h"

#include <map>

#include <fmt/format.h>

#include "launch/process_wrapper.h"
#include "runs/log_reader.h"

namespace muster::launch {

Result<void> BatchLogs::append(int node, const std::vector<std::string>& lines) {
  std::map<std::string, std::string> texts;
  for (const std::string& line : lines) {
    const auto mine = rank_of_line(line);
    std::string& text =
        texts[mine ? fmt::format("rank-{}.log", mine->rank) : fmt::format("node-{}.log", node)];
    text += mine ? mine->text : std::string_view(line);
    text += '\n';
    if (!mine) continue;
    if (mine->text.starts_with(runs::ProcessLines::kStart)) {
      started_.insert(mine->rank);
      ended_.erase(mine->rank);
    }
    if (mine->text.starts_with(runs::ProcessLines::kEnd)) ended_.insert(mine->rank);
  }
  for (const auto& [name, text] : texts) {
    if (auto written = files_.append(logs_ / name, text); !written) return written;
  }
  return {};
}

}  // namespace muster::launch
