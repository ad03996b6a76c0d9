// The command line as a whole: global flags, the table of verbs, and what is common to all of them.
#include <algorithm>
#include <exception>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/document.h"
#include "base/output.h"
#include "cli/context.h"

namespace muster::cli {
namespace {

constexpr AddVerb kVerbs[] = {
    add_list,    add_show,   add_validate, add_render,     add_plan,       add_deploy, add_diff,
    add_destroy, add_run,    add_status,   add_logs,       add_cancel,     add_report, add_profile,
    add_lock,    add_bench,  add_check,    add_dashboards, add_exporter,   add_top,    add_reorg,
    add_doctor,  add_config, add_engine,   add_load,       add_completion, add_manual,
};

bool wants_color(const Context& context, bool terminal) {
  const std::string& color = context.settings.text("color");
  if (color != "auto") return color == "always";
  const auto term = context.environment.find("TERM");
  return terminal && (term == context.environment.end() || term->second != "dumb");
}

/// Every option and verb that could have been meant at the place where `app` is.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })) {
    names.push_back(verb->get_name());
  }
  return names;
}

/// The innermost verb that was given.
const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return *app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

int usage_error(const CLI::App& app, Context& context, const std::string& message,
                const std::string& hint = {}) {
  context.err << "muster: error: " << message << (hint.empty() ? "" : "; " + hint) << '\n'
              << "Try '" << full_name(app) << " --help'.\n";
  return kExitInternal;
}

/// The word that the parser had no use for, explained.
int unknown_word(const CLI::App& root, Context& context, const std::string& word) {
  const CLI::App& app = innermost(root);
  const bool option = word.size() > 1 && word[0] == '-';
  const std::string name = option ? word.substr(0, word.find('=')) : word;
  const bool verb = !option && !app.get_subcommands([](const CLI::App*) { return true; }).empty();
  const auto close = option ? did_you_mean(name, option_names(app))
                     : verb ? did_you_mean(name, verb_names(app))
                            : std::nullopt;
  const char* what = option ? "unknown option" : verb ? "unknown command" : "unexpected argument";
  return usage_error(app, context, fmt::format("{} '{}'", what, name),
                     close ? fmt::format("did you mean '{}'?", *close) : std::string());
}

bool is(const CLI::ParseError& error, CLI::ExitCodes code) {
  return error.get_exit_code() == static_cast<int>(code);
}

int parse_error(const CLI::App& root, Context& context, const CLI::ParseError& error) {
  // The first option that nobody knows explains best what follows from it.
  const std::vector<std::string> left_over = root.remaining(true);
  const auto unknown =
      std::find_if(left_over.begin(), left_over.end(),
                   [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  if (unknown != left_over.end()) return unknown_word(root, context, *unknown);
  if (is(error, CLI::ExitCodes::ExtrasError) && !left_over.empty())
    return unknown_word(root, context, left_over[0]);
  usage_error(innermost(root), context, error.what());
  const bool bad_value =
      is(error, CLI::ExitCodes::ValidationError) || is(error, CLI::ExitCodes::ConversionError);
  return bad_value ? kExitBadInput : kExitInternal;
}

/// Flags that are settings: their values, those that were given.
std::map<std::string, std::string> given_flags(const CLI::App& root) {
  std::map<std::string, std::string> flags;
  for (const char* name : {"project", "runs_dir", "output", "color"}) {
    std::string flag = std::string("--") + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (root.count(flag) > 0) flags[name] = root.get_option(flag)->as<std::string>();
  }
  return flags;
}

/// Thrown out of the parser when the settings are bad: then no verb may run.
struct BadSettings {
  Findings findings;
};

void add_global_flags(CLI::App& root, Context& context) {
  root.set_help_flag("-h,--help", "Show this help and exit");
  root.set_version_flag("-V,--version", "muster " MUSTER_VERSION, "Show the version and exit");
  root.add_option("-o,--output", "Form of the output")
      ->check(CLI::IsMember(format_names()))
      ->type_name("FORMAT");
  root.add_option("--color", "Color in output for people")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "always", "never"}))
      ->type_name("WHEN");
  root.add_flag("-q,--quiet", context.quiet, "Only data and errors: no talk, no progress");
  root.add_option(
          "--project",
          "The project; default: the nearest directory upwards with .muster.yaml or test_cases/")
      ->type_name("DIR");
  root.add_option("--runs-dir", "Where runs are recorded; default: .muster/runs of the project")
      ->type_name("DIR");
}

}  // namespace

Format Context::format() const {
  return parse_format(settings.text("output")).value_or(Format::kTable);
}
bool Context::color_out() const {
  return wants_color(*this, out_is_terminal);
}
bool Context::color_err() const {
  return wants_color(*this, err_is_terminal);
}

void Context::fail(const Findings& findings, ExitCode code) {
  for (const Finding& finding : findings) err << to_string(finding) << '\n';
  exit_code = code;
}

void Context::print(const Output& output) {
  Output whole = output;
  whole.text_of = [this](const std::string& file) -> std::optional<std::string> {
    auto text = files.read(directory / file);
    if (!text) return std::nullopt;
    return std::move(*text);
  };
  const auto written = write_output(out, whole, format(), color_out());
  if (!written) fail(written.findings(), kExitInternal);
}

void build(CLI::App& root, Context& context) {
  root.name("muster");
  root.description("Assembles, inspects and works clusters for distributed AI");
  root.fallthrough();  // global flags may follow the verb
  root.require_subcommand(
      0, 1);  // one verb: a later word that is a verb's name too (doctor train) is an argument
  add_global_flags(root, context);
  root.parse_complete_callback([&root, &context] {
    auto settings = resolve_settings(context.files,
                                     {given_flags(root), context.environment, context.directory});
    if (!settings) throw BadSettings{settings.findings()};
    context.settings = std::move(*settings);
  });
  for (const AddVerb add : kVerbs) add(root, context);
}

int run(int argc, const char* const* argv, Context& context) {
  CLI::App root;
  context.exit_code = kExitOk;
  try {
    build(root, context);
    context.command_line.assign(argv, argv + argc);
    root.parse(argc, argv);
    if (root.get_subcommands().empty()) {
      context.err << root.help();
      return kExitInternal;
    }
    context.out.flush();
    if (!context.out) return usage_error(root, context, "standard output can't be written");
    return context.exit_code;
  } catch (const CLI::Success& asked) {  // --help, --version
    return root.exit(asked, context.out, context.err);
  } catch (const CLI::ParseError& error) {
    return parse_error(root, context, error);
  } catch (const BadSettings& bad) {
    context.fail(bad.findings, kExitBadInput);
    return context.exit_code;
  } catch (const std::exception& error) {
    context.err << "muster: internal error: " << error.what() << '\n';
    return kExitInternal;
  }
}

}  // namespace muster::cli
