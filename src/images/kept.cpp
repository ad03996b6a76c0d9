#include "images/kept.h"

#include <algorithm>

#include "images/render.h"

namespace muster::images {

namespace fs = std::filesystem;

Result<KeptImages> kept_images(const FileSystem& files, const fs::path& project) {
  const auto known = facts::load_facts(files, project);
  if (!known) return known.error();
  KeptImages kept;
  Findings findings;
  for (const catalog::ImageEntry& entry : catalog::list_images(files, project, *known)) {
    ++kept.images;
    const auto rendered = has_errors(entry.problems)
                              ? Result<RenderedImage>(Failure(entry.problems))
                              : render(entry.values, files, project, known->versions);
    if (!rendered) {
      findings.insert(findings.end(), rendered.findings().begin(), rendered.findings().end());
      continue;
    }
    const fs::path folder = entry.file.parent_path();
    for (const ImageFile& file : rendered->files)
      kept.files.push_back({folder / file.path, file.content});
    for (const std::string& name : rendered_names()) {
      const bool is_rendered =
          std::any_of(rendered->files.begin(), rendered->files.end(),
                      [&](const ImageFile& file) { return file.path == name; });
      if (!is_rendered && files.exists(folder / name)) kept.strays.push_back(folder / name);
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  return kept;
}

}  // namespace muster::images
