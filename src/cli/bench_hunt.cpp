// muster bench hunt and order: which node, pair or link is slow; in which order ranks should stand.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/output.h"
#include "base/progress.h"
#include "base/schema.h"
#include "bench/baseline.h"
#include "bench/hunt_run.h"
#include "bench/order.h"
#include "cli/bench.h"
#include "cli/run_view.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

struct HuntRequest {
  std::string nodes, hosts, command, launcher, program, limit = "120s", strategy = "pairs";
  std::vector<std::string> from;
  double drop = 10;
  int ranks_per_node = 1;
  bool all_pairs = false, dry_run = false, serial = false, no_record = false;
};

constexpr const char* kDefaultProgram = "all_reduce_perf -b 256M -e 256M -g 1 -c 1";
constexpr const char* kDefaultAllToAll = "muster-bench pairs -b 32M -e 32M";

Result<std::vector<std::string>> node_names(Context& context, const HuntRequest& request) {
  if (!request.nodes.empty()) return bench::expand_node_list(request.nodes);
  if (request.hosts.empty())
    return failure("hunt-nodes", "no nodes are named", "--nodes n[1-8] or --hosts FILE");
  const auto text = context.files.read(context.directory / request.hosts);
  if (!text) return text.error();
  Findings findings;
  auto names = bench::parse_hosts(*text, request.hosts, findings);
  for (const Finding& finding : findings) context.err << to_string(finding) << '\n';
  return names;
}

std::string command_of(const HuntRequest& request) {
  if (!request.command.empty()) return request.command;
  const bool together = request.strategy == "alltoall";
  const std::string program = !request.program.empty() ? request.program
                              : together               ? kDefaultAllToAll
                                                       : kDefaultProgram;
  if (request.launcher == "slurm") {
    return fmt::format(
        "srun --nodes={{count}} --nodelist={{nodes}} --ntasks-per-node={} --mpi=pmix "
        "--exclusive {}",
        request.ranks_per_node, program);
  }
  if (together) return fmt::format("mpirun --host {{nodes}} --map-by ppr:1:node {}", program);
  // mpirun takes slots behind each host's name.
  return fmt::format("mpirun --host {{first}}:{0},{{second}}:{0} --map-by ppr:{0}:node {1}",
                     request.ranks_per_node, program);
}

bench::Strategy strategy_of(const std::string& name) {
  return name == "bisect"     ? bench::Strategy::kBisect
         : name == "grow"     ? bench::Strategy::kGrow
         : name == "alltoall" ? bench::Strategy::kAllToAll
                              : bench::Strategy::kPairs;
}

/// What would be run, and nothing is.
void show_plan(Context& context, const HuntRequest& request, const std::vector<std::string>& names,
               const bench::HuntCommand& command) {
  std::vector<bench::Round> rounds;
  std::vector<int> all(names.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  const int count = static_cast<int>(names.size());
  if (request.strategy == "pairs") {
    rounds = bench::round_robin(count);
    if (!request.all_pairs)
      rounds.resize(std::min(rounds.size(), static_cast<std::size_t>(bench::node_rounds(count))));
  } else if (request.strategy == "grow") {
    rounds = bench::growing_groups(all);
  } else if (request.strategy == "alltoall") {
    rounds = {{{{all}}}};  // a later one follows from what it finds
  } else {
    rounds = {bench::halves(all, {})};  // the later ones follow from what it finds
  }
  Output output;
  output.name = "bench hunt";
  output.data["nodes"] = names;
  Json list = Json::array(), trials = Json::array();
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (std::size_t trial = 0; trial < rounds[round].trials.size(); ++trial) {
      std::vector<std::string> who;
      for (const int node : rounds[round].trials[trial].nodes)
        who.push_back(names[static_cast<std::size_t>(node)]);
      trials.push_back(
          {{"round", round},
           {"nodes", who},
           {"command", bench::trial_command(command, rounds[round].trials[trial], names,
                                            static_cast<int>(round), static_cast<int>(trial))}});
    }
  }
  output.data["rounds"] = rounds.size();
  output.data["trials"] = std::move(trials);
  output.rows = "trials";
  output.columns = {{"ROUND", "round", false, true}, {"NODES", "nodes"}, {"COMMAND", "command"}};
  context.print(output);
}

Json matrix_of(const std::vector<std::string>& names,
               const std::vector<bench::Measurement>& measurements) {
  Json rates = Json::array();
  for (std::size_t row = 0; row < names.size(); ++row)
    rates.push_back(Json(std::vector<Json>(names.size(), Json(nullptr))));
  for (const bench::Measurement& one : measurements) {
    if (one.nodes.size() != 2 || !one.rate) continue;
    const auto a = static_cast<std::size_t>(one.nodes[0]);
    const auto b = static_cast<std::size_t>(one.nodes[1]);
    rates[a][b] = *one.rate;
    rates[b][a] = *one.rate;
  }
  return {{"nodes", names}, {"rates", std::move(rates)}};
}

/// Names and pairs of saved logs: every run of two hosts is a measurement.
bench::HuntOutcome from_logs(const std::vector<bench::Log>& logs,
                             const bench::HuntSettings& settings, std::vector<std::string>& names) {
  bench::HuntOutcome outcome;
  const auto index = [&names](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    names.push_back(name);
    return static_cast<int>(names.size()) - 1;
  };
  for (const bench::Log& log : logs) {
    for (const bench::Run& run : log.runs) {
      const auto hosts = bench::hosts_of(run);
      if (hosts.size() != 2) continue;
      bench::Measurement measured;
      measured.nodes = {index(hosts[0]), index(hosts[1])};
      measured.where = log.file;
      const bench::Record* largest = nullptr;
      for (const bench::Record& record : run.records) {
        const auto rate = bench::rate_of(record);
        if (!rate) continue;
        if (largest == nullptr || record.size.value_or(0) > largest->size.value_or(0) ||
            (record.size == largest->size && *rate > *bench::rate_of(*largest)))
          largest = &record;
      }
      if (largest != nullptr && run.wrong.empty()) measured.rate = bench::rate_of(*largest);
      outcome.measurements.push_back(std::move(measured));
    }
  }
  outcome.result =
      bench::judge_pairs(static_cast<int>(names.size()), outcome.measurements, settings);
  return outcome;
}

void finish_hunt(Context& context, const HuntRequest& request,
                 const std::vector<std::string>& names, const bench::HuntOutcome& outcome) {
  const Verdict verdict = bench::hunt_verdict(outcome.result, names);
  const Json actions = bench::hunt_actions(outcome.result, names);
  Json bench_data = Json::object();
  bench_data["pairs"] = matrix_of(names, outcome.measurements);

  Output output;
  output.name = "bench hunt";
  output.data["verdict"] = to_json(verdict);
  for (const auto& [key, value] : actions.items()) output.data[key] = value;
  output.data["rounds"] = outcome.rounds;
  output.data["noise"] = outcome.result.noise;
  Json failed = Json::array();
  for (const bench::Measurement& one : outcome.measurements) {
    if (one.rate || one.what.empty()) continue;
    std::vector<std::string> who;
    for (const int node : one.nodes) who.push_back(names[static_cast<std::size_t>(node)]);
    failed.push_back({{"round", one.round}, {"nodes", who}, {"why", one.what}});
  }
  output.data["failed"] = failed;
  output.data["pairs"] = bench_data["pairs"];
  output.rows = "found";
  output.columns = {{"KIND", "kind"},
                    {"NODES", "nodes"},
                    {"DROP", "drop", false, true},
                    {"MEASURED", "measured", false, true}};
  output.judges = true;
  output.checks = verdict.worst_first();
  std::string text =
      verdict_text(fmt::format("{} nodes, {} rounds", names.size(), outcome.rounds), verdict,
                   context.out_is_terminal ? terminal_width() : 0, context.color_out());
  for (const Json& one : failed) {
    text += fmt::format("  failed   round {}: {}: {}\n", one["round"].get<int>(),
                        fmt::join(one["nodes"].get<std::vector<std::string>>(), ","),
                        one["why"].get<std::string>());
  }
  if (!actions["plan"].empty()) {
    text += fmt::format("\nslurm: {}\nkubernetes: {}\n\nTo take them out (shown, not done):\n",
                        actions["slurm"].get<std::string>(),
                        fmt::join(actions["kubernetes"].get<std::vector<std::string>>(), " "));
    for (const Json& step : actions["plan"]) text += "  " + step.get<std::string>() + "\n";
  }
  output.text = text;
  if (!request.no_record && request.from.empty()) {
    bench_data["logs"] = Json::array();
    const int nodes = static_cast<int>(names.size());
    record_bench(context, {"bench/hunt", nodes, nodes * request.ranks_per_node, verdict, bench_data,
                           outcome.outputs});
  }
  context.print(output);
  if (outcome.interrupted) {
    context.exit_code = kExitInterrupted;
  } else if (context.exit_code == kExitOk) {
    context.exit_code = exit_code(verdict.outcome());
  }
}

void hunt(Context& context, const HuntRequest& request) {
  bench::HuntSettings settings;
  settings.node_drop = request.drop / 100;
  settings.pair_drop = std::max(0.12, settings.node_drop);
  std::vector<std::string> names;
  if (!request.from.empty()) {
    const auto logs = read_logs(context, request.from);
    if (!logs) return context.fail(logs.findings(), kExitBadInput);
    const auto outcome = from_logs(*logs, settings, names);
    return finish_hunt(context, request, names, outcome);
  }
  auto named = node_names(context, request);
  if (!named) return context.fail(named.findings(), kExitBadInput);
  names = std::move(*named);
  // Names become words of a shell command.
  for (const std::string& name : names) {
    constexpr const char* kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    if (name.find_first_not_of(kPlain) == std::string::npos && name[0] != '-') continue;
    return context.fail({error_at({}, "hunt-nodes", "\"" + name + "\" is no name of a node",
                                  "letters, digits, dots, dashes")},
                        kExitBadInput);
  }
  if (names.size() < 2) {
    return context.fail({error_at({}, "hunt-nodes", "a hunt takes two nodes and more",
                                  "--nodes n[1-8] or --hosts FILE")},
                        kExitBadInput);
  }
  if (request.command.empty() && request.launcher.empty()) {
    return context.fail({error_at({}, "hunt-command", "nothing says how a pair is measured",
                                  "--launcher slurm, or --command 'CMD {first} {second}'")},
                        kExitInternal);
  }
  bench::HuntCommand command;
  command.command = command_of(request);
  command.parallel = !request.serial;
  if (request.strategy != "pairs" && command.command.find("{nodes}") == std::string::npos) {
    return context.fail(
        {error_at({}, "hunt-command", "the command starts a pair, and not a group of any size",
                  "--launcher slurm, or --command 'CMD {nodes}', or --strategy pairs")},
        kExitInternal);
  }
  constexpr std::size_t kFewestToHalve = 4;  // a half of one node measures no link
  if (request.strategy == "bisect" && names.size() < kFewestToHalve) {
    return context.fail(
        {error_at({}, "hunt-nodes", "a bisection takes four nodes and more", "--strategy pairs")},
        kExitBadInput);
  }
  const auto limit = parse_duration(request.limit);
  if (!limit || *limit <= 0) {
    return context.fail(
        {error_at({}, "duration", "\"" + request.limit + "\" is not a duration", "e.g. 120s")},
        kExitBadInput);
  }
  command.limit = std::chrono::milliseconds(static_cast<long long>(*limit * 1000));
  if (request.dry_run) return show_plan(context, request, names, command);
  catch_interrupts();
  const auto outcome = bench::run_hunt(
      names, command, strategy_of(request.strategy), request.all_pairs, settings, context.processes,
      [&context, &names](int round, const bench::HuntResult& result) {
        if (context.quiet) return;
        std::vector<std::string> slow;
        for (const bench::Slow& one : result.slow) {
          for (const int node : one.nodes) slow.push_back(names[static_cast<std::size_t>(node)]);
        }
        context.err << fmt::format(
            "round {}: {}\n", round + 1,
            slow.empty() ? "nothing is named yet" : fmt::format("slow: {}", fmt::join(slow, ", ")));
      });
  finish_hunt(context, request, names, outcome);
}

struct OrderRequest {
  std::string hosts, instances, as = "hosts", out;
  std::vector<std::string> topology;
  int slots = 8;
};

std::string order_text(const OrderRequest& request, const bench::RankOrder& order,
                       const std::map<std::string, std::string>& instances,
                       const bench::NetworkPaths& paths) {
  if (request.as == "openmpi") return bench::openmpi_host_file(order.hosts, request.slots);
  if (request.as == "rankfile") return bench::openmpi_rank_file(order.hosts, request.slots);
  if (request.as == "slurm-hostfile") return bench::slurm_host_file(order.hosts, request.slots);
  if (request.as == "topology.conf") return bench::slurm_topology(order.hosts, instances, paths);
  if (request.as == "topology.yaml")
    return bench::slurm_topology_yaml(order.hosts, instances, paths);
  return bench::host_file(order.hosts);
}

void order(Context& context, const OrderRequest& request) {
  Findings findings;
  const auto text = context.files.read(context.directory / request.hosts);
  if (!text) return context.fail(text.findings(), kExitBadInput);
  const auto hosts = bench::parse_hosts(*text, request.hosts, findings);
  bench::NetworkPaths paths;
  for (const std::string& file : request.topology) {
    const auto page = context.files.read(context.directory / file);
    if (!page) return context.fail(page.findings(), kExitBadInput);
    const std::size_t first = page->find_first_not_of(" \t\r\n");
    const bool json = first != std::string::npos && (*page)[first] == '{';
    if (const auto added = json ? bench::add_topology(*page, file, paths)
                                : bench::add_slurm_topology(*page, file, paths);
        !added)
      return context.fail(added.findings(), kExitBadInput);
  }
  std::map<std::string, std::string> instances;
  if (!request.instances.empty()) {
    const auto listed = context.files.read(context.directory / request.instances);
    if (!listed) return context.fail(listed.findings(), kExitBadInput);
    auto names = bench::parse_instance_names(*listed, request.instances);
    if (!names) return context.fail(names.findings(), kExitBadInput);
    instances = std::move(*names);
  }
  if (hosts.empty()) {
    return context.fail({error_at({request.hosts, 1, 1}, "order-hosts", "there is no host in it",
                                  "one name a line")},
                        kExitUnverified);
  }
  const bench::RankOrder result = bench::order_ranks(hosts, instances, paths);
  for (const std::string& host : result.unknown) {
    findings.push_back(warning_at({request.hosts, 0, 0}, "order-unknown",
                                  fmt::format("the topology does not hold {}", host),
                                  "it stands at the end"));
  }
  for (const Finding& finding : findings) context.err << to_string(finding) << '\n';
  const std::string order = order_text(request, result, instances, paths);
  if (!context.quiet) {
    context.err << fmt::format(
        "{} hosts below {} switches: {} ring edges crossed between them, {} do now\n", hosts.size(),
        result.groups, result.before, result.after);
  }
  if (!request.out.empty()) {
    if (const auto written = context.files.write(context.directory / request.out, order); !written)
      return context.fail(written.findings(), kExitInternal);
  }
  Output output;
  output.name = "bench order";
  output.data["hosts"] = result.hosts;
  output.data["unknown"] = result.unknown;
  output.data["groups"] = result.groups;
  output.data["crossings"] = {{"before", result.before}, {"after", result.after}};
  output.text = request.out.empty() ? order : request.out + "\n";
  context.print(output);
  if (context.exit_code == kExitOk && result.unknown.size() == hosts.size())
    context.exit_code = kExitUnverified;
}

}  // namespace

void add_hunt(CLI::App& bench, Context& context) {
  CLI::App* sub = bench.add_subcommand("hunt", "Which node, pair or link is slow");
  const auto request = std::make_shared<HuntRequest>();
  sub->add_option("--nodes", request->nodes, "Nodes, in Slurm's form: n[1-8],n12")
      ->type_name("LIST");
  sub->add_option("--hosts", request->hosts, "Nodes, one a line")->type_name("FILE");
  sub->add_option("--from", request->from, "Judge saved logs of pairs; nothing is run")
      ->type_name("LOG");
  sub->add_option("--launcher", request->launcher, "How a pair's benchmark is started")
      ->check(CLI::IsMember(std::vector<std::string>{"slurm", "mpirun"}))
      ->type_name("NAME");
  sub->add_option("--program", request->program,
                  std::string("With --launcher: the benchmark; default: ") + kDefaultProgram +
                      "; with --strategy alltoall: " + kDefaultAllToAll)
      ->type_name("CMD");
  sub->add_option("--ranks-per-node", request->ranks_per_node, "With --launcher; default: 1")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  sub->add_option("--command", request->command,
                  "A shell command for one group instead: {nodes} {count} {first} {second} {round} "
                  "{trial}")
      ->type_name("CMD");
  sub->add_option("--strategy", request->strategy,
                  "pairs: disjoint pairs, round by round; alltoall: one all-to-all that tells each "
                  "pair, and a round that confirms; bisect: halves; grow: groups that double")
      ->check(CLI::IsMember(std::vector<std::string>{"pairs", "alltoall", "bisect", "grow"}))
      ->type_name("NAME");
  sub->add_flag("--all-pairs", request->all_pairs,
                "Every pair once (n-1 rounds): finds a slow link between two good nodes as well");
  sub->add_option("--drop", request->drop,
                  "Percent below the median pair that make a node slow; default: 10")
      ->check(CLI::Range(1.0, 99.0))
      ->type_name("PERCENT");
  sub->add_option("--limit", request->limit, "Of one pair; default: 120s")->type_name("DURATION");
  sub->add_flag("--serial", request->serial, "One pair after the other");
  sub->add_flag("--dry-run", request->dry_run, "Show the rounds, run nothing");
  sub->add_flag("--no-record", request->no_record, "Leave no run behind");
  sub->footer(
      "Nothing is drained: the plan is shown. Exit codes: 0 none is slow, 3 some are, 4 not enough "
      "was measured.\n"
      "Examples:\n  muster bench hunt --nodes n[1-8] --launcher slurm --dry-run\n"
      "  muster bench hunt --from pair-*.log");
  sub->callback([&context, request] { hunt(context, *request); });
}

void add_order(CLI::App& bench, Context& context) {
  CLI::App* sub =
      bench.add_subcommand("order", "Hosts in the order in which ranks cross the fewest switches");
  const auto request = std::make_shared<OrderRequest>();
  sub->add_option("--hosts", request->hosts, "Hosts, one a line")->required()->type_name("FILE");
  sub->add_option("--topology", request->topology,
                  "Answers of aws ec2 describe-instance-topology, one file a page")
      ->required()
      ->type_name("JSON");
  sub->add_option("--instances", request->instances,
                  "Which instance a host is: the answer of aws ec2 describe-instances, or lines "
                  "\"HOST INSTANCE-ID\"; without it hosts are instance ids")
      ->type_name("FILE");
  sub->add_option("--as", request->as, "Form of the order; default: hosts")
      ->check(CLI::IsMember(std::vector<std::string>{
          "hosts", "openmpi", "rankfile", "slurm-hostfile", "topology.conf", "topology.yaml"}))
      ->type_name("FORM");
  sub->add_option("--ranks-per-node", request->slots, "For the forms that need it; default: 8")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  sub->add_option("--out", request->out, "Write there, not to standard output")->type_name("FILE");
  sub->footer(
      "Example:\n  muster bench order --hosts hosts --topology topology.json --as slurm-hostfile");
  sub->callback([&context, request] { order(context, *request); });
}

}  // namespace muster::cli
