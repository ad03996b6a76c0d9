// What a Dockerfile puts into the image: files of the context, downloads, secrets, identities.
#include <algorithm>

#include <fmt/format.h>

#include "base/redact.h"
#include "catalog/identities.h"
#include "catalog/secrets.h"
#include "lint/dockerfile_rules.h"

namespace muster::lint {
namespace {

namespace fs = std::filesystem;

bool is_url(const std::string& text) {
  return text.rfind("http://", 0) == 0 || text.rfind("https://", 0) == 0 ||
         text.rfind("ftp://", 0) == 0;
}

bool is_git_source(const std::string& text) {
  return text.rfind("git@", 0) == 0 || (is_url(text) && text.find(".git") != std::string::npos);
}

// `*` and `?` of one name.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    return matches(name, pattern.substr(1)) || (!name.empty() && matches(name.substr(1), pattern));
  }
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         matches(name.substr(1), pattern.substr(1));
}

class Contents {
 public:
  explicit Contents(const DockerSubject& subject) : subject_(subject) {}

  Findings check() {
    const Source& source = subject_.source;
    findings_ = catalog::identity_findings(source.text, source.path.string(), "docker",
                                           subject_.known.public_accounts);
    for (const DockerInstruction& instruction : subject_.file.instructions) {
      if (instruction.name == "COPY" || instruction.name == "ADD") check_copy(instruction);
    }
    for (const DockerVariable& variable : subject_.file.variables) check_variable(variable);
    check_urls();
    return std::move(findings_);
  }

 private:
  void wrong(std::size_t at, const char* rule, std::string message, std::string hint = {}) {
    findings_.push_back(error_at(subject_.place(at), rule, std::move(message), std::move(hint)));
  }

  void check_copy(const DockerInstruction& instruction) {
    if (instruction.flags.count("from") != 0) return;
    const auto words = words_of(instruction);
    if (words.size() < 2) {
      wrong(instruction.at, "docker-syntax",
            fmt::format("{} needs a source and a destination", instruction.name));
      return;
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string text = subject_.file.expand(words[i].text, instruction);
      if (text.rfind("<<", 0) == 0) continue;
      if (is_url(text) && instruction.name == "ADD") {
        if (instruction.flags.count("checksum") == 0 && !is_git_source(text)) {
          wrong(words[i].at, "docker-add-url", "a download that nothing verifies",
                "ADD --checksum=sha256:…, or RUN curl and sha256sum -c");
        }
        continue;
      }
      if (text.find('$') == std::string::npos) check_source(words[i].at, text);
    }
  }

  // The context is the Dockerfile's own folder.
  void check_source(std::size_t at, const std::string& text) {
    const fs::path inside = fs::path(text).relative_path().lexically_normal();
    if (inside.begin() != inside.end() && *inside.begin() == "..") {
      wrong(at, "docker-context", fmt::format("{} is outside of the build context", text),
            "keep what the image needs beside the Dockerfile");
      return;
    }
    if (fs::path(text).filename().string().rfind("id_rsa", 0) == 0) {
      wrong(at, "docker-ssh-key", "a private key in the image is everyone's",
            "RUN --mount=type=secret, or --mount=type=ssh");
      return;
    }
    const FileSystem* files = subject_.source.files;
    if (!files) return;
    const fs::path context = subject_.source.path.parent_path();
    if (!is_there(*files, context.empty() ? fs::path(".") : context, inside)) {
      wrong(at, "docker-context", fmt::format("{} is not in the build context", text),
            fmt::format("the context is the Dockerfile's folder{}{}", context.empty() ? "" : ", ",
                        context.filename().string()));
    }
  }

  static bool is_there(const FileSystem& files, const fs::path& folder, const fs::path& wanted) {
    fs::path at = folder;
    for (auto part = wanted.begin(); part != wanted.end(); ++part) {
      const std::string name = part->string();
      if (name == "." || name.empty()) continue;
      if (name.find_first_of("*?") == std::string::npos) {
        at /= name;
        if (!files.exists(at)) return false;
        continue;
      }
      const auto names = files.list(at);
      if (!names) return false;
      fs::path rest;
      for (auto next = std::next(part); next != wanted.end(); ++next) rest /= *next;
      return std::any_of(names->begin(), names->end(), [&](const std::string& candidate) {
        return matches(candidate, name) && is_there(files, at / candidate, rest);
      });
    }
    return true;
  }

  void check_variable(const DockerVariable& variable) {
    const bool has_value = variable.value && !variable.value->empty();
    if (has_value && catalog::looks_like_secret(variable.name, *variable.value) &&
        variable.value->rfind('$', 0) != 0) {
      wrong(variable.at, "docker-secret",
            fmt::format("{} is written into the image", variable.name),
            "RUN --mount=type=secret, or the environment of the job");
    } else if (is_secret_name(variable.name)) {
      wrong(variable.at, "docker-secret",
            variable.is_arg
                ? fmt::format("{}: build arguments stay in the image's history", variable.name)
                : fmt::format("{}: the image keeps its environment", variable.name),
            "RUN --mount=type=secret, or the environment of the job");
    }
  }

  // "https://user:token@host", "https://$TOKEN@host".
  void check_urls() {
    const std::string& text = subject_.source.text;
    for (auto at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
      const auto end = std::min(text.find_first_of(" \t\n\"'\\/", at + 3), text.size());
      const std::string host = text.substr(at + 3, end - at - 3);
      const auto sign = host.find('@');
      if (sign == std::string::npos || sign == 0) continue;
      const std::string user = host.substr(0, sign);
      if (user.find(':') == std::string::npos && user.find('$') == std::string::npos &&
          !catalog::looks_like_secret("", user))
        continue;
      wrong(at + 3, "docker-secret", "a credential in a URL stays in the image's history",
            "RUN --mount=type=secret");
    }
    for (const DockerRun& run : subject_.runs) {
      for (const ShellCommand& command : run.shell.commands) {
        for (const ShellWord& word : command.words) {
          if (word.text.find("://") == std::string::npos &&
              catalog::looks_like_secret("", word.text))
            wrong(run.at + word.at, "docker-secret", "a secret is written into the image",
                  "RUN --mount=type=secret");
        }
      }
    }
  }

  const DockerSubject& subject_;
  Findings findings_;
};

}  // namespace

Findings check_contents(const DockerSubject& subject) {
  return Contents(subject).check();
}

}  // namespace muster::lint
