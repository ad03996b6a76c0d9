// Dockerfiles.
#include <algorithm>

#include "lint/dockerfile_rules.h"

namespace muster::lint {
namespace {

bool is_dockerfile(const Source& source) {
  return is_dockerfile_name(source.path.filename().string());
}

// The scripts that RUN hands to a shell. A here-document of `RUN <<EOF` is the script itself; one
// of `RUN cat > file <<EOF` is text.
std::vector<DockerRun> runs_of(const Dockerfile& file) {
  std::vector<DockerRun> runs;
  for (const DockerInstruction& instruction : file.instructions) {
    if (instruction.name != "RUN") continue;
    if (instruction.list) {
      // The JSON form starts a program without a shell.
      DockerRun run{&instruction, {}, instruction.body_at};
      ShellCommand command;
      for (const std::string& item : *instruction.list)
        command.words.push_back({item, item, 0, true});
      if (!command.words.empty()) run.shell.commands.push_back(std::move(command));
      runs.push_back(std::move(run));
      continue;
    }
    std::string body = instruction.body;
    const bool is_script = body.rfind("<<", 0) == 0;
    if (is_script) {
      for (const DockerHeredoc& heredoc : instruction.heredocs)
        runs.push_back({&instruction, parse_shell(heredoc.text), heredoc.at});
    } else {
      // The texts of its here-documents are not part of the line: without their names the shell's
      // parser does not look for them.
      for (auto at = body.find("<<"); at != std::string::npos; at = body.find("<<", at + 2)) {
        if (!instruction.heredocs.empty()) body.replace(at, 2, "  ");
      }
      runs.push_back({&instruction, parse_shell(body), instruction.body_at});
    }
  }
  return runs;
}

Findings check_dockerfile(const Source& source, const facts::Facts& known, bool& unreadable) {
  const Dockerfile file = parse_dockerfile(source.text, source.path.string());
  Findings findings = file.findings;
  if (file.stages.empty()) {
    unreadable = true;
    return findings;
  }
  DockerSubject subject{source, file, known};
  subject.runs = runs_of(file);
  for (const auto& part : {check_images, check_runs, check_contents, check_image_environment}) {
    Findings found = part(subject);
    std::move(found.begin(), found.end(), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace

bool is_dockerfile_name(const std::string& name) {
  const auto ends = [&](std::string_view end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  return name == "Dockerfile" || name == "Containerfile" || name.rfind("Dockerfile.", 0) == 0 ||
         ends(".Dockerfile") || ends(".dockerfile") || ends(".containerfile");
}

const Checker kDockerfileChecker{"dockerfile", is_dockerfile, check_dockerfile};

}  // namespace muster::lint
