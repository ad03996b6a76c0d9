#include "engine/train/faults.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <chrono>
#include <map>
#include <thread>

namespace muster::train {

namespace {

template <typename T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t colon = text.find(':');
    fields.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return fields;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
  static const std::map<std::string_view, Fault::Kind> kKinds = {{"kill", Fault::Kind::kKill},
                                                                 {"stop", Fault::Kind::kStop},
                                                                 {"term", Fault::Kind::kTerm},
                                                                 {"nan", Fault::Kind::kNan},
                                                                 {"slow", Fault::Kind::kSlow}};
  static const std::map<std::string_view, Place> kPlaces = {{"forward", Place::kForward},
                                                            {"backward", Place::kBackward},
                                                            {"update", Place::kUpdate},
                                                            {"save", Place::kSave}};
  const Failure wrong =
      failure("option", fmt::format("--inject-fault {}: not understood", text), kFaultHelp);
  const auto fields = fields_of(text);
  if (fields.size() < 3 || fields.size() > 4) return wrong;
  Fault fault;
  std::string_view kind = fields[0];
  if (kind.starts_with("slow=")) {
    if (!read_number(kind.substr(5), fault.milliseconds)) return wrong;
    kind = "slow";
  } else if (kind == "slow") {
    return wrong;
  }
  const auto found = kKinds.find(kind);
  if (found == kKinds.end() || !read_number(fields[1], fault.rank) ||
      !read_number(fields[2], fault.step))
    return wrong;
  fault.kind = found->second;
  if (fields.size() == 4) {
    const auto place = kPlaces.find(fields[3]);
    if (place == kPlaces.end()) return wrong;
    fault.place = place->second;
  }
  return fault;
}

Faults::Faults(const std::vector<std::string>& texts, int rank) {
  for (const std::string& text : texts) {
    if (auto fault = parse_fault(text); fault && fault->rank == rank) faults_.push_back(*fault);
  }
}

void Faults::strike(std::int64_t step, Place place) const {
  for (const Fault& fault : faults_) {
    if (fault.place != place) continue;
    if (fault.kind == Fault::Kind::kSlow && step >= fault.step)
      std::this_thread::sleep_for(std::chrono::milliseconds(fault.milliseconds));
    if (fault.step != step) continue;
    if (fault.kind == Fault::Kind::kKill) ::raise(SIGKILL);
    if (fault.kind == Fault::Kind::kStop) ::raise(SIGSTOP);
    if (fault.kind == Fault::Kind::kTerm) ::raise(SIGTERM);
  }
}

bool Faults::spoils_loss(std::int64_t step) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == Fault::Kind::kNan && fault.step == step) return true;
  }
  return false;
}

}  // namespace muster::train
