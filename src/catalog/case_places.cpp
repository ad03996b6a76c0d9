#include "catalog/case_places.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/schema.h"
#include "catalog/identities.h"

namespace muster::catalog {
namespace {

bool lies_in(const std::string& path, const std::string& folder) {
  if (folder.empty()) return false;
  return path == folder || path.rfind(folder.back() == '/' ? folder : folder + "/", 0) == 0;
}

// Folders that are a shared file system wherever they are used, and never part of an image.
bool is_shared_root(const std::string& path) {
  static constexpr std::array<const char*, 7> kRoots = {
      "/fsx", "/efs", "/lustre", "/shared", "/scratch", "/openzfs", "/nfs"};
  return std::any_of(kRoots.begin(), kRoots.end(),
                     [&](const char* root) { return lies_in(path, root); });
}

class Places {
 public:
  Places(const Case& values, const Node& manifest, const facts::PublicAccounts& known)
      : case_(values), manifest_(manifest), known_(known) {}

  Findings check() {
    walk(manifest_);
    if (in_container()) {
      check_path("checkpoint.dir", case_.checkpoint.dir);
      check_path("data.path", case_.data.path);
    }
    check_arguments();
    return std::move(findings_);
  }

 private:
  void wrong(const Position& where, const std::string& rule, std::string message,
             std::string hint = {}) {
    findings_.push_back(error_at(where, rule, std::move(message), std::move(hint)));
  }

  void walk(const Node& node) {
    if (node.is_scalar()) {
      for (BoundText& found : find_identities(node.text(), known_))
        wrong(node.where(), std::string("case-") + found.rule, std::move(found.message),
              std::move(found.hint));
    }
    for (const Node& item : node.items()) walk(item);
    for (const Node::Entry& entry : node.entries()) walk(entry.value);
  }

  bool in_container() const {
    const Targets& t = case_.targets;
    return t.kubernetes || t.hyperpod_eks || t.batch_job_queue ||
           (t.slurm && !t.slurm->container.empty() && t.slurm->container != "none");
  }

  bool is_mounted(const std::string& path) const {
    const Storage& storage = case_.storage;
    return lies_in(path, storage.scratch) ||
           std::any_of(storage.mounts.begin(), storage.mounts.end(),
                       [&](const Mount& mount) { return lies_in(path, mount.path); });
  }

  void check_path(const char* key, const std::string& path) {
    const Node* node = node_at(manifest_, key);
    if (!node || path.empty() || path[0] != '/' || is_mounted(path)) return;
    wrong(node->where(), "case-mount",
          fmt::format("{} {} is on no mount: it would vanish with the container", key, path),
          "name the file system under storage.mounts");
  }

  void check_arguments() {
    const Node* args = node_at(manifest_, "entrypoint.args");
    if (!args) return;
    for (const Node& arg : args->items()) {
      const std::string& text = arg.text();
      const auto equals = text.find('=');
      const std::string name = text.substr(0, equals);
      const std::string value = text[0] == '/'                ? text
                                : equals == std::string::npos ? std::string()
                                                              : text.substr(equals + 1);
      if (is_shared_root(value) && !is_mounted(value)) {
        wrong(arg.where(), "case-mount", fmt::format("{} is on no mount of the case", value),
              "name the file system under storage.mounts");
      }
      const bool rank = name == "--node_rank" || name == "--node-rank" ||
                        name == "--machine_rank" || name == "--machine-rank";
      if (rank && case_.rendezvous.elastic) {
        wrong(arg.where(), "case-rendezvous",
              fmt::format("{} beside an elastic rendezvous, which gives out the ranks", name),
              "leave it out");
      }
    }
  }

  const Case& case_;
  const Node& manifest_;
  const facts::PublicAccounts& known_;
  Findings findings_;
};

}  // namespace

Findings check_places(const Case& values, const Node& manifest,
                      const facts::PublicAccounts& known) {
  return Places(values, manifest, known).check();
}

}  // namespace muster::catalog
