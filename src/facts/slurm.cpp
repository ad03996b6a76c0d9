#include "facts/slurm.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/facts.h"
#include "facts/reading.h"

namespace muster::facts {
namespace {

std::vector<SlurmOption> options_at(const Node& document, const char* key) {
  std::vector<SlurmOption> options;
  for (const std::string& text : texts_at(document, key)) {
    if (auto option = parse_slurm_option(text)) options.push_back(std::move(*option));
  }
  return options;
}

void append(std::vector<SlurmOption>& all, const std::vector<SlurmOption>& more) {
  for (const SlurmOption& option : more) {
    if (!find_option(all, option.name)) all.push_back(option);
  }
}

}  // namespace

const Schema& slurm_options_schema() {
  static const TextForm kOption{"an option as its help writes it",
                                R"((-[A-Za-z] )?--[a-z][a-z0-9-]+(=|\[=\])?)", "-N --nodes="};
  static const Schema kSchema = [] {
    const auto options = [](const char* doc) {
      return Schema::list(doc, Schema::text("Option").form(kOption));
    };
    auto fields = envelope("SlurmOptions");
    fields.push_back({"source", Schema::text("Where the tables come from").required()});
    fields.push_back({"date", Schema::text("When they were read").required()});
    fields.push_back({"sbatch", options("Options of sbatch").required()});
    fields.push_back({"srun", options("Options of srun").required()});
    fields.push_back({"later", options("Options that later releases added to both")});
    fields.push_back({"pyxis", options("Options that the plugin pyxis adds to both")});
    fields.push_back({"hyperpod", options("Options that HyperPod adds to srun")});
    fields.push_back(
        {"mpi", Schema::list("Plugins that srun --mpi= knows", Schema::text("Name")).required()});
    fields.push_back({"variables", Schema::list("What Slurm sets in a job's environment",
                                                Schema::text("Name").form(kVariable))
                                       .required()});
    return Schema::object("Options and variables of Slurm", std::move(fields));
  }();
  return kSchema;
}

Findings check_slurm_options(const Node&) {
  return {};
}

Result<SlurmOption> parse_slurm_option(const std::string& text) {
  SlurmOption option;
  std::size_t at = 0;
  if (text.size() > 3 && text[0] == '-' && text[1] != '-' && text[2] == ' ') {
    option.short_form = text[1];
    at = 3;
  }
  if (text.compare(at, 2, "--") != 0)
    return failure("facts-option", fmt::format("\"{}\" is no option", text));
  std::size_t end = text.size();
  if (end > 3 && text.compare(end - 3, 3, "[=]") == 0) {
    option.value = SlurmOption::Value::kOptional;
    end -= 3;
  } else if (text.back() == '=') {
    option.value = SlurmOption::Value::kRequired;
    end -= 1;
  }
  option.name = text.substr(at + 2, end - at - 2);
  return option;
}

Result<SlurmOptions> parse_slurm_options(const std::string& text, const std::string& file) {
  const auto document = parse_facts(text, file, slurm_options_schema(), check_slurm_options);
  if (!document) return document.error();
  SlurmOptions options;
  options.sbatch = options_at(*document, "sbatch");
  options.srun = options_at(*document, "srun");
  for (const char* key : {"later", "pyxis"}) {
    append(options.sbatch, options_at(*document, key));
    append(options.srun, options_at(*document, key));
  }
  options.pyxis = options_at(*document, "pyxis");
  options.hyperpod = options_at(*document, "hyperpod");
  options.mpi = texts_at(*document, "mpi");
  options.variables = texts_at(*document, "variables");
  return options;
}

Result<SlurmOptions> load_slurm_options(const FileSystem& files,
                                        const std::filesystem::path& root) {
  const auto path = facts_file(files, root, "slurm-options.yaml");
  const auto text = files.read(path);
  if (!text) return text.error();
  return parse_slurm_options(*text, path.string());
}

const SlurmOption* find_option(const std::vector<SlurmOption>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const SlurmOption& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

const SlurmOption* find_option(const std::vector<SlurmOption>& options, char short_form) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const SlurmOption& option) {
    return option.short_form == short_form;
  });
  return found == options.end() || short_form == '\0' ? nullptr : &*found;
}

}  // namespace muster::facts
