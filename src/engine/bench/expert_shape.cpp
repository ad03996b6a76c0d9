#include "engine/bench/expert_shape.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace muster::measure {
namespace {

Finding bad(const char* option, const std::string& what, const std::string& right) {
  return error_at({}, "bench-option", fmt::format("{}: {}", option, what), right);
}

/// Values of a scale share an exponent: DeepEP's blocks of 128 channels.
constexpr int kBlock = 128;

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool read_number(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

void check_numbers(const ExpertSettings& settings, const ExpertShape& shape, Findings& findings) {
  const auto between = [&](const char* option, long value, long least, long most) {
    if (value < least || value > most)
      findings.push_back(
          bad(option, fmt::format("{}", value), fmt::format("{} to {}", least, most)));
  };
  between("--num-tokens", shape.tokens, 1, 1 << 20);
  between("--hidden", shape.hidden, kBlock, 1 << 17);
  if (shape.hidden % kBlock != 0)
    findings.push_back(
        bad("--hidden", fmt::format("{} is no multiple of {}", shape.hidden, kBlock),
            fmt::format("a multiple of {}: FP8 has a scale for each {} channels", kBlock, kBlock)));
  between("--num-experts", shape.experts, 1, 1 << 16);
  between("--num-topk", shape.top_k, 1, std::min(64, std::max(1, shape.experts)));
  between("--masked", shape.masked, 0, static_cast<long>(shape.tokens) * shape.top_k);
  between("-n", settings.iterations, 1, 1 << 20);
  between("-w", settings.warmup, 0, 1 << 20);
  between("-c", settings.checks, 0, 1 << 20);
  between("--ranks-per-node", settings.ranks_per_node, 0, 1 << 16);
  if (!(settings.time_limit > 0))
    findings.push_back(bad("-T", fmt::format("{}: every wait has a limit", settings.time_limit),
                           "seconds above 0"));
}

void check_ranks(const ExpertShape& shape, Findings& findings) {
  if (shape.experts % shape.ranks != 0)
    findings.push_back(bad(
        "--num-experts",
        fmt::format("{} experts do not spread evenly over {} ranks", shape.experts, shape.ranks),
        "a multiple of the number of ranks"));
  if (shape.groups < 1 || shape.groups > shape.nodes) {
    findings.push_back(bad("--num-topk-groups", fmt::format("{}", shape.groups),
                           fmt::format("1 to {}, the number of nodes", shape.nodes)));
  } else if (shape.top_k > shape.groups * (shape.experts / shape.nodes)) {
    findings.push_back(bad("--num-topk",
                           fmt::format("{} experts do not fit on {} node(s) of {} experts",
                                       shape.top_k, shape.groups, shape.experts / shape.nodes),
                           "fewer experts a token, or more groups"));
  }
}

}  // namespace

Result<Skew> parse_skew(const std::string& text) {
  const auto wrong = [&text] {
    return Failure{{bad("--routing", "not a way to route: " + text,
                        "uniform, zipf, zipf:EXPONENT, hot or hot:EXPERTS:SHARE")}};
  };
  const std::vector<std::string> parts = parts_of(text);
  Skew skew;
  if (parts[0] == "uniform" && parts.size() == 1) return skew;
  if (parts[0] == "zipf" && parts.size() <= 2) {
    skew.kind = Skew::Kind::kZipf;
    if (parts.size() == 2 && !read_number(parts[1], skew.exponent)) return wrong();
    if (!(skew.exponent >= 0) || skew.exponent > 8) return wrong();
    return skew;
  }
  if (parts[0] == "hot" && (parts.size() == 1 || parts.size() == 3)) {
    skew.kind = Skew::Kind::kHot;
    double count = skew.hot_experts;
    if (parts.size() == 3 &&
        (!read_number(parts[1], count) || !read_number(parts[2], skew.hot_share)))
      return wrong();
    if (!(count >= 1) || count > 1e5 || !(skew.hot_share > 0) || skew.hot_share >= 1)
      return wrong();
    skew.hot_experts = static_cast<int>(count);
    return skew;
  }
  return wrong();
}

std::string to_string(const Skew& skew) {
  switch (skew.kind) {
    case Skew::Kind::kUniform:
      return "uniform";
    case Skew::Kind::kZipf:
      return fmt::format("zipf:{:g}", skew.exponent);
    case Skew::Kind::kHot:
      return fmt::format("hot:{}:{:g}", skew.hot_experts, skew.hot_share);
  }
  return {};
}

void add_options(CLI::App& app, ExpertSettings& s) {
  app.add_option("operation", s.operation, "dispatch, combine or both")->capture_default_str();
  app.add_flag("--low-latency", s.low_latency,
               "Fixed slots for each expert and rank, written one-sidedly; else the normal form");
  app.add_option("--num-tokens", s.tokens, "Tokens of each rank; 4096, low-latency 128");
  app.add_option("--hidden", s.hidden, "Channels of a token")->capture_default_str();
  app.add_option("--num-topk", s.top_k, "Experts of a token")->capture_default_str();
  app.add_option("--num-experts", s.experts, "Experts of all ranks; 256, low-latency 288");
  app.add_option("--num-topk-groups", s.groups,
                 "Nodes that a token's experts may lie on; as many as there are, at most 4");
  app.add_option("-d,--dtype", s.payload,
                 "Of dispatch: bf16, or fp8 with a scale for each 128 channels; combine is bf16")
      ->capture_default_str();
  app.add_option("--routing", s.routing,
                 "uniform, zipf:EXPONENT, or hot:EXPERTS:SHARE, whose few draw that share")
      ->capture_default_str();
  app.add_option("--masked", s.masked, "Selections of each rank that are void")
      ->capture_default_str();
  app.add_option("--seed", s.seed, "Of routing and data")->capture_default_str();
  app.add_option("--path", s.path,
                 "hierarchical: shared memory within a node, and across a token once for each "
                 "node; alltoallv: MPI_Alltoallv for all")
      ->capture_default_str();
  app.add_option("--ranks-per-node", s.ranks_per_node,
                 "So many ranks are a node; 0: those of one host")
      ->capture_default_str();
  app.add_flag("--against-alltoallv", s.against_alltoallv,
               "After each iteration, a bare MPI_Alltoallv of the same bytes");
  app.add_flag("--per-rank", s.per_rank, "A row for each rank, too");
  app.add_option("-n,--iters", s.iterations, "Timed iterations")->capture_default_str();
  app.add_option("-w,--warmup_iters", s.warmup, "Iterations before the timed ones")
      ->capture_default_str();
  app.add_option("-c,--check", s.checks, "Iterations that are checked on every rank; 0: none")
      ->capture_default_str();
  app.add_option("-T,--timeout", s.time_limit,
                 "Seconds that a rank may wait for the others, start-up included")
      ->capture_default_str();
  app.add_option("-J,--output_file", s.json, "Write the records as JSON, too");
}

Placement place(const std::vector<Seat>& seats, int ranks_per_node) {
  Placement placement;
  std::map<std::pair<std::string, int>, int> nodes;
  std::map<std::string, int> seen;  // ranks of a host so far
  for (const Seat& seat : seats) {
    const int part = ranks_per_node > 0 ? seen[seat.host] / ranks_per_node : 0;
    ++seen[seat.host];
    const auto [node, fresh] =
        nodes.emplace(std::pair{seat.host, part}, static_cast<int>(placement.ranks_at.size()));
    if (fresh) placement.ranks_at.emplace_back();
    std::vector<int>& ranks = placement.ranks_at[static_cast<std::size_t>(node->second)];
    placement.node_of.push_back(node->second);
    placement.local_of.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(seat.rank);
  }
  return placement;
}

Result<ExpertPlan> make_plan(const ExpertSettings& settings, int ranks, int nodes) {
  Findings findings;
  ExpertPlan plan;
  ExpertShape& shape = plan.shape;
  shape.tokens = settings.tokens >= 0 ? settings.tokens : settings.low_latency ? 128 : 4096;
  shape.experts = settings.experts >= 0 ? settings.experts : settings.low_latency ? 288 : 256;
  shape.hidden = settings.hidden;
  shape.top_k = settings.top_k;
  shape.masked = settings.masked;
  shape.ranks = std::max(1, ranks);
  shape.nodes = std::max(1, nodes);
  shape.groups = settings.groups >= 0 ? settings.groups : std::min(shape.nodes, 4);
  check_numbers(settings, shape, findings);
  if (ranks > 0 && findings.empty()) check_ranks(shape, findings);

  if (settings.operation != "dispatch" && settings.operation != "combine" &&
      settings.operation != "both")
    findings.push_back(
        bad("operation", "no such operation: " + settings.operation, "dispatch, combine or both"));
  if (settings.payload == "fp8" || settings.payload == "f8e4m3") {
    shape.payload = bench::Payload::kFp8;
  } else if (settings.payload != "bf16" && settings.payload != "bfloat16") {
    findings.push_back(bad("-d", "no such payload: " + settings.payload, "bf16 or fp8"));
  }
  if (settings.path == "alltoallv") {
    plan.path = ExpertPath::kAllToAllV;
    if (settings.low_latency)
      findings.push_back(
          bad("--path", "the low-latency form writes into slots", "hierarchical, or leave it out"));
  } else if (settings.path != "hierarchical") {
    findings.push_back(
        bad("--path", "no such path: " + settings.path, "hierarchical or alltoallv"));
  }
  if (const auto skew = parse_skew(settings.routing)) {
    shape.skew = *skew;
    if (skew->kind == Skew::Kind::kHot && skew->hot_experts >= shape.experts)
      findings.push_back(bad("--routing", "all experts are hot",
                             fmt::format("fewer than {} hot experts", shape.experts)));
  } else {
    findings.insert(findings.end(), skew.findings().begin(), skew.findings().end());
  }
  if (!findings.empty()) return Failure{std::move(findings)};

  plan.dispatch = settings.operation != "combine";
  plan.combine = settings.operation != "dispatch";
  plan.low_latency = settings.low_latency;
  plan.against_alltoallv = settings.against_alltoallv;
  plan.per_rank = settings.per_rank;
  plan.seed = settings.seed;
  plan.iterations = settings.iterations;
  plan.warmup = settings.warmup;
  plan.checks = settings.checks;
  plan.time_limit = std::chrono::milliseconds(static_cast<long>(settings.time_limit * 1000));
  plan.json = settings.json;
  return plan;
}

}  // namespace muster::measure
