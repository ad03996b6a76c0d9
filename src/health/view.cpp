#include "health/view.h"

#include <sys/timex.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "health/nvml_text.h"

namespace muster::health {
namespace {

/// What `adjtimex --print` of the package of that name prints, as far as it is judged.
Result<ProcessResult> kernel_clock() {
  timex state{};
  const int code = adjtimex(&state);
  if (code < 0) return failure("no-command", "the kernel does not tell the state of its clock");
  ProcessResult result;
  result.exit_code = 0;
  result.out = fmt::format(
      "         mode: 0\n       offset: {}\n     maxerror: {}\n     esterror: {}\n       status: "
      "{}\n"
      " return value = {}\n",
      (state.status & STA_NANO) != 0 ? state.offset / 1000 : state.offset, state.maxerror,
      state.esterror, state.status, code);
  return result;
}

Result<ProcessResult> nvml_output(const std::string& library, std::chrono::milliseconds limit) {
  const auto reading = NvmlReader(library).read(limit);
  if (!reading) return reading.error();
  ProcessResult result;
  result.exit_code = 0;
  result.out = nvml_text(*reading);
  return result;
}

}  // namespace

Result<std::string> LiveView::file(const std::filesystem::path& path) const {
  return files_.read(path);
}

Result<std::vector<std::string>> LiveView::list(const std::filesystem::path& path) const {
  return files_.list(path);
}

bool LiveView::exists(const std::filesystem::path& path) const {
  return files_.exists(path);
}

Result<ProcessResult> LiveView::run(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds limit) const {
  if (argv.front() == "nvml") return nvml_output(nvml_, limit);
  if (argv.front() == "adjtimex") return kernel_clock();
  if (!processes_.find(argv.front()))
    return failure("no-command", fmt::format("{} is not installed", argv.front()));
  Command command;
  command.argv = argv;
  command.env = {{"LC_ALL", "C"}};
  command.time_limit = limit;
  return processes_.run(command);
}

std::string saved_name(const std::vector<std::string>& argv) {
  std::string name = fmt::format("{}", fmt::join(argv, "_"));
  for (char& c : name) {
    if (c == '/' || c == ' ') c = '_';
  }
  return name;
}

Result<std::string> TreeView::file(const std::filesystem::path& path) const {
  return files_.read(root_ / path.relative_path());
}

Result<std::vector<std::string>> TreeView::list(const std::filesystem::path& path) const {
  return files_.list(root_ / path.relative_path());
}

bool TreeView::exists(const std::filesystem::path& path) const {
  return files_.exists(root_ / path.relative_path());
}

Result<ProcessResult> TreeView::run(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds /*limit*/) const {
  const std::string name = saved_name(argv);
  std::vector<std::filesystem::path> places = {root_ / "commands" / name};
  if (const auto plugins = files_.list(root_ / "sos_commands")) {
    for (const std::string& plugin : *plugins)
      places.push_back(root_ / "sos_commands" / plugin / name);
  }
  for (const auto& place : places) {
    if (!files_.exists(place)) continue;
    auto text = files_.read(place);
    if (!text) return text.error();
    ProcessResult result;
    result.exit_code = 0;  // not saved; the text has to say it
    result.out = std::move(*text);
    return result;
  }
  return failure("no-command",
                 fmt::format("{} was not saved in {}", fmt::join(argv, " "), root_.string()),
                 fmt::format("its output as commands/{}", name));
}

}  // namespace muster::health
