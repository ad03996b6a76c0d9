// What is wrong with Ansible's playbooks and roles, and with Packer's templates. Rule identifiers:
//   ansible-form                 not a list of plays or tasks; a key that plays do not have
//   ansible-role-missing         a role that is in no folder of roles
//   ansible-defaults-dependency  dependencies in defaults or vars, where they have no effect
//   ansible-marker               two blockinfile of one file and one marker: the second overwrites
//   ansible-clone                a git repository at no tag or commit
//   ansible-floating             state: latest of a package, an address with "latest" in it
//   ansible-unguarded            a command that runs again each time (warning)
//   ansible-congestion           a congestion control that the kernel does not have: brr
//   ansible-identity, -region, -site-path, -numbered-path: catalog/identities.h
//   env-*                        what a file of the role sets: lint/environment.h
//   packer-owner                 an image by its name, of whatever owner
//   packer-identity, -region, …: catalog/identities.h
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "facts/facts.h"
#include "lint/lint.h"

namespace muster::lint {

/// What a file of Ansible's is, by where it lies or how it looks.
enum class AnsibleFile { kNone, kPlaybook, kTasks, kHandlers, kVariables, kMeta };

AnsibleFile ansible_file(const Source& source);

/// Everything wrong with a parsed file.
Findings check_ansible(const Source& source, const Node& document, AnsibleFile kind,
                       const facts::Facts& known);

}  // namespace muster::lint
