// How GPUs hang together: the matrix of `nvidia-smi topo -m`, what peers may do (`topo -p2p`), the
// links (`nvlink -s`) and their errors (`nvlink -e`).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "health/readers.h"

namespace muster::health {
namespace {

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") &&
         word.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

bool is_connection(std::string_view word) {
  if (word == "X" || word == "SYS" || word == "NODE" || word == "PHB" || word == "PXB" ||
      word == "PIX" || word == "PSB") {
    return true;
  }
  return word.size() > 2 && word.starts_with("NV") &&
         word.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

bool is_nvlink(std::string_view word) {
  return word.starts_with("NV");
}

class TopologyReader {
 public:
  TopologyReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read(const std::vector<Line>& stream) {
    source_ = stream.empty() ? std::string() : stream.front().source;
    for (const Line& line : stream) see(line);
    finish_matrix();
    finish_links();
  }

  bool seen() const { return seen_; }

 private:
  enum class Matrix { kNone, kTopology, kPeers };

  void see(const Line& line) {
    const std::string_view bare = trimmed(line.text);
    const auto words = words_of(bare);
    if (words.size() > 1 && is_gpu(words[0]) && is_gpu(words[1])) {
      finish_matrix();
      columns_ = static_cast<std::size_t>(
          std::find_if(words.begin(), words.end(), [](auto word) { return !is_gpu(word); }) -
          words.begin());
      // A matrix of peers says OK and NS; which it is, the rows tell.
      matrix_line_ = line.number;
      return;
    }
    // One GPU alone: "GPU0 CPU Affinity …".
    if (words.size() > 2 && is_gpu(words[0]) && words[1] == "CPU" && words[2] == "Affinity") {
      finish_matrix();
      columns_ = 1;
      matrix_line_ = line.number;
      return;
    }
    if (columns_ > 0 && words.size() > 1 && is_gpu(words[0]) && words[0] != "GPU") {
      rows_.push_back({std::string(words[0]), {}, line.number});
      for (std::size_t i = 1; i < words.size() && rows_.back().cells.size() < columns_; ++i)
        rows_.back().cells.emplace_back(words[i]);
      return;
    }
    see_link(line, bare);
  }

  struct Row {
    std::string name;
    std::vector<std::string> cells;
    int line = 0;
  };

  void add(Health health, const char* rule, const std::string& subject, const std::string& evidence,
           int line) {
    check_.add(health, rule, source_.empty() ? subject : trimmed_join(source_, subject), evidence,
               {text_.file, line, 0});
    seen_ = true;
  }

  static std::string trimmed_join(const std::string& a, const std::string& b) {
    return b.empty() ? a : a + " " + b;
  }

  void finish_matrix() {
    if (columns_ == 0) return;
    const std::size_t columns = columns_;
    columns_ = 0;
    std::vector<Row> rows = std::move(rows_);
    rows_.clear();
    if (rows.empty()) {
      add(Health::kError, "topology-truncated", {}, "the matrix has no rows", matrix_line_);
      return;
    }
    const bool peers = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
      return std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& cell) {
        return cell == "OK" || cell == "NS" || cell == "CNS" || cell == "GNS" || cell == "TNS" ||
               cell == "DR" || cell == "U";
      });
    });
    const std::size_t before = check_.observations().size();
    if (rows.size() != columns) {
      add(Health::kError, "topology-truncated", {},
          fmt::format("{} rows under {} columns", rows.size(), columns), matrix_line_);
    }
    if (peers)
      judge_peers(rows);
    else
      judge_matrix(rows, columns);
    if (const auto expected = host_.accelerators("gpu");
        expected && *expected != static_cast<int>(rows.size())) {
      add(Health::kReplace, "topology-count", {},
          fmt::format("{} GPUs in the matrix, {} has {}", rows.size(), host_.instance->name,
                      *expected),
          matrix_line_);
    }
    if (check_.observations().size() == before)
      add(Health::kOk, "topology", {}, said_, matrix_line_);
  }

  void judge_matrix(const std::vector<Row>& rows, std::size_t columns) {
    std::map<std::string, int> kinds;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      if (row.cells.size() != columns) {
        add(Health::kError, "topology-truncated", row.name, "the row breaks off", row.line);
        continue;
      }
      for (std::size_t j = 0; j < row.cells.size(); ++j) {
        const std::string& cell = row.cells[j];
        if (!is_connection(cell)) {
          add(Health::kUnknown, "topology-form", fmt::format("{}-GPU{}", row.name, j),
              fmt::format("a connection that is not known: {}", cell), row.line);
          continue;
        }
        if (i == j) continue;
        ++kinds[cell];
        if (cell == "X") {
          add(Health::kReplace, "topology-self", fmt::format("{}-GPU{}", row.name, j),
              "two GPUs are told to be one", row.line);
        }
      }
    }
    const bool expected =
        host_.instance && host_.instance->nvlink && host_.instance->nvlink->links.value_or(0) > 0;
    const bool nvlink = std::any_of(kinds.begin(), kinds.end(),
                                    [](const auto& kind) { return is_nvlink(kind.first); });
    // With an NVSwitch all pairs are alike; a pair without is a broken link.
    const bool all_alike = host_.instance && host_.instance->nvswitch.value_or(false);
    if (expected && !nvlink) {
      add(Health::kReplace, "topology-nvlink", {},
          fmt::format("no pair of GPUs is joined by NVLink, {} has it", host_.instance->name),
          matrix_line_);
    } else if (nvlink && (all_alike || !host_.instance)) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = i + 1; j < rows[i].cells.size(); ++j) {
          const std::string& cell = rows[i].cells[j];
          if (!is_connection(cell) || is_nvlink(cell) || cell == "X") continue;
          add(all_alike ? Health::kReplace : Health::kFlag, "topology-nvlink",
              fmt::format("{}-GPU{}", rows[i].name, j),
              fmt::format("{}, others are joined by NVLink", cell), rows[i].line);
        }
      }
    }
    if (all_alike && nvlink) judge_links_alike(kinds);
    said_ = fmt::format("{} GPUs", rows.size());
    for (const auto& [kind, count] : kinds) said_ += fmt::format(", {} {}", count / 2, kind);
  }

  /// NV18 beside NV16: some links of a GPU are down.
  void judge_links_alike(const std::map<std::string, int>& kinds) {
    std::string most;
    for (const auto& [kind, count] : kinds) {
      if (is_nvlink(kind) && (most.empty() || count > kinds.at(most))) most = kind;
    }
    for (const auto& [kind, count] : kinds) {
      if (is_nvlink(kind) && kind != most) {
        add(Health::kInvestigate, "topology-nvlink", {},
            fmt::format("{} pairs have {}, the others {}", count / 2, kind, most), matrix_line_);
      }
    }
  }

  void judge_peers(const std::vector<Row>& rows) {
    int good = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows[i].cells.size(); ++j) {
        const std::string& cell = rows[i].cells[j];
        if (i == j || cell == "X") continue;
        if (cell == "OK") {
          ++good;
        } else {
          add(Health::kFlag, "topology-p2p", fmt::format("{}-GPU{}", rows[i].name, j),
              "no access between peers: " + cell, rows[i].line);
        }
      }
    }
    said_ = fmt::format("{} GPUs, {} pairs reach each other", rows.size(), good / 2);
  }

  /// "GPU 0: NVIDIA H100 …", "Link 3: 26.562 GB/s", "Link 3: <inactive>", "Link 0: Replay Errors:
  /// 0".
  void see_link(const Line& line, std::string_view bare) {
    static thread_local const Regex& gpu = pattern(R"(^GPU (\d+): )");
    static thread_local const Regex& state = pattern(R"(^Link (\d+): (<inactive>|[\d.]+ GB/s))");
    static thread_local const Regex& errors =
        pattern(R"(^Link (\d+): (\w+(?: \w+)*) Errors?: (\d+))");
    Regex::Match match;
    const std::string text(bare);
    if (finds(gpu, text, match)) {
      link_gpu_ = "GPU " + std::string(group(match, 1));
      return;
    }
    if (finds(state, text, match)) {
      auto& links = links_[link_gpu_];
      links.first += group(match, 2) == "<inactive>" ? 0 : 1;
      ++links.second;
      link_line_ = link_line_ == 0 ? line.number : link_line_;
      if (group(match, 2) == "<inactive>") {
        add(Health::kFlag, "nvlink-inactive", fmt::format("{} link {}", link_gpu_, group(match, 1)),
            "inactive", line.number);
      }
    } else if (finds(errors, text, match)) {
      ++error_counters_;
      link_line_ = link_line_ == 0 ? line.number : link_line_;
      const auto count = whole(group(match, 3));
      if (!count || *count > 0) {
        add(Health::kFlag, "nvlink-errors", fmt::format("{} link {}", link_gpu_, group(match, 1)),
            fmt::format("{} {} errors", group(match, 3), lower_case(group(match, 2))), line.number);
      }
    }
    if (text.find("Unable to retrieve NVLink information") != std::string::npos ||
        text.find("all links are inActive") != std::string::npos) {
      add(Health::kReset, "nvlink-inactive", link_gpu_, text, line.number);
    }
  }

  void finish_links() {
    if (links_.empty() && error_counters_ == 0) return;
    const int expected =
        host_.instance && host_.instance->nvlink ? host_.instance->nvlink->links.value_or(-1) : -1;
    int active = 0;
    for (const auto& [gpu, links] : links_) {
      active += links.first;
      if (expected >= 0 && links.first != expected) {
        add(Health::kInvestigate, "nvlink-count", gpu,
            fmt::format("{} NVLinks are up, a GPU of {} has {}", links.first, host_.instance->name,
                        expected),
            link_line_);
      }
    }
    if (!links_.empty())
      add(Health::kOk, "nvlink", {}, fmt::format("{} links are up", active), link_line_);
    if (error_counters_ > 0) {
      add(Health::kOk, "nvlink", {}, fmt::format("{} error counters read", error_counters_),
          link_line_);
    }
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  std::string source_, said_;
  bool seen_ = false;
  std::size_t columns_ = 0;
  int matrix_line_ = 0;
  std::vector<Row> rows_;
  std::string link_gpu_ = "GPU ?";
  std::map<std::string, std::pair<int, int>> links_;  ///< up, all
  int error_counters_ = 0, link_line_ = 0;
};

}  // namespace

void read_topology(const Text& text, const Host& host, CheckResult& check) {
  bool seen = false;
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    TopologyReader reader(text, host, check);
    reader.read(stream);
    seen = seen || reader.seen();
  }
  if (!seen) {
    check.add(Health::kUnknown, "topology-empty", {},
              "nothing was understood as nvidia-smi topo or nvlink", {text.file, 0, 0});
  }
}

}  // namespace muster::health
