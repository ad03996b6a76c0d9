// What the files of rules for Kubernetes objects share, and what each of them looks at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/finding.h"

namespace muster::lint {

// Rules that several files find broken.
inline constexpr const char* kRangeRule = "kubernetes-range";          ///< a number out of bounds
inline constexpr const char* kReferenceRule = "kubernetes-reference";  ///< of what is not there
inline constexpr const char* kReplicasRule = "kubernetes-replicas";    ///< which pods there are

/// Lower-case letters, digits and inner dashes, at most 63 (RFC 1123).
bool is_dns_label(std::string_view text);
/// As is_dns_label, and a letter comes first (RFC 1035).
bool is_service_name(std::string_view text);
/// Labels parted by dots, 253 characters in all.
bool is_subdomain(std::string_view text);

/// Items or entries at a dotted key; none when it is absent.
const std::vector<Node>& items_at(const Node& node, std::string_view key);
const std::vector<Node::Entry>& entries_at(const Node& node, std::string_view key);

/// The value of a key that may hold dots, such as an annotation's; empty when absent.
std::string annotation_of(const Node& object, std::string_view key);

/// Collects what rules find.
class RuleFindings {
 public:
  void wrong(const Node& node, const char* rule, std::string message, std::string hint = {});
  void warn(const Node& node, const char* rule, std::string message, std::string hint = {});
  /// An integer below what its operator takes.
  void at_least(const Node& root, std::string_view key, std::int64_t least);
  Findings take() { return std::move(findings_); }

 private:
  Findings findings_;
};

// What the operators of custom resources refuse beyond their resource definitions, in webhooks or
// before their controllers make anything: the suite kube-operators lets them judge the same
// objects. Each looks at objects of its kinds and is silent about others.
void check_kubeflow(const Node& object, const std::string& kind, RuleFindings& found);
void check_sets(const Node& object, const std::string& kind, RuleFindings& found);
void check_ray(const Node& object, const std::string& kind, RuleFindings& found);

/// TrainJobs against the runtimes of the same file that they name.
Findings check_train_jobs(const std::vector<Node>& documents);

}  // namespace muster::lint
