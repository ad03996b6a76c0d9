#include "lint/lint.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/verdict.h"

namespace muster::lint {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 32;

bool is_document(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

// What is read at all when a folder is searched; the checkers look closer.
bool may_be_checked(const fs::path& path) {
  const std::string extension = path.extension().string();
  return is_document(path) || extension == ".sbatch" || extension == ".slurm" ||
         extension == ".sh" || extension == ".bash" || is_dockerfile_name(path.filename().string());
}

bool is_skipped(const std::string& folder) {
  return folder == "build" || folder == "node_modules" || (folder.size() > 1 && folder[0] == '.');
}

class Run {
 public:
  Run(const FileSystem& files, fs::path root) : files_(files), root_(std::move(root)) {
    auto known = facts::load_facts(files_, root_);
    if (known) {
      facts_ = std::move(*known);
    } else {
      // Said once here; the file's own check says the same where it is under check.
      report_.findings = known.findings();
      facts_failed_ = true;
    }
  }

  void add(const fs::path& path) {
    const auto info = files_.info(path);
    if (!info) {
      unreadable(error_at({path.string(), 0, 0}, "file-missing", "no such file or directory"));
    } else if (info->kind == FileInfo::Kind::kDirectory) {
      add_directory(path, 0);
    } else {
      add_file(path, true);
    }
  }

  Report take() {
    if (facts_failed_) drop_repeated();
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.where < b.where; });
    return std::move(report_);
  }

 private:
  void add_directory(const fs::path& folder, int depth) {
    const auto names = files_.list(folder);
    if (!names || depth > kMaxDepth) {
      unreadable(error_at({folder.string(), 0, 0}, "file-unreadable",
                          names ? "directories are nested too deep" : names.findings()[0].message));
      return;
    }
    for (const std::string& name : *names) {
      const fs::path path = folder / name;
      const auto info = files_.info(path);
      if (!info) continue;
      if (info->kind == FileInfo::Kind::kDirectory && !is_skipped(name))
        add_directory(path, depth + 1);
      if (info->kind == FileInfo::Kind::kFile) add_file(path, false);
    }
  }

  void add_file(const fs::path& path, bool named) {
    if (!seen_.insert(fs::absolute(path).lexically_normal()).second) return;
    if (!named && !may_be_checked(path)) return;
    const auto text = files_.read(path);
    if (!text) {
      for (const Finding& finding : text.findings()) unreadable(finding);
      return;
    }
    const Source source{path, root_, *text, &files_};
    const auto& known = checkers();
    auto checker = std::find_if(known.begin(), known.end(),
                                [&](const Checker& c) { return c.claims(source); });
    if (checker == known.end()) {
      if (!named) return;
      if (!is_document(path)) {
        report_.findings.push_back(warning_at({path.string(), 1, 1}, "file-unknown",
                                              "no checker knows this kind of file"));
        return;
      }
      checker = known.begin();  // it was named, so it is meant to be a manifest
    }
    bool failed = false;
    const Findings findings = checker->check(source, facts_, failed);
    report_.findings.insert(report_.findings.end(), findings.begin(), findings.end());
    report_.unreadable |= failed;
    report_.checked.emplace_back(path, checker->name);
  }

  // Of a file as a whole; every finding has a line, so that others can parse them all alike.
  void unreadable(Finding finding) {
    if (finding.where.line == 0) finding.where = {finding.where.file, 1, 1};
    report_.findings.push_back(std::move(finding));
    report_.unreadable = true;
  }

  // Facts that could not be loaded have told so already.
  void drop_repeated() {
    Findings kept;
    for (const Finding& finding : report_.findings) {
      const bool repeated = std::any_of(kept.begin(), kept.end(), [&](const Finding& other) {
        return other.where.line == finding.where.line && other.message == finding.message &&
               fs::path(other.where.file).filename() == fs::path(finding.where.file).filename();
      });
      if (!repeated) kept.push_back(finding);
    }
    report_.findings = std::move(kept);
  }

  const FileSystem& files_;
  fs::path root_;
  facts::Facts facts_;
  bool facts_failed_ = false;
  std::set<fs::path> seen_;
  Report report_;
};

}  // namespace

const std::vector<Checker>& checkers() {
  static const std::vector<Checker> kCheckers = {kManifestChecker, kSbatchChecker,
                                                 kDockerfileChecker, kKubernetesChecker};
  return kCheckers;
}

int Report::exit_code() const {
  if (unreadable) return kExitBadInput;
  if (has_errors(findings)) return kExitFailed;
  return checked.empty() ? kExitUnverified : kExitOk;
}

Report validate(const FileSystem& files, const fs::path& root, const std::vector<fs::path>& paths) {
  Run run(files, root);
  for (const fs::path& path : paths) run.add(path);
  return run.take();
}

Report validate_all(const FileSystem& files, const fs::path& root) {
  Run run(files, root);
  for (const char* folder : {"ami_and_containers", "architectures", "facts", "micro-benchmarks",
                             "test_cases", "validation_and_observability"}) {
    if (files.exists(root / folder)) run.add(root / folder);
  }
  return run.take();
}

}  // namespace muster::lint
