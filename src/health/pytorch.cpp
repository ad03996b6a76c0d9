// What PyTorch says of itself on every rank. Ranks that disagree on a version or a switch compute
// different things, or wait for each other for ever.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "facts/compatibility.h"
#include "health/json_text.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

constexpr const char* kRecordMark = "pytorch-environment";
constexpr std::chrono::milliseconds kProbeLimit{180000};  // torch from a busy file server

/// What one rank tells.
struct RankRecord {
  std::optional<int> rank, world;
  std::string host, python;
  std::string error, absent;                  ///< why there is no torch
  std::map<std::string, std::string> values;  ///< as JSON writes them, texts without quotes
  Position where;

  std::string name() const {
    return rank           ? fmt::format("rank {}{}", *rank, host.empty() ? "" : " (" + host + ")")
           : host.empty() ? to_string(where)
                          : host;
  }
};

std::optional<int> count_at(const nlohmann::json& record, const char* key) {
  const auto value = record.find(key);
  if (value == record.end() || !value->is_number_integer()) return std::nullopt;
  const auto number = value->get<std::int64_t>();
  return number >= 0 && number <= (1 << 24) ? std::optional(static_cast<int>(number))
                                            : std::nullopt;
}

std::string text_in(const nlohmann::json& record, const char* key) {
  const auto value = record.find(key);
  return value != record.end() && value->is_string() ? value->get<std::string>() : std::string();
}

std::string plain_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class RankComparison {
 public:
  RankComparison(const Host& host, CheckResult& check) : host_(host), check_(check) {}

  void see(const Text& text) {
    for (const std::vector<Line>& stream : streams_of(text.content)) {
      for (const JsonText& one : json_texts(stream)) {
        const Position where{text.file, one.line, 0};
        const auto record = nlohmann::json::parse(one.text, nullptr, false);
        if (one.text.find(kRecordMark) == std::string::npos) continue;
        ++marked_;
        if (!one.whole || !record.is_object() || text_in(record, "muster") != kRecordMark) {
          check_.add(Health::kError, "pytorch-record", one.source, "the record breaks off", where);
          continue;
        }
        add(record, where);
      }
    }
  }

  bool empty() const { return marked_ == 0; }

  void judge() {
    if (ranks_.empty()) return;
    judge_presence();
    judge_ranks();
    std::map<std::string, std::map<std::string, std::vector<const RankRecord*>>> told;
    std::size_t with_torch = 0;
    for (const RankRecord& rank : ranks_) {
      if (!rank.error.empty() || !rank.absent.empty()) continue;
      ++with_torch;
      for (const auto& [name, value] : rank.values) told[name][value].push_back(&rank);
      told["python"][rank.python].push_back(&rank);
    }
    if (with_torch == 0) return;
    std::size_t alike = 0;
    for (const auto& [name, values] : told) alike += agree(name, values, with_torch) ? 1U : 0U;
    judge_gpus(told);
    if (host_.pytorch_expect != nullptr) expect(told);
    if (alike > 0) {
      const auto version = told.find("torch.version");
      check_.add(Health::kOk, "pytorch", {},
                 fmt::format("{}{} values alike on {} ranks",
                             version == told.end() || version->second.size() != 1
                                 ? std::string()
                                 : "torch " + version->second.begin()->first + ", ",
                             alike, with_torch),
                 ranks_.front().where);
    }
  }

 private:
  void add(const nlohmann::json& record, const Position& where) {
    RankRecord rank;
    rank.rank = count_at(record, "rank");
    rank.world = count_at(record, "world");
    rank.host = text_in(record, "host");
    rank.python = text_in(record, "python");
    rank.error = text_in(record, "error");
    rank.absent = text_in(record, "absent");
    rank.where = where;
    const auto values = record.find("values");
    if (values != record.end() && values->is_object()) {
      for (const auto& [name, value] : values->items()) rank.values[name] = plain_text(value);
    }
    if (rank.values.empty() && rank.error.empty() && rank.absent.empty()) {
      check_.add(Health::kUnknown, "pytorch-record", rank.name(), "tells no value", where);
      return;
    }
    ranks_.push_back(std::move(rank));
  }

  void judge_presence() {
    const bool nowhere = std::all_of(ranks_.begin(), ranks_.end(),
                                     [](const RankRecord& one) { return !one.absent.empty(); });
    for (const RankRecord& rank : ranks_) {
      if (!rank.error.empty()) {
        check_.add(Health::kInvestigate, "pytorch-import", rank.name(),
                   "torch can't be imported: " + rank.error, rank.where);
      } else if (!rank.absent.empty()) {
        const bool wanted = !nowhere || host_.pytorch_expect != nullptr;
        check_.add(wanted ? Health::kInvestigate : Health::kNotApplicable, "pytorch-import",
                   rank.name(), "Python has no torch", rank.where);
      }
    }
  }

  /// All of them once.
  void judge_ranks() {
    std::map<int, int> seen;
    int world = 0;
    for (const RankRecord& rank : ranks_) {
      if (rank.rank) ++seen[*rank.rank];
      world = std::max(world, rank.world.value_or(0));
    }
    for (const auto& [rank, times] : seen) {
      if (times > 1) {
        check_.add(Health::kUnknown, "pytorch-ranks", fmt::format("rank {}", rank),
                   fmt::format("tells {} times: two runs are mixed", times));
      }
    }
    if (world > 1 && seen.size() < static_cast<std::size_t>(world)) {
      int missing = 0;
      while (seen.count(missing) > 0) ++missing;
      check_.add(Health::kUnknown, "pytorch-ranks", {},
                 fmt::format("{} of {} ranks tell; the first that does not is {}", seen.size(),
                             world, missing));
    }
  }

  /// Whether all ranks tell one value; those that differ from most are named.
  bool agree(const std::string& name,
             const std::map<std::string, std::vector<const RankRecord*>>& values,
             std::size_t ranks) {
    std::size_t told = 0;
    const std::vector<const RankRecord*>* most = nullptr;
    std::string usual;
    for (const auto& [value, who] : values) {
      told += who.size();
      if (most == nullptr || who.size() > most->size()) {
        most = &who;
        usual = value;
      }
    }
    if (values.size() == 1 && told == ranks) return true;
    if (told < ranks) {
      check_.add(Health::kInvestigate, "pytorch-differs", name,
                 fmt::format("told by {} of {} ranks", told, ranks), most->front()->where);
    }
    for (const auto& [value, who] : values) {
      if (&who == most) continue;
      constexpr std::size_t kMost = 4;
      std::vector<std::string> names;
      for (std::size_t i = 0; i < who.size() && i < kMost; ++i) names.push_back(who[i]->name());
      if (who.size() > kMost) names.push_back(fmt::format("{} more", who.size() - kMost));
      check_.add(Health::kInvestigate, "pytorch-differs", name,
                 fmt::format("{} on {}, {} on the other {}", value, fmt::join(names, ", "), usual,
                             ranks - who.size()),
                 who.front()->where);
    }
    return false;
  }

  using Told = std::map<std::string, std::map<std::string, std::vector<const RankRecord*>>>;

  void judge_gpus(const Told& told) {
    if (host_.accelerators("gpu").value_or(0) == 0) return;
    for (const char* name : {"cuda.available", "distributed.nccl"}) {
      const auto values = told.find(name);
      const auto no = values == told.end()
                          ? std::map<std::string, std::vector<const RankRecord*>>::const_iterator()
                          : values->second.find("false");
      if (values == told.end()) {
        check_.add(Health::kUnknown, "pytorch-gpu", name, "is not told");
      } else if (no != values->second.end()) {
        check_.add(Health::kInvestigate, "pytorch-gpu", name,
                   fmt::format("false on {}, and {} has GPUs", no->second.front()->name(),
                               host_.instance->name),
                   no->second.front()->where);
      }
    }
  }

  void expect(const Told& told) {
    std::vector<std::string> names;
    for (const auto& [name, values] : told) names.push_back(name);
    for (const Node::Entry& entry : host_.pytorch_expect->entries()) {
      const auto values = told.find(entry.key);
      if (values == told.end()) {
        const auto meant = did_you_mean(entry.key, names);
        check_.add(Health::kUnknown, "pytorch-expect", entry.key,
                   "no rank tells it" +
                       (meant ? fmt::format("; did you mean \"{}\"?", *meant) : std::string()),
                   entry.where);
        continue;
      }
      for (const auto& [value, who] : values->second) expect(entry, value, who);
    }
  }

  void expect(const Node::Entry& entry, const std::string& value,
              const std::vector<const RankRecord*>& who) {
    const std::string wanted = entry.value.is_null() ? "null" : entry.value.text();
    const bool range = !wanted.empty() && (wanted[0] == '<' || wanted[0] == '>');
    const auto fits = range ? facts::in_range(value, wanted) : std::optional(value == wanted);
    if (!fits) {
      check_.add(Health::kUnknown, "pytorch-expect", entry.key,
                 fmt::format("{} can't be compared with {}", value, wanted), entry.where);
    } else if (!*fits) {
      check_.add(
          Health::kInvestigate, "pytorch-expect", entry.key,
          fmt::format("{} on {}{}, expected: {}", value, who.front()->name(),
                      who.size() > 1 ? fmt::format(" and {} more", who.size() - 1) : "", wanted),
          entry.where);
    } else {
      check_.add(Health::kOk, "pytorch-expect", entry.key, fmt::format("{}, as expected", value),
                 entry.where);
    }
  }

  const Host& host_;
  CheckResult& check_;
  std::vector<RankRecord> ranks_;
  int marked_ = 0;
};

}  // namespace

void read_pytorch_files(const std::vector<Text>& texts, const Host& host, CheckResult& check) {
  RankComparison comparison(host, check);
  for (const Text& text : texts) comparison.see(text);
  if (comparison.empty()) {
    check.add(Health::kUnknown, "pytorch-empty", {}, "holds no record of the probe",
              {texts.empty() ? std::string() : texts.front().file, 0, 0});
    return;
  }
  comparison.judge();
}

void read_pytorch(const Text& text, const Host& host, CheckResult& check) {
  read_pytorch_files({text}, host, check);
}

void look_at_pytorch(const HostView& view, const Host& host, CheckResult& check) {
  if (read_command(view, {"pytorch-probe"}, kProbeLimit, read_pytorch, host, check)) return;
  if (host.pytorch_probe.empty()) {
    check.add(Health::kUnknown, "no-tool", {}, "the probe is not there");
    return;
  }
  const std::string python = host.python.empty() ? "python3" : host.python;
  if (!read_command(view, {python, host.pytorch_probe}, kProbeLimit, read_pytorch, host, check)) {
    const bool named = !host.python.empty() || host.pytorch_expect != nullptr;
    check.add(named ? Health::kError : Health::kNotApplicable, "no-tool", {},
              python + " is not there");
  }
}

}  // namespace muster::health
