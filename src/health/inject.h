// Faults to plant in a copy of a host's view, so that operators can prove that a check, a prolog or
// an alert finds them. The host itself is never touched.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "health/view.h"

namespace muster::health {

struct Fault {
  const char* name;
  const char* doc;
  const char* check;  ///< that has to find it
};

/// The catalogue, by name.
const std::vector<Fault>& faults();
const Fault* find_fault(std::string_view name);

/// The view with the fault in it. Whether there was something to plant it in shows only when a
/// check looks: planted() says so afterwards.
class InjectedView : public HostView {
 public:
  InjectedView(const HostView& host, const Fault& fault) : host_(host), fault_(fault) {}

  Result<std::string> file(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const override;
  bool exists(const std::filesystem::path& path) const override { return host_.exists(path); }
  Result<ProcessResult> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) const override;
  std::string name() const override { return host_.name(); }

  bool planted() const { return planted_; }

 private:
  bool is(std::string_view name) const { return name == fault_.name; }
  /// Replaces the first `from` by `to`; counts as planted when there was one.
  std::string with(std::string text, std::string_view from, std::string_view to) const;

  const HostView& host_;
  const Fault& fault_;
  mutable bool planted_ = false;
};

}  // namespace muster::health
