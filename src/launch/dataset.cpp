#include "launch/dataset.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace muster::launch {
namespace {

/// The package's own files, as they should be.
Result<std::filesystem::path> installed(const facts::Dataset& dataset) {
  const std::filesystem::path directory = dataset.directory;
  for (const facts::DatasetFile& file : dataset.files) {
    const auto path = directory / file.name;
    const auto hash = sha256_of_file(path);
    if (!hash) {
      return failure("dataset-program",
                     fmt::format("data set {}: {} is missing", dataset.name, path.string()),
                     "apt-get install " + dataset.package);
    }
    if (*hash != file.sha256) {
      return failure("dataset-content",
                     fmt::format("{} has SHA-256 {}, not the {} of data set {}", path.string(),
                                 *hash, file.sha256, dataset.name),
                     "another version of the package " + dataset.package);
    }
  }
  return directory;
}

bool is_it(const facts::Dataset& dataset, const std::string& text) {
  return text.size() == dataset.bytes && sha256(text) == dataset.sha256;
}

}  // namespace

std::filesystem::path dataset_path(const std::filesystem::path& project,
                                   const facts::Dataset& dataset) {
  if (!dataset.directory.empty()) return dataset.directory;
  return project / ".muster/cache/data" / (dataset.name + ".txt");
}

Result<std::filesystem::path> materialise(const facts::Dataset& dataset,
                                          const std::filesystem::path& project, FileSystem& files,
                                          ProcessRunner& processes) {
  if (!dataset.directory.empty()) return installed(dataset);
  const auto path = dataset_path(project, dataset);
  if (files.exists(path)) {
    const auto present = files.read(path);
    if (present && is_it(dataset, *present)) return path;
  }
  const std::string& program = dataset.command.at(0);
  if (!processes.find(program)) {
    return failure("dataset-program",
                   fmt::format("data set {} needs the program {}", dataset.name, program),
                   "apt-get install " + dataset.package);
  }
  Command command;
  command.argv = dataset.command;
  command.env = {{"LC_ALL", "C"}};
  command.time_limit = std::chrono::seconds(60);
  const auto printed = processes.run(command);
  if (!printed) return printed.error();
  if (printed->exit_code != 0 || printed->timed_out || printed->interrupted) {
    return failure(
        "dataset-command",
        fmt::format("{} {} with {}", fmt::join(dataset.command, " "),
                    printed->timed_out ? "passed its time limit" : "ended", printed->exit_code),
        printed->err.substr(0, printed->err.find('\n')));
  }
  if (!is_it(dataset, printed->out)) {
    return failure(
        "dataset-content",
        fmt::format("{} printed {} bytes with SHA-256 {}, not the {} bytes with {} of data set {}",
                    fmt::join(dataset.command, " "), printed->out.size(), sha256(printed->out),
                    dataset.bytes, dataset.sha256, dataset.name),
        fmt::format("another version of the package {}; name the text itself with data.path",
                    dataset.package));
  }
  if (auto written = files.write(path, printed->out); !written) return written.error();
  return path;
}

}  // namespace muster::launch
