// The clients of a directory.
#include <fmt/format.h>

#include "architectures/document_renderers.h"

namespace muster::architectures {

std::string sssd_conf(const Plan& plan, const facts::Facts&) {
  const std::string& base = plan.cluster.domain;
  return fmt::format(
      "# Rendered from cluster.yaml, change that. /etc/sssd/sssd.conf, mode 0600. "
      "ldap_default_authtok is the secret\n# {}; the authority is the SSM parameter {}, in "
      "/etc/sssd/ldap-ca.crt.\n"
      "[sssd]\nconfig_file_version = 2\nservices = nss, pam, ssh\ndomains = cluster\n\n"
      "[domain/cluster]\nid_provider = ldap\nauth_provider = ldap\nldap_uri = {}\n"
      "ldap_search_base = {}\nldap_user_search_base = ou=people,{}\n"
      "ldap_group_search_base = ou=groups,{}\nldap_default_bind_dn = cn=reader,{}\n"
      "ldap_default_authtok_type = password\nldap_default_authtok = @LDAP_READER_PASSWORD@\n"
      "ldap_tls_cacert = /etc/sssd/ldap-ca.crt\nldap_tls_reqcert = demand\n"
      "ldap_user_ssh_public_key = sshPublicKey\nenumerate = false\ncache_credentials = true\n"
      "override_homedir = {}\n",
      plan.output("directory", "LdapReaderPassword"),
      plan.output("directory", "LdapCertificateParameter"), plan.output("directory", "LdapUri"),
      base, base, base, base, plan.cluster.openzfs ? "/home/%u" : "/fsx/%u");
}

}  // namespace muster::architectures
