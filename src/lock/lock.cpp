#include "lock/lock.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace muster::lock {
namespace {

using Files = std::map<std::string, std::string>;

/// Of a digest or a commit.
void settle(Entry& entry, std::map<std::string, std::string>& rows, const Answer& answer) {
  const auto known = rows.find(entry.key);
  entry.evidence = answer.digest;
  if (known == rows.end()) {
    entry.state = State::kNew;
  } else if (known->second == answer.digest) {
    entry.state = State::kSame;
  } else {
    entry.state = State::kChanged;
    entry.evidence = fmt::format("{}, was {}", answer.digest, known->second);
  }
  rows[entry.key] = answer.digest;
}

void settle_package(Entry& entry, std::map<std::string, Files>& rows, const Answer& answer) {
  const auto known = rows.find(entry.key);
  entry.evidence =
      fmt::format("{} file{}", answer.files.size(), answer.files.size() == 1 ? "" : "s");
  entry.state = known == rows.end() ? State::kNew : State::kSame;
  if (known != rows.end()) {
    for (const auto& [file, sum] : known->second) {
      const auto now = answer.files.find(file);
      if (now != answer.files.end() && now->second == sum) continue;
      entry.state = State::kChanged;
      entry.evidence = now == answer.files.end()
                           ? fmt::format("{} is gone", file)
                           : fmt::format("{} has the checksum {}, was {}", file, now->second, sum);
      break;
    }
  }
  rows[entry.key] = answer.files;
}

Answer ask(const Pin& pin, const LockOptions& options, Fetcher& fetcher) {
  if (pin.kind == PinKind::kImage) return ask_image(pin.name, fetcher);
  if (pin.kind == PinKind::kRepository) return ask_repository(pin.name, pin.version, fetcher);
  std::vector<std::string> indexes = options.indexes;
  for (const std::string& index : pin.indexes) {
    if (std::find(indexes.begin(), indexes.end(), index) == indexes.end()) indexes.push_back(index);
  }
  return ask_package(pin.name, pin.version, indexes, fetcher);
}

/// Rows that no pin asks for; removed from `rows`.
template <typename Value>
void drop_stale(PinKind kind, std::map<std::string, Value>& rows,
                const std::set<std::pair<PinKind, std::string>>& asked,
                std::vector<Entry>& entries) {
  for (auto row = rows.begin(); row != rows.end();) {
    if (asked.count({kind, row->first}) != 0) {
      ++row;
      continue;
    }
    entries.push_back({kind, row->first, State::kStale, "pinned by nothing any more", {}});
    row = rows.erase(row);
  }
}

}  // namespace

const char* to_string(State state) {
  switch (state) {
    case State::kSame:
      return "same";
    case State::kNew:
      return "new";
    case State::kChanged:
      return "changed";
    case State::kAbsent:
      return "absent";
    case State::kUnreached:
      return "unreached";
    case State::kStale:
      return "stale";
  }
  return "";
}

Outcome look_up(const std::vector<Pin>& pins, const LockFile& known, const LockOptions& options,
                Fetcher& fetcher, const std::function<void(const Pin&)>& on_pin) {
  Outcome outcome;
  outcome.lock = known;
  std::set<std::pair<PinKind, std::string>> asked;
  for (const Pin& pin : pins) {
    if (on_pin) on_pin(pin);
    Entry entry{pin.kind, pin.key(), State::kUnreached, {}, pin.where};
    asked.emplace(pin.kind, entry.key);
    const Answer answer = ask(pin, options, fetcher);
    if (answer.state != Answer::State::kFound) {
      entry.state = answer.state == Answer::State::kAbsent ? State::kAbsent : State::kUnreached;
      entry.evidence = answer.why;
    } else if (pin.kind == PinKind::kImage) {
      settle(entry, outcome.lock.images, answer);
    } else if (pin.kind == PinKind::kRepository) {
      settle(entry, outcome.lock.repositories, answer);
    } else {
      settle_package(entry, outcome.lock.packages, answer);
    }
    outcome.entries.push_back(std::move(entry));
  }
  if (options.drop_stale) {
    drop_stale(PinKind::kImage, outcome.lock.images, asked, outcome.entries);
    drop_stale(PinKind::kRepository, outcome.lock.repositories, asked, outcome.entries);
    drop_stale(PinKind::kPackage, outcome.lock.packages, asked, outcome.entries);
  }
  return outcome;
}

}  // namespace muster::lock
