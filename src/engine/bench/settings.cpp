#include "engine/bench/settings.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace muster::measure {
namespace {

Finding bad(const char* option, const std::string& what, const std::string& right) {
  return error_at({}, "bench-option", fmt::format("{}: {}", option, what), right);
}

/// Options of GPUs' programs that mean nothing here: refused when asked for more than nothing.
void refuse_gpu_options(const Settings& settings, Findings& findings) {
  constexpr const char* kReason =
      "one rank is one process of the CPU: start more ranks, with mpirun or srun";
  if (settings.gpus != 1) findings.push_back(bad("-g", "more than one GPU a rank", kReason));
  if (settings.threads != 1) findings.push_back(bad("-t", "more than one thread a rank", kReason));
  const std::pair<const char*, int> none[] = {
      {"-z", settings.blocking}, {"-G", settings.graphs}, {"-R", settings.registered}};
  for (const auto& [option, value] : none) {
    if (value != 0)
      findings.push_back(bad(option,
                             "there are no CUDA streams, graphs or registered buffers on CPUs",
                             "leave it out"));
  }
}

std::optional<std::size_t> size_option(const char* option, const std::string& text,
                                       Findings& findings) {
  const auto size = parse_size(text);
  if (!size)
    findings.push_back(bad(option, "not a size: " + text, "bytes, or with k, M or G, as in 32M"));
  return size;
}

std::vector<std::size_t> sizes_between(const Sweep& sweep) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = sweep.min_bytes; size <= sweep.max_bytes;) {
    sizes.push_back(size);
    const auto next =
        sweep.step_factor > 1
            ? static_cast<std::size_t>(std::floor(static_cast<double>(size) * sweep.step_factor))
            : size + sweep.step_bytes;
    if (next <= size) break;
    size = next;
  }
  return sizes;
}

}  // namespace

std::optional<FabricKind> fabric_kind(std::string_view name) {
  constexpr std::pair<std::string_view, FabricKind> kKinds[] = {{"auto", FabricKind::kAuto},
                                                                {"mpi", FabricKind::kMpi},
                                                                {"nccl", FabricKind::kNccl},
                                                                {"gloo", FabricKind::kGloo}};
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

void add_options(CLI::App& app, Settings& s) {
  app.add_option("-b,--minbytes", s.min_bytes, "Smallest size; k, M and G are binary")
      ->capture_default_str();
  app.add_option("-e,--maxbytes", s.max_bytes, "Largest size")->capture_default_str();
  auto* step =
      app.add_option("-i,--stepbytes", s.step_bytes, "Step between sizes")->capture_default_str();
  app.add_option("-f,--stepfactor", s.step_factor, "Factor between sizes, instead of a step")
      ->excludes(step);
  app.add_option("-n,--iters", s.iterations, "Timed iterations")->capture_default_str();
  app.add_option("-w,--warmup_iters", s.warmup, "Iterations before the timed ones")
      ->capture_default_str();
  app.add_option("-m,--agg_iters", s.aggregated, "Operations in one iteration")
      ->capture_default_str();
  app.add_option("-N,--run_cycles", s.cycles,
                 "Runs of the whole sweep; 0: until --duration is over")
      ->capture_default_str();
  app.add_option("--duration", s.duration, "Seconds after which no further cycle begins");
  app.add_option("-c,--check", s.checks, "Iterations that are checked on every rank; 0: none")
      ->capture_default_str();
  app.add_option("-o,--op", s.reduction, "sum, prod, min, max, avg, mulsum or all")
      ->capture_default_str();
  app.add_option("-d,--datatype", s.type,
                 "float, bfloat16, half, double, int8, …, f8e4m3, f8e5m2 or all")
      ->capture_default_str();
  app.add_option("-r,--root", s.root, "Root of rooted operations; -1: each rank in turn")
      ->capture_default_str();
  app.add_option("-T,--timeout", s.time_limit,
                 "Seconds that a rank may wait for the others, start-up included")
      ->capture_default_str();
  app.add_option("-a,--average", s.average, "Time of the ranks: 0 rank 0's, 1 mean, 2 min, 3 max")
      ->capture_default_str();
  app.add_flag("-C,--report_cputime{1}", s.cpu_time, "Report CPU time instead of elapsed time");
  app.add_flag("-S,--report_timestamps{1}", s.timestamps, "Print when each size was done");
  app.add_option("-J,--output_file", s.json, "Write the result as JSON, too");
  app.add_option("-t,--nthreads", s.threads, "Threads per rank: 1 on CPUs")->capture_default_str();
  app.add_option("-g,--ngpus", s.gpus, "GPUs per thread: 1 stands for the CPU")
      ->capture_default_str();
  app.add_option("-z,--blocking", s.blocking, "0 on CPUs")->capture_default_str();
  app.add_option("-G,--cudagraph", s.graphs, "0 on CPUs")->capture_default_str();
  app.add_option("-R,--local_register", s.registered, "0 on CPUs")->capture_default_str();
  app.add_option("-p,--parallel_init", s.parallel_init, "Accepted; ranks always start in parallel");
  app.add_option("-y,--stream_null", s.null_stream, "Accepted; CPUs have no streams");
}

std::optional<std::size_t> parse_size(const std::string& text) {
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  int shift = 0;
  if (rest != end) {
    if (rest + 1 != end) return std::nullopt;
    switch (*rest) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        return std::nullopt;
    }
  }
  if (value > (std::size_t{1} << 50) >> shift) return std::nullopt;
  return value << shift;
}

Result<Sweep> make_sweep(Operation operation, const Settings& settings, std::optional<int> ranks) {
  Findings findings;
  Sweep sweep;
  sweep.operation = operation;
  refuse_gpu_options(settings, findings);
  const auto smallest = size_option("-b", settings.min_bytes, findings);
  const auto largest = size_option("-e", settings.max_bytes, findings);
  const auto step = size_option("-i", settings.step_bytes, findings);
  if (smallest && largest && *smallest > *largest)
    findings.push_back(bad("-b", "the smallest size is above the largest", "-b at most -e"));
  if (settings.step_factor != 0 && settings.step_factor <= 1)
    findings.push_back(bad("-f", fmt::format("{} does not grow", settings.step_factor), "above 1"));
  if (step && *step == 0 && settings.step_factor == 0)
    findings.push_back(bad("-i", "0 does not grow", "above 0, or -f"));
  const auto at_least = [&](const char* option, long value, long least) {
    if (value < least)
      findings.push_back(bad(option, fmt::format("{}", value), fmt::format("{} or more", least)));
  };
  at_least("-n", settings.iterations, 1);
  at_least("-w", settings.warmup, 0);
  at_least("-m", settings.aggregated, 1);
  at_least("-c", settings.checks, 0);
  at_least("-N", settings.cycles, 0);
  if (settings.cycles == 0 && settings.duration <= 0)
    findings.push_back(bad("-N", "0 would never end", "--duration SECONDS with it"));
  if (settings.duration < 0) findings.push_back(bad("--duration", "below 0", "seconds above 0"));
  if (!(settings.time_limit > 0))
    findings.push_back(bad("-T", fmt::format("{}: every wait has a limit", settings.time_limit),
                           "seconds above 0"));
  if (settings.average < 0 || settings.average > 3)
    findings.push_back(bad("-a", fmt::format("{}", settings.average), "0, 1, 2 or 3"));

  if (!fabric_kind(settings.fabric))
    findings.push_back(
        bad("--fabric", "no such fabric: " + settings.fabric, "auto, mpi, gloo or nccl"));
  if (settings.type == "all") {
    sweep.types = all_data_types();
  } else if (const auto type = data_type(settings.type)) {
    sweep.types = {*type};
  } else {
    findings.push_back(
        bad("-d", "no such type: " + settings.type, "float, bfloat16, half, … or all"));
  }
  if (!reduces(operation)) {
    sweep.reductions = {Reduction::kSum};
  } else if (settings.reduction == "all") {
    sweep.reductions = {Reduction::kSum, Reduction::kProd, Reduction::kMin,
                        Reduction::kMax, Reduction::kAvg,  Reduction::kMulSum};
  } else if (const auto how = reduction(settings.reduction)) {
    sweep.reductions = {*how};
  } else {
    findings.push_back(bad("-o", "no such reduction: " + settings.reduction,
                           "sum, prod, min, max, avg, mulsum or all"));
  }
  if (!is_rooted(operation)) {
    sweep.roots = {0};
  } else if (ranks && settings.root == -1) {
    for (int r = 0; r < *ranks; ++r) sweep.roots.push_back(r);
  } else if (ranks && settings.root >= 0 && settings.root < *ranks) {
    sweep.roots = {settings.root};
  } else if (ranks) {
    findings.push_back(bad("-r", fmt::format("no rank {} of {}", settings.root, *ranks),
                           fmt::format("0 to {}, or -1 for each in turn", *ranks - 1)));
  }
  if (!findings.empty()) return Failure{std::move(findings)};

  sweep.min_bytes = *smallest;
  sweep.max_bytes = *largest;
  sweep.step_bytes = *step;
  sweep.step_factor = settings.step_factor;
  sweep.sizes = sizes_between(sweep);
  sweep.iterations = settings.iterations;
  sweep.warmup = settings.warmup;
  sweep.aggregated = settings.aggregated;
  sweep.checks = settings.checks;
  sweep.cycles = settings.cycles;
  sweep.time_limit = std::chrono::milliseconds(static_cast<long>(settings.time_limit * 1000));
  if (settings.duration > 0)
    sweep.duration = std::chrono::milliseconds(static_cast<long>(settings.duration * 1000));
  sweep.average = settings.average;
  sweep.cpu_time = settings.cpu_time;
  sweep.timestamps = settings.timestamps;
  sweep.fabric = *fabric_kind(settings.fabric);
  sweep.json = settings.json;
  return sweep;
}

}  // namespace muster::measure
