// Files of Kubernetes objects.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "base/document.h"
#include "base/schema.h"
#include "lint/kubernetes_objects.h"
#include "lint/kubernetes_rules.h"
#include "lint/lint.h"

namespace muster::lint {
namespace {

bool has_line(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0 || text.find(std::string("\n") + start) != std::string::npos;
}

bool is_kubernetes(const Source& source) {
  const auto extension = source.path.extension();
  if (extension != ".yaml" && extension != ".yml") return false;
  if (source.text.find("apiVersion: muster/") != std::string::npos) return false;
  return has_line(source.text, "apiVersion:") && has_line(source.text, "kind:");
}

// By the folders of the catalog: each holds the files of one target.
Cluster cluster_of(const Source& source) {
  const auto folder = source.path.parent_path().filename();
  if (folder == "hyperpod-eks") return Cluster::kHyperpod;
  return folder == "kubernetes" ? Cluster::kPlain : Cluster::kAny;
}

// The types are read once for a project, when the first object is met.
Result<std::shared_ptr<const KubeTypes>> types_of(const Source& source) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::shared_ptr<const KubeTypes>> known;
  const FileSystem& files = source.files ? *source.files : real_file_system();
  if (&files != &real_file_system()) return KubeTypes::load(files, source.root);
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(source.root); found != known.end()) return found->second;
  auto types = KubeTypes::load(files, source.root);
  if (types) known[source.root] = *types;
  return types;
}

Findings check_kubernetes(const Source& source, const facts::Facts& known, bool& unreadable) {
  auto documents = parse_yaml_stream(source.text, source.path.string());
  if (!documents) {
    unreadable = true;
    return documents.findings();
  }
  const auto types = types_of(source);
  if (!types) {
    unreadable = true;
    return types.findings();
  }
  const Cluster cluster = cluster_of(source);
  Findings findings = check_train_jobs(*documents);
  for (const Node& document : *documents) {
    if (document.is_null()) continue;  // nothing between two `---`
    const auto take = [&](Findings found) {
      std::move(found.begin(), found.end(), std::back_inserter(findings));
    };
    take(check_object(document, **types));
    const Node* items = text_at(document, "kind") == "List" ? document.find("items") : nullptr;
    const auto judge = [&](const Node& object) {
      take(check_object_environment(object, known));
      take(check_hyperpod(object, cluster));
    };
    if (items) {
      for (const Node& object : items->items()) judge(object);
    } else {
      judge(document);
    }
  }
  return findings;
}

}  // namespace

const Checker kKubernetesChecker{"kubernetes", is_kubernetes, check_kubernetes};

}  // namespace muster::lint
