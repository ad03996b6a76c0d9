#include "launch/committed.h"

#include <algorithm>
#include <set>

#include "base/document.h"
#include "launch/dockerfile_blocks.h"
#include "launch/process_wrapper.h"
#include "launch/render_workload.h"
#include "launch/workload.h"

namespace muster::launch {
namespace {

namespace fs = std::filesystem;

/// The Dockerfile of a case with the blocks that it shares with others; nothing to keep without
/// any.
Result<void> add_dockerfile(const catalog::ResolvedCase& resolved, const FileSystem& files,
                            const fs::path& project, Kept& kept) {
  const std::string& name = resolved.values.image.dockerfile;
  if (name.empty()) return {};
  const fs::path path = (resolved.file.parent_path() / name).lexically_normal();
  const bool known = std::any_of(kept.files.begin(), kept.files.end(),
                                 [&](const KeptFile& file) { return file.path == path; });
  const auto text = files.read(path);
  if (known || !text) return {};  // a file that is not there is for `muster validate` to say
  auto filled = fill_blocks(*text, path.string(), files, project);
  if (!filled) return filled.error();
  if (filled->find("# >>> ") != std::string::npos)
    kept.files.push_back({path, std::move(*filled), false});
  return {};
}

void render_all_targets(const catalog::ResolvedCase& resolved, const facts::Facts& known,
                        const FileSystem& files, Kept& kept, Findings& findings) {
  const fs::path folder = resolved.file.parent_path();
  std::set<fs::path> rendered_paths;
  for (const Target target : all_targets()) {
    if (!is_kept(resolved.values, target)) continue;
    const auto rendered = render_kept(resolved, target, known);
    if (!rendered) {
      findings.insert(findings.end(), rendered.findings().begin(), rendered.findings().end());
      continue;
    }
    for (const RenderedFile& file : rendered->files) {
      rendered_paths.insert(folder / file.path);
      kept.files.push_back({folder / file.path, file.content, file.executable});
    }
  }
  for (const Target target : all_targets()) {
    if (target == Target::kLocal) continue;
    const auto names = files.list(folder / to_string(target));
    if (!names) continue;
    for (const std::string& name : *names) {
      const fs::path path = folder / to_string(target) / name;
      if (rendered_paths.count(path) == 0) kept.strays.push_back(path);
    }
  }
}

}  // namespace

Result<Rendered> render_kept(const catalog::ResolvedCase& resolved, Target target,
                             const facts::Facts& known, const Profiling& profiling,
                             const facts::Nsight& nsight) {
  auto workload = plan_workload(resolved, target, known, "");
  if (!workload) return workload.error();
  workload->wrapper = profiler_of(profiling, nsight, *workload);
  if (!workload->wrapper.empty()) {
    auto command = wrap_command(*workload, resolved, workload->command, workload->wrapper);
    if (!command) return command.error();
    workload->command = std::move(*command);
    workload->node_folder = nsys_folder(profiling);
  }
  return render_workload(*workload, resolved, target);
}

bool is_kept(const catalog::Case& values, Target target) {
  return values.launcher != "native" && target != Target::kLocal && declares(values, target);
}

Result<Kept> kept_files(const FileSystem& files, const fs::path& project) {
  const auto entries = catalog::list_cases(files, project);
  if (!entries) return entries.error();
  const auto known = facts::load_facts(files, project);
  if (!known) return known.error();
  Kept kept;
  Findings findings;
  for (const catalog::CaseEntry& entry : *entries) {
    const auto text = files.read(entry.file);
    const auto document =
        text ? parse_yaml(*text, entry.file.string()) : Result<Node>(text.error());
    auto resolved = document ? catalog::resolve(*document, entry.name, "", {}, *known)
                             : Result<catalog::ResolvedCase>(document.error());
    if (!resolved) {
      findings.insert(findings.end(), resolved.findings().begin(), resolved.findings().end());
      continue;
    }
    resolved->file = entry.file;
    ++kept.cases;
    render_all_targets(*resolved, *known, files, kept, findings);
    if (auto added = add_dockerfile(*resolved, files, project, kept); !added)
      findings.insert(findings.end(), added.findings().begin(), added.findings().end());
  }
  if (!findings.empty()) return Failure(std::move(findings));
  std::sort(kept.files.begin(), kept.files.end(),
            [](const KeptFile& a, const KeptFile& b) { return a.path < b.path; });
  return kept;
}

}  // namespace muster::launch
