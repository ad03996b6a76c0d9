// Elastic Fabric Adapters as the tools of a host tell them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/words.h"
#include "health/readers.h"

namespace muster::health {
namespace {

class EfaReader {
 public:
  EfaReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read(const std::vector<Line>& stream) {
    source_ = stream.empty() ? std::string() : stream.front().source;
    for (const Line& line : stream) see(line);
    finish();
  }

  bool seen() const { return seen_; }

 private:
  void add(Health health, const char* rule, const std::string& subject, const std::string& evidence,
           int line) {
    const std::string who = source_.empty()   ? subject
                            : subject.empty() ? source_
                                              : source_ + " " + subject;
    check_.add(health, rule, who, evidence, {text_.file, line, 0});
    seen_ = true;
  }

  void note(int line) {
    if (first_ == 0) first_ = line;
  }

  void see(const Line& line) {
    const std::string text(trimmed(line.text));
    const auto words = words_of(text);
    if (words.empty()) return;
    if (text.find("Elastic Fabric Adapter") != std::string::npos) {
      ++pci_;
      note(line.number);
      return;
    }
    // Some other line of lspci: "00:05.0 Ethernet controller: …".
    static thread_local const Regex& pci =
        pattern(R"(^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )");
    Regex::Match match;
    if (finds(pci, text, match)) {
      other_pci_ = true;
      note(line.number);
      return;
    }
    if (words[0] == "device" && text.find("node GUID") != std::string::npos) {
      verbs_table_ = true;
      note(line.number);
      return;
    }
    if (verbs_table_ && words.size() == 2 && words[1].size() == 16 &&
        words[1].find_first_not_of("0123456789abcdef") == std::string_view::npos) {
      ++verbs_;
      return;
    }
    see_provider(line, text);
    see_statistic(line, words);
    static thread_local const Regex& installer = pattern(R"(EFA installer version: (\S+))");
    if (finds(installer, text, match)) {
      add(Health::kOk, "efa-installer", {}, fmt::format("EFA installer {}", group(match, 1)),
          line.number);
    }
    for (const char* failed :
         {"fi_getinfo: -61", "fi_getinfo(): -61", "No data available", "fi_info: command not found",
          "No IB devices found", "ibv_devices: command not found", "lspci: command not found"}) {
      if (text.find(failed) != std::string::npos) {
        failures_.push_back({text, line.number});
        break;
      }
    }
  }

  /// fi_info -p efa: "provider: efa", "domain: rdmap0s6-rdm".
  void see_provider(const Line& line, const std::string& text) {
    if (text.starts_with("provider: ")) {
      note(line.number);
      provider_ = trimmed(std::string_view(text).substr(10));
      providers_.insert(provider_);
    } else if (text.starts_with("domain: ") && provider_.starts_with("efa")) {
      std::string domain(trimmed(std::string_view(text).substr(8)));
      for (const char* suffix : {"-rdm", "-dgrm"}) {
        if (domain.ends_with(suffix)) domain.resize(domain.size() - std::string(suffix).size());
      }
      domains_.insert(std::move(domain));
    }
  }

  /// rdma -p statistic show: "link rdmap0s6/1 tx_bytes 12 … rx_drops 0 …".
  void see_statistic(const Line& line, const std::vector<std::string_view>& words) {
    if (words[0] == "link" && words.size() > 1) {
      link_ = words[1];
      ++links_;
      note(line.number);
    }
    if (link_.empty()) return;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      for (const char* name :
           {"rx_drops", "retrans_timeout_events", "unresponsive_remote_events",
            "impaired_remote_conn_events", "rdma_read_wr_err", "rdma_write_wr_err"}) {
        if (words[i] != name) continue;
        const auto count = whole(words[i + 1]);
        if (!count) {
          add(Health::kUnknown, "efa-counter", link_,
              fmt::format("{} is not understood: {}", name, words[i + 1]), line.number);
        } else {
          ++counters_;
          if (*count > 0) {
            add(Health::kFlag, "efa-counter", link_, fmt::format("{}: {}", name, *count),
                line.number);
          }
        }
      }
    }
  }

  /// Devices against what the node should have. `exact`: more are wrong as well.
  void judge_count(int devices, const char* tool, bool exact) {
    const auto expected = host_.efa_devices();
    const std::string seen = fmt::format("{} EFA devices by {}", devices, tool);
    if (!expected) {
      if (devices > 0)
        add(Health::kOk, "efa-count", {}, seen, first_);
      else
        add(Health::kNotApplicable, "efa-count", {}, seen, first_);
    } else if (devices < *expected || (exact && devices > *expected)) {
      add(Health::kReplace, "efa-count", {},
          fmt::format("{}, {} has {}", seen, host_.instance->name, *expected), first_);
    } else if (devices == 0) {
      add(Health::kNotApplicable, "efa-count", {}, seen + ", and it should have none", first_);
    } else {
      add(Health::kOk, "efa-count", {},
          fmt::format("{}, {} has {}", seen, host_.instance->name, *expected), first_);
    }
  }

  void finish() {
    if (pci_ > 0 || other_pci_) judge_count(pci_, "lspci", true);
    // Other RDMA devices may stand beside the adapters: only too few are wrong.
    if (verbs_table_) judge_count(verbs_, "ibv_devices", false);
    if (!providers_.empty()) {
      const bool efa = std::any_of(providers_.begin(), providers_.end(), [](const auto& provider) {
        return provider.starts_with("efa");
      });
      if (efa) {
        judge_count(static_cast<int>(domains_.size()), "fi_info", false);
      } else {
        add(host_.efa_devices() == 0 ? Health::kNotApplicable : Health::kInvestigate,
            "efa-provider", {},
            fmt::format("libfabric offers {}, not efa", fmt::join(providers_, ", ")), first_);
      }
    }
    if (counters_ > 0) {
      add(Health::kOk, "efa-counter", {},
          fmt::format("{} error counters of {} links read", counters_, links_), first_);
    }
    for (const auto& [text, line] : failures_) {
      const auto expected = host_.efa_devices();
      const bool tool = text.find("command not found") != std::string::npos;
      const Health health = expected == 0       ? Health::kNotApplicable
                            : tool || !expected ? Health::kUnknown
                                                : Health::kInvestigate;
      add(health, "efa-provider", {}, text, line);
    }
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  std::string source_, provider_, link_;
  bool seen_ = false, other_pci_ = false, verbs_table_ = false;
  int pci_ = 0, verbs_ = 0, first_ = 0, links_ = 0;
  std::size_t counters_ = 0;
  std::set<std::string> providers_, domains_;
  std::vector<std::pair<std::string, int>> failures_;
};

}  // namespace

void read_efa(const Text& text, const Host& host, CheckResult& check) {
  bool seen = false;
  for (const std::vector<Line>& stream : streams_of(text.content)) {
    EfaReader reader(text, host, check);
    reader.read(stream);
    seen = seen || reader.seen();
  }
  if (!seen) {
    check.add(Health::kUnknown, "efa-empty", {},
              "nothing was understood as lspci, ibv_devices, fi_info or rdma statistic",
              {text.file, 0, 0});
  }
}

}  // namespace muster::health
