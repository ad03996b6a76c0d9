#include "architectures/documents.h"

#include "architectures/document_renderers.h"

namespace muster::architectures {
namespace {

struct DocumentRenderer {
  const char* name;
  std::string (*render)(const Plan& plan, const facts::Facts& known);
};

const std::vector<DocumentRenderer>& document_renderers() {
  static const std::vector<DocumentRenderer> kRenderers = {
      {"eksctl", eksctl_config},
      {"hyperpod-cluster", hyperpod_cluster},
      {"hyperpod-cluster-eks", hyperpod_cluster_eks},
      {"hyperpod-cluster-managed", hyperpod_cluster_managed},
      {"hyperpod-provisioning", hyperpod_provisioning},
      {"hyperpod-users", hyperpod_users},
      {"pcluster", pcluster_config},
      {"slurmdbd", slurmdbd_conf},
      {"sssd", sssd_conf},
  };
  return kRenderers;
}

}  // namespace

std::optional<std::string> render_document(const std::string& name, const Plan& plan,
                                           const facts::Facts& known) {
  for (const DocumentRenderer& renderer : document_renderers()) {
    if (name == renderer.name) return renderer.render(plan, known);
  }
  return std::nullopt;
}

std::vector<std::string> document_names() {
  std::vector<std::string> names;
  for (const DocumentRenderer& renderer : document_renderers()) names.emplace_back(renderer.name);
  return names;
}

}  // namespace muster::architectures
