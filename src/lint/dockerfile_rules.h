// What is wrong with a Dockerfile. Rule identifiers:
//   docker-syntax         an unknown instruction, no FROM, a here-document that is never closed
//   docker-floating       a base or a version that can mean another one tomorrow
//   docker-unset          an argument of FROM that has no default
//   docker-clone          a repository that is cloned at no fixed tag or commit
//   docker-pip            a Python package without ==
//   docker-redirect       an unquoted >= or <=: the shell takes it for a redirection
//   docker-apt-key        apt-key, which is gone
//   docker-floor          a library below the floors of facts/versions.yaml
//   docker-tag            a tag that can't be: vv2.27.5
//   docker-secret         a secret in ENV, ARG or a URL: it stays in the image
//   docker-context        a source of COPY or ADD that is not in the build context
//   docker-add-url        ADD of a URL without a checksum
//   docker-ssh-key        a key that is made in the image: the same in every container
//   docker-end-of-life    a base that nobody mends any more
//   docker-identity, docker-region, docker-site-path, docker-numbered-path: catalog/identities.h
#pragma once

#include "facts/facts.h"
#include "lint/dockerfile.h"
#include "lint/lint.h"
#include "lint/shell_script.h"

namespace muster::lint {

/// The script of a RUN: its shell form, or a here-document that it runs.
struct DockerRun {
  const DockerInstruction* instruction = nullptr;
  ShellScript shell;
  std::size_t at = 0;  ///< offset of the script's text in the file
};

struct DockerSubject {
  const Source& source;
  const Dockerfile& file;
  const facts::Facts& known;
  std::vector<DockerRun> runs{};

  Position place(std::size_t at) const;
};

Findings check_images(const DockerSubject& subject);    ///< FROM, and versions in ARG and ENV
Findings check_runs(const DockerSubject& subject);      ///< what RUN does
Findings check_contents(const DockerSubject& subject);  ///< COPY, ADD, secrets, identities
/// Variables of the fabric and of NCCL that the image sets: env-*, lint/environment.h.
Findings check_image_environment(const DockerSubject& subject);

}  // namespace muster::lint
