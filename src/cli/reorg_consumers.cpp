// muster reorg consumers: who points into the repository, and what they would have to say.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/reorg.h"
#include "reorg/consumers.h"
#include "reorg/paths.h"

namespace muster::cli {
namespace {

struct ConsumersCommand {
  PlanOptions plan;
  std::vector<std::string> from;  ///< NAME=DIR
  std::string pin;
  std::string write;
  bool check = false;
};

struct Read {
  reorg::Consumer consumer;
  std::filesystem::path place;
  reorg::ConsumerTree tree;
  reorg::ConsumerReport report;
};

const char* valid_at(const reorg::Access& access) {
  if (access.dead) return "nowhere";
  if (access.pinned) return "its own ref";
  return access.moves ? "the old layout" : "both layouts";
}

nlohmann::ordered_json access_json(const reorg::Access& access) {
  nlohmann::ordered_json item{{"file", access.file},
                              {"line", access.line},
                              {"column", access.column},
                              {"access", access.how},
                              {"old", access.text},
                              {"target", access.target},
                              {"ref", access.ref},
                              {"valid_at", valid_at(access)},
                              {"confidence", reorg::to_string(access.confidence)}};
  if (access.pinned_form) item["pinned"] = *access.pinned_form;
  if (access.new_form) item["new"] = *access.new_form;
  return item;
}

bool blocks(const reorg::Access& access) {
  return access.moves && !access.pinned;
}

/// Writes the files that change; each whole.
Result<std::size_t> write_files(FileSystem& files, const Read& read, bool pin) {
  std::map<std::string, std::vector<const reorg::Access*>> by_file;
  for (const reorg::Access& access : read.report.accesses) by_file[access.file].push_back(&access);
  std::size_t written = 0;
  for (const auto& [path, content] : read.tree.files) {
    const auto accesses = by_file.find(path);
    if (accesses == by_file.end()) continue;
    const std::string text = reorg::consumer_text(content, accesses->second, pin);
    if (text == content) continue;
    const auto info = files.info(read.place / path);
    if (auto done = files.write(read.place / path, text, info && info->executable); !done)
      return done.error();
    ++written;
  }
  return written;
}

Result<std::vector<Read>> read_all(const Context& context, const ConsumersCommand& command,
                                   const reorg::Workspace& workspace) {
  std::vector<reorg::Consumer> consumers = workspace.plan.consumers;
  const std::filesystem::path base = std::filesystem::path(command.plan.plan).parent_path();
  for (reorg::Consumer& consumer : consumers) consumer.from = (base / consumer.from).string();
  for (const std::string& text : command.from) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return failure("consumers-from", fmt::format("\"{}\" names no consumer", text), "NAME=DIR");
    consumers.push_back({text.substr(0, equals), text.substr(equals + 1), "", "", {}});
  }
  std::vector<Read> all;
  for (const reorg::Consumer& consumer : consumers) {
    Read read{consumer, context.directory / consumer.from, {}, {}};
    auto tree = reorg::read_consumer(context.files, read.place, consumer.revision);
    if (!tree) {
      Failure error = tree.error();
      if (consumer.where.line > 0) {
        error.findings.front().message =
            error.findings.front().where.file.str() + ": " + error.findings.front().message;
        error.findings.front().where = consumer.where;
      }
      return error;
    }
    read.tree = std::move(*tree);
    if (read.tree.files.empty())
      return Failure({Severity::kError, "consumers-none", consumer.where,
                      fmt::format("{}: there is no file to look at", consumer.name),
                      "its tree, as it is checked out"});
    const std::string& pin = !command.pin.empty()    ? command.pin
                             : !consumer.pin.empty() ? consumer.pin
                                                     : workspace.plan.pin;
    read.report = reorg::find_accesses(workspace, consumer.name, read.tree, pin);
    all.push_back(std::move(read));
  }
  return all;
}

void consumers(const ConsumersCommand& command, Context& context) {
  auto workspace = reorg::open_workspace(
      context.files,
      {command.plan.plan, context.directory / command.plan.repository, command.plan.revision});
  if (!workspace) return context.fail(workspace.findings(), kExitBadInput);
  if (has_errors((*workspace)->moves.findings))
    return context.fail((*workspace)->moves.findings,
                        (*workspace)->moves.collided ? kExitFailed : kExitBadInput);
  const auto all = read_all(context, command, **workspace);
  if (!all)
    return context.fail(all.findings(), all.findings().front().rule == "consumers-none"
                                            ? kExitUnverified
                                            : kExitBadInput);
  if (all->empty())
    return context.fail({error_at({}, "consumers-none", "no consumer is known",
                                  "name them in the plan, or with --from NAME=DIR")},
                        kExitUnverified);
  Output output;
  output.name = "reorg consumers";
  output.judges = true;
  output.data["consumers"] = nlohmann::ordered_json::array();
  std::vector<reorg::ConsumerReport> reports;
  std::string text;
  std::size_t places = 0, blocking = 0;
  for (const Read& read : *all) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const reorg::Access& access : read.report.accesses) {
      list.push_back(access_json(access));
      ++places;
      if (!blocks(access)) continue;
      ++blocking;
      std::string hint;
      if (access.pinned_form) hint += fmt::format("pinned: {}", *access.pinned_form);
      if (access.new_form)
        hint += fmt::format("{}after the move: {}", hint.empty() ? "" : "; ", *access.new_form);
      output.findings.push_back(warning_at(
          {read.consumer.name + "/" + access.file, access.line, access.column}, "reorg-consumer",
          fmt::format("{} '{}' is valid at {} only", access.how, access.text, valid_at(access)),
          hint));
    }
    output.data["consumers"].push_back({{"name", read.consumer.name},
                                        {"files", read.report.files},
                                        {"accesses", std::move(list)}});
    reports.push_back(read.report);
  }
  output.data["keep"] = reorg::paths_to_keep(reports);
  output.data["findings"] = to_json(output.findings);
  text = findings_text(output.findings);
  for (const std::string& path : reorg::paths_to_keep(reports))
    text += "keep: " + reorg::quoted_path(path) + "\n";
  output.text = text;
  context.print(output);
  if (!command.write.empty()) {
    for (const Read& read : *all) {
      if (!read.consumer.revision.empty()) continue;  // a commit is not edited
      const auto written = write_files(context.files, read, command.write == "pinned");
      if (!written) return context.fail(written.findings(), kExitInternal);
      context.err << fmt::format("{}: {} written\n", read.consumer.name, counted(*written, "file"));
    }
  }
  if (!context.quiet)
    context.err << fmt::format("{} in {}: {} of the old layout\n", counted(places, "place"),
                               counted(all->size(), "consumer"), blocking);
  if (command.check && blocking > 0) context.exit_code = kExitDiffers;
}

}  // namespace

void add_reorg_consumers(CLI::App& reorg, Context& context) {
  CLI::App* sub = reorg.add_subcommand(
      "consumers", "Who points into the repository from outside, and what they would have to say");
  auto command = std::make_shared<ConsumersCommand>();
  add_plan_options(*sub, command->plan);
  sub->add_option("--from", command->from, "One more consumer and its folder; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=DIR");
  sub->add_option("--pin", command->pin, "The tag of the old layout; default: the plan's")
      ->type_name("TAG");
  sub->add_option("--write", command->write,
                  "Edit the consumers' files: to the new paths, or to "
                  "the tag")
      ->check(CLI::IsMember(std::vector<std::string>{"new", "pinned"}))
      ->type_name("FORM");
  sub->add_flag("--check", command->check, "Exit with 5 when any place depends on the old layout");
  sub->footer(
      "Reads clones and cd, raw URLs, pages, the contents API, and owner, ref and path that stand\n"
      "apart as parameters. Exit code: 0, 2 input can't be read, 4 no consumer or no file of one, "
      "5 with --check.\n"
      "Example:\n  muster reorg consumers plan.yaml --from workshop=../workshop --pin v1.0");
  sub->callback([command, &context] { consumers(*command, context); });
}

}  // namespace muster::cli
