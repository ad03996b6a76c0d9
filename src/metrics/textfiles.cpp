#include "metrics/textfiles.h"

#include "metrics/catalogue.h"

namespace muster::metrics {

CollectorState collect_textfiles(const FileView& view, const std::filesystem::path& folder,
                                 Exposition& to) {
  CollectorState state;
  const auto names = view.list(folder);
  if (!names) {
    state.present = false;
    return state;
  }
  const auto put = [&](const char* name, const std::string& file, double value) {
    const MetricRow& row = metric_row(name);
    to.add(name, row.type, row.help, {{"file", file}}, value);
  };
  for (const std::string& name : *names) {
    if (!name.ends_with(".prom") || name.starts_with('.')) continue;
    const auto text = view.file(folder / name);
    const auto metrics =
        text ? parse_exposition(*text, name) : Result<Exposition>(Failure(text.findings()));
    put("muster_textfile_error", name, metrics ? 0 : 1);
    if (!metrics) {
      ++state.unreadable;
      state.success = false;
      continue;
    }
    if (const auto when = view.written(folder / name))
      put("muster_textfile_mtime_seconds", name, *when);
    to.merge(*metrics);
  }
  return state;
}

}  // namespace muster::metrics
