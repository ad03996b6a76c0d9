// CloudFormation through the `aws` command line: what is asked, and what the answers mean. Parsers
// are pure.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::architectures {

/// Beside kClusterTag: the digest of the template and the parameters that a stack was made of.
inline constexpr const char* kDigestTag = "muster:digest";

struct DeployedStack {
  std::string name, id;
  std::string status;  ///< as CloudFormation writes it
  std::string reason;
  std::map<std::string, std::string> tags, outputs, parameters;

  bool is_moving() const { return status.ends_with("_IN_PROGRESS"); }
  /// Stands as it was asked for last.
  bool is_complete() const;
  /// A first creation that failed: nothing is left to update.
  bool is_wreck() const;
};

struct StackResource {
  std::string logical, physical, type, status;

  /// Whether there is really something: an emulator says complete of what it does not know.
  bool is_known() const { return !type.empty() && !physical.empty(); }
};

struct StackEvent {
  std::string resource, type, status, reason, physical;
};

/// `describe-stacks`.
Result<std::vector<DeployedStack>> parse_stack_list(const std::string& text);
/// `list-stack-resources`.
Result<std::vector<StackResource>> parse_stack_resources(const std::string& text);
/// `describe-stack-events`, newest first as it comes.
Result<std::vector<StackEvent>> parse_stack_events(const std::string& text);

/// Why a stack failed: the first resource that failed since the last start, in its own words.
/// "cancelled" ones failed because of it and say nothing. Empty: no event tells.
std::string failure_reason(const std::vector<StackEvent>& newest_first, const std::string& stack);

/// What is sent to make or change a stack.
struct StackRequest {
  std::string name;
  std::filesystem::path template_file, parameters_file;  ///< absolute
  std::vector<std::string> capabilities;
  std::map<std::string, std::string> tags;
};

class CloudFormation {
 public:
  CloudFormation(ProcessRunner& processes, std::string region)
      : processes_(processes), region_(std::move(region)) {}

  /// Nothing when there is no such stack.
  Result<std::optional<DeployedStack>> find(const std::string& name);
  Result<std::vector<DeployedStack>> all();
  Result<std::vector<StackResource>> resources(const std::string& name);
  Result<std::string> reason(const std::string& name);
  Result<std::string> template_of(const std::string& name);

  Result<void> create(const StackRequest& request);
  /// False when there was nothing to change.
  Result<bool> update(const StackRequest& request);
  Result<void> remove(const std::string& name);

  /// Resources that are no more as the template says, as "LogicalId: MODIFIED". Asks AWS to look,
  /// and waits for `limit` at most.
  Result<std::vector<std::string>> drift(const std::string& name, Clock& clock,
                                         std::chrono::seconds limit);

 private:
  Result<std::string> ask(std::vector<std::string> words);

  ProcessRunner& processes_;
  std::string region_;
};

}  // namespace muster::architectures
