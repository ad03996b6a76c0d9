// muster check: the health of a host, or what a saved output says of one.
#include <memory>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/output.h"
#include "base/redact.h"
#include "base/schema.h"
#include "base/text.h"
#include "cli/context.h"
#include "cli/run_view.h"
#include "facts/facts.h"
#include "health/act.h"
#include "health/action.h"
#include "health/checks.h"
#include "health/history.h"
#include "health/inject.h"
#include "metrics/collectors.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;
using health::CheckResult;
using health::Health;

struct CheckRequest {
  std::vector<std::string> names;
  std::vector<std::string> from, mounts;
  std::string scratch, python, expect;
  std::string root, instance, window, inject, textfile, plan, node, history, at_most = "1";
  std::vector<int> ignore_xid;
  int nodes = 0, dcgm_level = 0;
  bool all_boots = false, contract = false, act = false, features = false;
};

/// What the checks judge by; owns what a Host points to.
struct Policies {
  facts::KernelPolicy kernel;
  facts::DcgmErrors dcgm;
  facts::Thresholds thresholds;
  facts::VersionCatalog versions;
  std::optional<Node> pytorch;  ///< what each rank should tell
};

/// What every rank should tell: name and value a line.
Result<Node> load_expectations(const Context& context, const std::string& file) {
  const auto text = context.files.read(context.directory / file);
  if (!text) return text.error();
  auto document = parse_yaml(*text, file);
  if (!document) return document.error();
  Findings findings;
  if (!document->is_mapping() || document->entries().empty()) {
    findings.push_back(error_at(document->where(), "pytorch-expect", "expects nothing",
                                "NAME: VALUE or NAME: \">=VERSION\", as in "
                                "distributed.nccl: true"));
  } else {
    for (const Node::Entry& entry : document->entries()) {
      if (entry.value.is_scalar() || entry.value.is_null()) continue;
      findings.push_back(error_at(entry.value.where(), "pytorch-expect",
                                  fmt::format("{} is no single value", entry.key),
                                  "true, a number, a text, or a range as \">=2.6\""));
    }
  }
  if (!findings.empty()) return Failure(std::move(findings));
  return document;
}

Result<Policies> load_policies(const Context& context, const CheckRequest& request) {
  Policies policies;
  auto kernel = facts::load_xid(context.files, context.project());
  if (!kernel) return kernel.error();
  policies.kernel = std::move(*kernel);
  auto dcgm = facts::load_dcgm(context.files, context.project());
  if (!dcgm) return dcgm.error();
  policies.dcgm = std::move(*dcgm);
  auto thresholds = facts::load_health(context.files, context.project());
  if (!thresholds) return thresholds.error();
  policies.thresholds = std::move(*thresholds);
  auto versions = facts::load_versions(context.files, context.project());
  if (!versions) return versions.error();
  policies.versions = std::move(*versions);
  if (!request.expect.empty()) {
    auto expected = load_expectations(context, request.expect);
    if (!expected) return expected.error();
    policies.pytorch = std::move(*expected);
  }
  return policies;
}

/// The probe of PyTorch: the project's, else the installation's. Empty: it is not there.
std::filesystem::path probe_file(const Context& context) {
  const std::filesystem::path place =
      "validation_and_observability/pytorch-env-validation/probe.py";
  for (const auto& root : {context.project(), facts::share_directory()}) {
    if (context.files.exists(root / place)) return root / place;
  }
  return {};
}

Result<health::Host> make_host(const Context& context, const CheckRequest& request,
                               const Policies& policies) {
  health::Host host;
  host.kernel = &policies.kernel;
  host.dcgm = &policies.dcgm;
  host.thresholds = &policies.thresholds;
  host.versions = &policies.versions;
  host.pytorch_expect = policies.pytorch ? &*policies.pytorch : nullptr;
  host.python = request.python;
  host.pytorch_probe = probe_file(context).string();
  host.mounts = request.mounts;
  host.scratch = request.scratch;
  host.quick = std::all_of(request.names.begin(), request.names.end(),
                           [](const std::string& name) { return name == "prolog"; });
  host.all_boots = request.all_boots;
  host.ignored_xids = request.ignore_xid;
  if (request.nodes > 0) host.nodes = request.nodes;
  if (!request.window.empty()) {
    host.window = parse_duration(request.window);
    if (!host.window) {
      return failure("duration", fmt::format("--window: \"{}\" is not a time", request.window),
                     fmt::format("e.g. {}", kDuration.example));
    }
  }
  if (!request.instance.empty()) {
    const auto instances = facts::load_instances(context.files, context.project());
    if (!instances) return instances.error();
    auto instance = facts::find_instance(*instances, request.instance);
    if (!instance) return instance.error();
    host.instance = std::move(*instance);
  }
  return host;
}

/// The checks that were asked for, those of suites in their order, each once.
Result<std::vector<const health::CheckKind*>> chosen(const CheckRequest& request, bool& suite,
                                                     int& dcgm_level) {
  std::vector<const health::CheckKind*> kinds;
  std::vector<std::string> known;
  for (const health::Suite& one : health::suites()) known.emplace_back(one.name);
  for (const health::CheckKind& one : health::check_kinds()) known.emplace_back(one.name);
  const auto add = [&](const health::CheckKind* kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const std::string& name : request.names) {
    if (const health::Suite* one = health::find_suite(name)) {
      suite = true;
      if (name == "intensive") dcgm_level = 4;
      for (const char* check : one->checks) add(health::find_check(check));
    } else if (const health::CheckKind* kind = health::find_check(name)) {
      add(kind);
    } else {
      const auto meant = did_you_mean(name, known);
      return failure("unknown-check", fmt::format("unknown check \"{}\"", name),
                     meant ? fmt::format("did you mean \"{}\"?", *meant)
                           : fmt::format("suites and checks: {}", fmt::join(known, ", ")));
    }
  }
  return kinds;
}

Json to_json(const health::Observation& seen, const Redactor& redactor) {
  Json json = {{"outcome", to_string(seen.health)}, {"rule", seen.rule}};
  if (!seen.subject.empty()) json["subject"] = seen.subject;
  json["evidence"] = redactor.redact(seen.evidence);
  if (!seen.where.file.empty()) {
    json["file"] = seen.where.file.str();
    json["line"] = seen.where.line;
  }
  return json;
}

/// Outcome first, then each check with its evidence, worst first, and what to do.
std::string check_text(const std::vector<CheckResult>& checks, Health health, bool nothing_shown,
                       const Redactor& redactor, int width, bool color) {
  std::vector<const CheckResult*> order;
  order.reserve(checks.size());
  for (const CheckResult& check : checks) order.push_back(&check);
  std::stable_sort(order.begin(), order.end(), [](const CheckResult* a, const CheckResult* b) {
    return a->health() > b->health();
  });
  std::vector<VerdictRow> rows;
  rows.reserve(order.size());
  for (const CheckResult* check : order) {
    rows.push_back({to_string(check->health()), health::outcome_of(check->health()), check->name(),
                    redactor.redact(check->evidence())});
  }
  std::string title = health::advice(health);
  if (nothing_shown) {
    title =
        "no accelerator and no fabric was found; --instance says that the host should have none";
  }
  return verdict_text(title, {to_string(health), health::outcome_of(health), {}, {}}, rows, width,
                      color);
}

/// What the history says, this sample included, which is kept.
Result<Health> with_history(Context& context, const std::string& file, Health now) {
  const auto path = context.directory / file;
  std::vector<health::Sample> samples;
  if (context.files.exists(path)) {
    const auto text = context.files.read(path);
    if (!text) return text.error();
    auto before = health::parse_history(*text, file);
    if (!before) return before.error();
    samples = std::move(*before);
  }
  samples.push_back({to_rfc3339(context.clock.now()), now});
  if (const auto written = context.files.write(path, health::history_text(samples)); !written)
    return written.error();
  return health::steady(samples);
}

/// The node's name: as given, else this machine's.
std::string node_name(Context& context, const CheckRequest& request) {
  if (!request.node.empty()) return request.node;
  const auto name = context.files.read("/proc/sys/kernel/hostname");
  return name ? first_line(*name) : std::string("localhost");
}

Json to_json(const health::ActionPlan& plan) {
  Json commands = Json::array();
  for (const auto& argv : plan.commands) commands.push_back(health::shell_line(argv));
  return {{"action", plan.action}, {"reason", plan.reason}, {"commands", std::move(commands)}};
}

std::string plan_text(const health::ActionPlan& plan, bool done, const Redactor& redactor) {
  if (plan.commands.empty()) {
    return done ? plan.reason + "\n" : "nothing to be done to the node\n";
  }
  std::string text = done ? fmt::format("done ({}):\n", plan.action)
                          : std::string("to take it out of service (not done):\n");
  for (const auto& argv : plan.commands)
    text += "  " + redactor.redact(health::shell_line(argv)) + "\n";
  return text;
}

void print(Context& context, const CheckRequest& request, const std::vector<CheckResult>& checks,
           const health::Host& host, bool suite) {
  const Redactor redactor;
  const bool nothing_shown = suite && health::shows_nothing(checks, host);
  Health health = health::worst_of(checks);
  if (nothing_shown && !health::is_fault(health)) health = std::max(health, Health::kUnknown);
  const Health sample = health;
  if (!request.history.empty()) {
    const auto stands = with_history(context, request.history, health);
    if (!stands) return context.fail(stands.findings(), kExitBadInput);
    health = *stands;
  }
  std::optional<health::ActionPlan> plan;
  if (const auto manager = health::parse_manager(request.plan)) {
    plan = health::plan_action(*manager, node_name(context, request), checks);
    plan->reason = redactor.redact(plan->reason);
    // A fault that does not stand yet, or is over and not yet believed.
    if (!health::is_fault(health)) plan->commands.clear();
    if (request.act) {
      const auto done =
          health::act(*manager, node_name(context, request), health, *plan,
                      *health::parse_limit(request.at_most), request.features, context.processes);
      if (done) {
        plan = *done;
      } else {
        // What was found is told all the same: only what was to be done about it is not done.
        for (const Finding& finding : done.findings()) context.err << to_string(finding) << '\n';
        *plan = {plan->action, "not done, or not all of it: see the error", {}};
        context.exit_code = kExitInternal;
      }
    }
  }

  Verdict verdict;
  Output output;
  output.name = "check";
  output.data["outcome"] = to_string(health);
  if (!request.history.empty()) output.data["sample"] = to_string(sample);
  if (host.instance) output.data["instance"] = host.instance->name;
  if (const std::string todo = health::advice(health); !todo.empty()) output.data["advice"] = todo;
  Json& list = output.data["checks"] = Json::array();
  for (const CheckResult& check : checks) {
    const std::string evidence = redactor.redact(check.evidence());
    verdict.add(check.name(), health::outcome_of(check.health()),
                check.health() == Health::kOk
                    ? evidence
                    : fmt::format("{}: {}", to_string(check.health()), evidence));
    Json findings = Json::array();
    for (const health::Observation& seen : check.observations())
      findings.push_back(to_json(seen, redactor));
    Json one = {
        {"name", check.name()}, {"outcome", to_string(check.health())}, {"evidence", evidence}};
    if (const std::string todo = health::advice(check.health()); !todo.empty())
      one["advice"] = todo;
    one["findings"] = std::move(findings);
    list.push_back(std::move(one));
  }
  if (plan) output.data["plan"] = to_json(*plan);
  output.rows = "checks";
  output.columns = {{"OUTCOME", "outcome"}, {"CHECK", "name"}, {"EVIDENCE", "evidence"}};
  output.judges = true;
  output.checks = verdict.worst_first();
  output.text = check_text(checks, health, nothing_shown, redactor,
                           context.out_is_terminal ? terminal_width() : 0, context.color_out());
  if (sample != health) {
    *output.text += fmt::format("this sample: {}; with those before it: {}\n", to_string(sample),
                                to_string(health));
  }
  if (plan) *output.text += plan_text(*plan, request.act, redactor);
  if (request.contract) {
    // The line that HyperPod's orchestrator looks for, whatever the format.
    context.out << redactor.redact(health::contract_line(node_name(context, request), checks))
                << '\n';
  } else {
    context.print(output);
  }
  // Not applicable is an answer to a single check: the host was seen to have no such hardware.
  const bool failed_to_act = context.exit_code == kExitInternal;
  if ((context.exit_code == kExitOk || (failed_to_act && health::is_fault(health))) &&
      health != Health::kNotApplicable) {
    context.exit_code = health::exit_code(health);
  }
}

void check(Context& context, const CheckRequest& request) {
  if (!health::parse_limit(request.at_most)) {
    return context.fail(
        {failure("limit", fmt::format("--at-most: \"{}\" is no number of nodes", request.at_most),
                 "e.g. 2 or 10%")
             .findings.front()},
        kExitBadInput);
  }
  const auto policies = load_policies(context, request);
  if (!policies) return context.fail(policies.findings(), kExitBadInput);
  auto host = make_host(context, request, *policies);
  if (!host) return context.fail(host.findings(), kExitBadInput);
  bool suite = false;
  const auto kinds = chosen(request, suite, host->dcgm_level);
  if (!kinds) return context.fail(kinds.findings(), kExitInternal);
  if (request.dcgm_level > 0) host->dcgm_level = request.dcgm_level;

  std::vector<CheckResult> checks;
  std::unique_ptr<health::HostView> view;
  if (!request.from.empty()) {
    if (kinds->size() != 1 || suite) {
      return context.fail({failure("check-from", "--from reads the output for one check",
                                   "muster check gpu --from FILE; --root DIR for several")
                               .findings.front()},
                          kExitInternal);
    }
    CheckResult result(kinds->front()->name);
    std::vector<health::Text> texts;
    for (const std::string& path : request.from) {
      const auto text = context.files.read(path == "-" ? "/dev/stdin" : context.directory / path);
      if (!text) return context.fail(text.findings(), kExitBadInput);
      texts.push_back({path, *text});
    }
    if (kinds->front()->read_all != nullptr) {
      kinds->front()->read_all(texts, *host, result);
    } else {
      for (const health::Text& text : texts) kinds->front()->read(text, *host, result);
    }
    checks.push_back(std::move(result));
  } else {
    if (request.root.empty()) {
      view = std::make_unique<health::LiveView>(context.files, context.processes);
    } else {
      const auto root = context.directory / request.root;
      const auto names = context.files.list(root);
      if (!names) return context.fail(names.findings(), kExitBadInput);
      view = std::make_unique<health::TreeView>(context.files, root);
    }
    std::optional<health::InjectedView> injected;
    if (!request.inject.empty()) injected.emplace(*view, *health::find_fault(request.inject));
    for (const health::CheckKind* kind : *kinds) {
      CheckResult result(kind->name);
      kind->look(injected ? static_cast<const health::HostView&>(*injected) : *view, *host, result);
      checks.push_back(std::move(result));
    }
    if (injected && !injected->planted()) {
      return context.fail(
          {failure("inject",
                   fmt::format("{} could not be planted: nothing that was looked at shows "
                               "such hardware",
                               request.inject),
                   fmt::format("the check that finds it: {}",
                               health::find_fault(request.inject)->check))
               .findings.front()},
          kExitUnverified);
    }
  }
  if (!request.textfile.empty()) {
    metrics::Exposition metrics;
    const auto now = std::chrono::duration<double>(context.clock.now().time_since_epoch());
    metrics::collect_health(checks, now.count(), metrics);
    if (view) metrics::collect_efa(*view, metrics);
    const auto written = context.files.write(context.directory / request.textfile, metrics.text());
    if (!written) return context.fail(written.findings(), kExitInternal);
  }
  print(context, request, checks, *host, suite);
}

std::string named(const std::vector<health::Suite>& suites) {
  std::string text;
  for (const health::Suite& suite : suites)
    text += fmt::format("  {:<12} {}: {}\n", suite.name, suite.doc, fmt::join(suite.checks, ", "));
  return text;
}

std::string named(const std::vector<health::Fault>& faults) {
  std::string text;
  for (const health::Fault& fault : faults)
    text += fmt::format("  {:<18} {} ({})\n", fault.name, fault.doc, fault.check);
  return text;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const health::Fault& fault : health::faults()) names.emplace_back(fault.name);
  return names;
}

std::string named(const std::vector<health::CheckKind>& kinds) {
  std::string text;
  for (const health::CheckKind& kind : kinds)
    text += fmt::format("  {:<12} {}\n               reads {}\n", kind.name, kind.doc, kind.reads);
  return text;
}

}  // namespace

void add_check(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("check", "Is this host healthy, and what is to be done");
  sub->group("Health");
  const auto request = std::make_shared<CheckRequest>();
  sub->add_option("check", request->names, "Suites and checks")
      ->required()
      ->type_name("SUITE|CHECK");
  CLI::Option* from =
      sub->add_option("--from", request->from, "Read a saved output instead; - for standard input")
          ->type_name("FILE");
  sub->add_option("--root", request->root,
                  "Look at a tree saved from a host: its files, and the output of its commands as "
                  "commands/nvidia-smi_-q_-x")
      ->excludes(from)
      ->type_name("DIR");
  sub->add_option("--inject", request->inject,
                  "Plant a fault in a copy of what is looked at: does the check, the prolog, the "
                  "alert find it? The host is not touched")
      ->excludes(from)
      ->check(CLI::IsMember(fault_names()))
      ->type_name("FAULT");
  sub->add_option("--instance", request->instance,
                  "What the host should be: its accelerators, NVLinks and EFA devices are counted")
      ->type_name("TYPE");
  sub->add_option("--nodes", request->nodes, "Nodes of the job or the cluster")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  sub->add_option("--window", request->window, "Only the last part of the kernel's log")
      ->type_name("TIME");
  sub->add_flag("--all-boots", request->all_boots,
                "Also what the kernel's log holds from before the last boot");
  sub->add_option("--ignore-xid", request->ignore_xid, "Xid codes to leave out")
      ->delimiter(',')
      ->type_name("CODE");
  sub->add_option("--dcgm-level", request->dcgm_level,
                  "Level of dcgmi diag; default: 2, in the intensive suite 4")
      ->check(CLI::Range(1, 4))
      ->type_name("LEVEL");
  sub->add_option("--mount", request->mounts,
                  "Where a file system has to be mounted, and writable; for the check storage")
      ->delimiter(',')
      ->type_name("PATH");
  sub->add_option("--scratch", request->scratch,
                  "Write 64 MiB into this folder, flush and read them back, for the check storage")
      ->excludes(from)
      ->type_name("DIR");
  sub->add_option("--python", request->python, "The Python whose PyTorch is looked at")
      ->excludes(from)
      ->type_name("PROGRAM");
  sub->add_option("--expect", request->expect,
                  "What PyTorch should say on every rank: YAML, NAME: VALUE or a range of versions")
      ->type_name("FILE");
  CLI::Option* plan =
      sub->add_option("--plan", request->plan,
                      "Print the commands that take the node out of service; nothing is done");
  plan->check(CLI::IsMember(health::manager_names()))->type_name("MANAGER");
  CLI::Option* act = sub->add_flag(
      "--act", request->act, "Run them; a node that is well and that muster took out is put back");
  act->needs(plan);
  sub->add_flag("--features", request->features,
                "With --act on Slurm: keep HealthCheck:Passed, :Failed or :Skipped among the "
                "features of the node, for sbatch --constraint=HealthCheck:Passed")
      ->needs(act);
  sub->add_option("--at-most", request->at_most,
                  "Nodes, or percent of them, that muster may have out of service at once; "
                  "default: 1")
      ->needs(act)
      ->type_name("N|P%");
  sub->add_option("--node", request->node, "Name of the node in plans; default: this machine's")
      ->type_name("NAME");
  sub->add_option("--history", request->history,
                  "Keep the outcomes there: a fault stands when 3 of the last 6 samples have one, "
                  "and is over after 3 good ones in a row")
      ->type_name("FILE");
  sub->add_option("--textfile", request->textfile,
                  "Write the outcomes and EFA's counters for node_exporter's textfile collector")
      ->type_name("FILE.prom");
  sub->add_flag("--contract", request->contract,
                "Print the line that HyperPod's health checks end in, and nothing else");
  sub->footer(
      "Suites:\n" + named(health::suites()) + "Checks:\n" + named(health::check_kinds()) +
      "Faults to plant:\n" + named(health::faults()) +
      "Outcomes: ok < flag < reset < reboot < investigate < replace; skipped, unknown and error: "
      "could not be verified.\n"
      "Exit codes: 0 ok or flag; 3 reset to replace; 4 could not be verified, or a suite that "
      "found neither accelerators nor a fabric.\n"
      "Example:\n  muster check gpu --from nvidia-smi.txt --instance p5.48xlarge");
  sub->callback([&context, request] { check(context, *request); });
}

}  // namespace muster::cli
