// muster render: the files that are made from manifests, to look at, to keep, or to compare with
// those that are kept.
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "catalog/case.h"
#include "catalog/manifest.h"
#include "cli/case_page.h"
#include "cli/context.h"
#include "cli/engine_program.h"
#include "cli/profile_options.h"
#include "cli/render_files.h"
#include "cli/render_metrics.h"
#include "facts/instances.h"
#include "health/act.h"
#include "health/deploy.h"
#include "images/kept.h"
#include "images/render.h"
#include "launch/committed.h"
#include "launch/prepare.h"
#include "launch/variables.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

struct CaseRequest {
  std::string name, target = "local", profile;
  std::vector<std::string> settings;
  ProfileOptions profile_options;
};

// What the case keeps beside its manifest; for native cases and the local target, which keep
// nothing, what a run would start.
Result<launch::Rendered> render_prepared(const Context& context, const launch::RunRequest& run,
                                         const launch::Prepared& prepared) {
  if (prepared.resolved.values.launcher == "native" || run.target == launch::Target::kLocal)
    return launch::dry_run(run, prepared);
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return known.error();
  return launch::render_kept(prepared.resolved, run.target, *known, run.profiling, prepared.nsight);
}

// Files that are kept name no registry: whoever submits them by hand has to.
void say_what_is_open(Context& context, const launch::Prepared& prepared, launch::Target target) {
  if (context.quiet || launch::shares_files(target)) return;
  for (const std::string& name : launch::variables_of(prepared.resolved.values.image.uri)) {
    context.err << fmt::format(
        "${{{0}}} is left open in the image's name: muster run takes it from the environment; by "
        "hand, envsubst '${0}' fills it in\n",
        name);
  }
}

void render_case(Context& context, const CaseRequest& request, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  launch::RunRequest run;
  run.case_name = request.name;
  run.profile = request.profile;
  run.project = context.project();
  run.caller = context.directory;
  run.runs = context.runs_dir();
  run.environment = context.environment;
  run.trainer = find_engine(context).value_or(fs::path());
  for (const std::string& setting : request.settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) {
      return context.fail(
          {error_at({}, "render-set", fmt::format("--set {} is not KEY=VALUE", setting))},
          kExitBadInput);
    }
    run.overrides.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  auto profiling = profiling_of(request.profile_options);
  if (!profiling) return context.fail(profiling.findings(), kExitBadInput);
  run.profiling = std::move(*profiling);
  const auto target = launch::parse_target(request.target);
  if (!target) return context.fail(target.findings(), kExitBadInput);
  run.target = *target;
  launch::Refusal refusal;
  const auto prepared =
      launch::prepare(run, {context.files, context.processes, context.clock}, refusal);
  if (!prepared) return context.fail(refusal.findings, refusal.code);
  const auto rendered = render_prepared(context, run, *prepared);
  if (!rendered) return context.fail(rendered.findings(), kExitBadInput);

  say_what_is_open(context, *prepared, run.target);
  std::vector<RenderFile> files;
  for (const launch::RenderedFile& file : rendered->files)
    files.push_back({file.path, file.content, file.executable});
  Output output;
  output.data["case"] = prepared->resolved.values.name;
  output.data["target"] = request.target;
  output.data["command"] = rendered->command;
  output.text = fmt::format("# ==> command <==\n{}\n", fmt::join(rendered->command, " "));
  deliver(context, files, where, std::move(output));
}

void render_image(Context& context, const std::string& name, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  const auto known = facts::load_facts(context.files, context.project());
  if (!known) return context.fail(known.findings(), kExitBadInput);
  const auto image = catalog::find_image(context.files, context.project(), *known, name);
  if (!image) return context.fail(image.findings(), kExitBadInput);
  const auto rendered = images::render(*image, context.files, context.project(), known->versions);
  if (!rendered) return context.fail(rendered.findings(), kExitBadInput);
  std::vector<RenderFile> files;
  for (const images::ImageFile& file : rendered->files) files.push_back({file.path, file.content});
  Output output;
  output.data["image"] = image->name;
  deliver(context, files, where, std::move(output));
}

// All files that cases and images keep, written where they are kept, or compared with what is
// there.
void render_all(Context& context, bool check) {
  auto kept = launch::kept_files(context.files, context.project());
  if (!kept) return context.fail(kept.findings(), kExitBadInput);
  const auto kept_images = images::kept_images(context.files, context.project());
  if (!kept_images) return context.fail(kept_images.findings(), kExitBadInput);
  for (const auto& file : kept_images->files)
    kept->files.push_back({file.path, file.content, false});
  kept->strays.insert(kept->strays.end(), kept_images->strays.begin(), kept_images->strays.end());
  Findings findings;
  Output output;
  output.name = "render";
  output.text = "";
  const auto differ = [&](const fs::path& path, const char* message) {
    findings.push_back(error_at({path.string(), 1, 1}, "render-differs", message,
                                "muster render --all writes it"));
  };
  for (const launch::KeptFile& file : kept->files) {
    const auto text = context.files.read(file.path);
    if (text && *text == file.content) continue;
    if (check) {
      differ(file.path, text ? "differs from what is rendered" : "is not there");
      continue;
    }
    const auto written = context.files.write(file.path, file.content, file.executable);
    if (!written) return context.fail(written.findings(), kExitBadInput);
    *output.text += file.path.string() + "\n";
  }
  for (const fs::path& stray : kept->strays) {
    if (check) {
      differ(stray, "is rendered from no manifest any more");
      continue;
    }
    const auto removed = context.files.remove_all(stray);
    if (!removed) return context.fail(removed.findings(), kExitBadInput);
    *output.text += stray.string() + " (removed)\n";
  }
  output.data["cases"] = kept->cases;
  output.data["images"] = kept_images->images;
  output.data["files"] = kept->files.size();
  output.data["differs"] = !findings.empty();
  output.data["findings"] = to_json(findings);
  output.judges = check;
  output.findings = findings;
  for (const Finding& finding : findings) *output.text += to_string(finding) + "\n";
  *output.text += fmt::format("{} files of {} cases and {} images\n", kept->files.size(),
                              kept->cases, kept_images->images);
  context.print(output);
  if (!findings.empty() && context.exit_code == kExitOk) context.exit_code = kExitDiffers;
}

struct ChecksRequest {
  std::string target;
  health::DeployOptions options;
};

void render_checks(Context& context, const ChecksRequest& request, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  health::DeployOptions options = request.options;
  const auto instances = facts::load_instances(context.files, context.project());
  if (!instances) return context.fail(instances.findings(), kExitBadInput);
  const auto instance = facts::find_instance(*instances, options.instance);
  if (!instance) return context.fail(instance.findings(), kExitBadInput);
  const bool gpus = instance->accelerators && instance->accelerators->kind == "gpu" &&
                    instance->accelerators->count.value_or(0) > 0;
  if (!gpus) {
    return context.fail(
        {error_at({}, "render-checks", fmt::format("{} has no GPUs to look at", options.instance))},
        kExitBadInput);
  }
  options.accelerators = *instance->accelerators->count;
  if (!health::parse_limit(options.at_most)) {
    return context.fail(
        {error_at({}, "limit",
                  fmt::format("--at-most: \"{}\" is no number of nodes", options.at_most),
                  "e.g. 2 or 10%")},
        kExitBadInput);
  }
  std::vector<RenderFile> files;
  for (const health::DeployedFile& file : request.target == "slurm"
                                              ? health::deploy_slurm(options)
                                              : health::deploy_kubernetes(options))
    files.push_back({file.path, file.content, file.executable});
  Output output;
  output.data["target"] = request.target;
  output.data["instance"] = options.instance;
  deliver(context, files, where, std::move(output));
}

void render_index(Context& context, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  const auto entries = catalog::list_cases(context.files, context.project());
  if (!entries) return context.fail(entries.findings(), kExitBadInput);
  deliver(context, {{"cases.md", case_page(*entries)}}, where, {});
}

void render_schemas(Context& context, const RenderWhere& where) {
  if (!is_usable(context, where)) return;
  std::vector<RenderFile> files;
  for (const catalog::ManifestKind& kind : catalog::manifest_kinds()) {
    files.push_back({kind.schema_file, catalog::json_schema_text(kind), false});
  }
  deliver(context, files, where, {});
}

}  // namespace

void add_render(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("render", "The files that are made from a manifest");
  sub->group("Look");
  sub->require_subcommand(0, 1);
  struct All {
    bool all = false, check = false;
  };
  auto all = std::make_shared<All>();
  sub->add_flag("--all", all->all, "Write the files that all cases and images keep, beside each");
  sub->add_flag("--check", all->check,
                "With --all: compare with the files that are there; exit code 5 when they differ");
  sub->footer("Example:\n  muster render --all --check");
  sub->callback([&context, sub, all] {
    if (!sub->get_subcommands().empty()) return;
    if (all->all) return render_all(context, all->check);
    throw CLI::RequiredError("What to render: a subcommand, or --all");
  });

  CLI::App* of_case = sub->add_subcommand("case", "What a case starts on a target");
  auto request = std::make_shared<CaseRequest>();
  auto where = std::make_shared<RenderWhere>();
  of_case->add_option("name", request->name, "Name or path of the case")
      ->required()
      ->type_name("NAME");
  of_case
      ->add_option("--target", request->target,
                   "Where it would run: local, slurm, kubernetes, hyperpod-eks, batch")
      ->type_name("TARGET");
  of_case->add_option("--profile", request->profile, "Profile of the case")->type_name("PROFILE");
  of_case
      ->add_option("--set", request->settings,
                   "A value of the manifest, e.g. batch.steps=20; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_profile_options(*of_case, request->profile_options);
  add_render_where(of_case, where);
  of_case->footer(
      "Example:\n  muster render case training/native/llama --target slurm --profile smoke");
  of_case->callback([&context, request, where] { render_case(context, *request, *where); });

  CLI::App* of_image = sub->add_subcommand(
      "image", "What makes an image: Packer's templates and a playbook, or a Dockerfile");
  auto image = std::make_shared<std::string>();
  auto image_where = std::make_shared<RenderWhere>();
  of_image->add_option("name", *image, "Name of the image")->required()->type_name("NAME");
  add_render_where(of_image, image_where);
  of_image->footer("Example:\n  muster render image base-gpu --out build/base-gpu");
  of_image->callback(
      [&context, image, image_where] { render_image(context, *image, *image_where); });

  add_render_metrics(*sub, context);
  CLI::App* of_checks = sub->add_subcommand(
      "checks", "What lets muster check run on a cluster: Slurm's hooks, batch scripts, manifests");
  auto checks = std::make_shared<ChecksRequest>();
  auto checks_where = std::make_shared<RenderWhere>();
  of_checks->add_option("--target", checks->target, "Where: slurm, kubernetes")
      ->required()
      ->check(CLI::IsMember(health::deploy_targets()))
      ->type_name("TARGET");
  of_checks
      ->add_option("--instance", checks->options.instance,
                   "What the nodes should be; default: p5.48xlarge")
      ->type_name("TYPE");
  of_checks
      ->add_option("--at-most", checks->options.at_most,
                   "Nodes, or percent of them, that may be out of service at once; default: 5%")
      ->type_name("N|P%");
  of_checks
      ->add_option("--image", checks->options.image,
                   "Image with muster and kubectl; default: ${MUSTER_IMAGE}, left open")
      ->type_name("IMAGE");
  add_render_where(of_checks, checks_where);
  of_checks->footer(
      "Example:\n  muster render checks --target slurm --instance p5en.48xlarge --out health");
  of_checks->callback(
      [&context, checks, checks_where] { render_checks(context, *checks, *checks_where); });

  CLI::App* of_schemas =
      sub->add_subcommand("schemas", "JSON Schemas of all manifests, for editors");
  auto schemas_where = std::make_shared<RenderWhere>();
  add_render_where(of_schemas, schemas_where);
  of_schemas->footer("Example:\n  muster render schemas --out docs/schema --check");
  of_schemas->callback([&context, schemas_where] { render_schemas(context, *schemas_where); });

  CLI::App* of_index =
      sub->add_subcommand("index", "The page of the documentation that lists all cases");
  auto index_where = std::make_shared<RenderWhere>();
  add_render_where(of_index, index_where);
  of_index->footer("Example:\n  muster render index --out docs --check");
  of_index->callback([&context, index_where] { render_index(context, *index_where); });

  add_render_cluster(sub, context);
}

}  // namespace muster::cli
