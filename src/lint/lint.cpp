#include "lint/lint.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <unordered_set>

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
         extension == ".sh" || extension == ".bash" || extension == ".hcl" ||
         extension == ".template" || is_dockerfile_name(path.filename().string()) ||
         is_slurm_file_name(path.filename().string());
}

bool is_skipped(const std::string& folder) {
  return folder == "build" || folder == "node_modules" || (folder.size() > 1 && folder[0] == '.');
}

/// What one file or folder came to.
struct Checked {
  Findings findings;
  bool unreadable = false;
  const Checker* checker = nullptr;  // null: none
  Source source;                     // kept where files of its kind are checked together too
};

// Work in turns on as many threads as there are processors; who does which does not show.
template <typename Work>
void spread(std::size_t count, const Work& work) {
  constexpr std::size_t kFewest = 16;  // for fewer, starting threads costs more than it brings
  const std::size_t threads =
      count < kFewest ? 1 : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
  take();
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
    const std::string whole = fs::absolute(path).lexically_normal().string();
    if (!info) {
      unreadable(error_at({path.string(), 0, 0}, "file-missing", "no such file or directory"));
    } else if (info->kind == FileInfo::Kind::kDirectory) {
      add_directory(path, whole, 0);
    } else {
      add_file(path, whole, true);
    }
  }

  Report take() {
    std::vector<Checked> results(found_.size());
    spread(found_.size(), [&](std::size_t i) { results[i] = check(found_[i]); });
    for (std::size_t i = 0; i < found_.size(); ++i) {
      Checked& result = results[i];
      std::move(result.findings.begin(), result.findings.end(),
                std::back_inserter(report_.findings));
      report_.unreadable |= result.unreadable;
      if (result.checker) report_.checked.emplace_back(found_[i].path, result.checker->name);
    }
    check_together(results);
    if (facts_failed_) drop_repeated();
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.where < b.where; });
    return std::move(report_);
  }

 private:
  struct Found {
    fs::path path;
    bool named = false;
  };

  // `whole` is the path from the root of the disk: what is named twice is checked once.
  void add_directory(const fs::path& folder, const std::string& whole, int depth) {
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
      std::string inner = whole;
      if (!inner.ends_with('/')) inner += '/';
      inner += name;
      if (info->kind == FileInfo::Kind::kDirectory && !is_skipped(name))
        add_directory(path, inner, depth + 1);
      if (info->kind == FileInfo::Kind::kFile) add_file(path, inner, false);
    }
  }

  void add_file(const fs::path& path, const std::string& whole, bool named) {
    if (!seen_.insert(whole).second) return;
    if (named || may_be_checked(path)) found_.push_back({path, named});
  }

  void check_together(const std::vector<Checked>& results) {
    for (const Checker& checker : checkers()) {
      if (checker.check_together == nullptr) continue;
      std::vector<const Source*> sources;
      for (const Checked& result : results) {
        if (result.checker == &checker && !result.unreadable) sources.push_back(&result.source);
      }
      Findings found = checker.check_together(sources);
      std::move(found.begin(), found.end(), std::back_inserter(report_.findings));
    }
  }

  Checked check(const Found& file) const {
    Checked result;
    auto text = files_.read(file.path);
    if (!text) {
      for (const Finding& finding : text.findings()) result.findings.push_back(of_whole(finding));
      result.unreadable = true;
      return result;
    }
    Source source{file.path, root_, std::move(*text), &files_};
    const auto& known = checkers();
    auto checker = std::find_if(known.begin(), known.end(),
                                [&](const Checker& c) { return c.claims(source); });
    if (checker == known.end()) {
      if (!file.named) return result;
      if (!is_document(file.path)) {
        result.findings.push_back(warning_at({file.path.string(), 1, 1}, "file-unknown",
                                             "no checker knows this kind of file"));
        return result;
      }
      checker = known.begin();  // it was named, so it is meant to be a manifest
    }
    result.findings = checker->check(source, facts_, result.unreadable);
    result.checker = &*checker;
    if (checker->check_together != nullptr) result.source = std::move(source);
    return result;
  }

  // Every finding has a line, so that others can parse them all alike.
  static Finding of_whole(Finding finding) {
    if (finding.where.line == 0) finding.where = {finding.where.file, 1, 1};
    return finding;
  }

  void unreadable(const Finding& finding) {
    report_.findings.push_back(of_whole(finding));
    report_.unreadable = true;
  }

  // Facts that could not be loaded have told so already.
  void drop_repeated() {
    Findings kept;
    for (const Finding& finding : report_.findings) {
      const bool repeated = std::any_of(kept.begin(), kept.end(), [&](const Finding& other) {
        return other.where.line == finding.where.line && other.message == finding.message &&
               fs::path(other.where.file.str()).filename() ==
                   fs::path(finding.where.file.str()).filename();
      });
      if (!repeated) kept.push_back(finding);
    }
    report_.findings = std::move(kept);
  }

  const FileSystem& files_;
  fs::path root_;
  facts::Facts facts_;
  bool facts_failed_ = false;
  std::unordered_set<std::string> seen_;
  std::vector<Found> found_;
  Report report_;
};

}  // namespace

const std::vector<Checker>& checkers() {
  static const std::vector<Checker> kCheckers = {
      kManifestChecker, kCloudFormationChecker, kClusterConfigChecker,
      kSbatchChecker,   kDockerfileChecker,     kSlurmSetChecker,
      kAnsibleChecker,  kPackerChecker,         kKubernetesChecker};
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
