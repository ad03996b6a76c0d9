// From options to a load: every value checked before anything is sent.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/schema.h"
#include "base/words.h"
#include "cli/load.h"

namespace muster::cli {
namespace {

Result<std::chrono::nanoseconds> time_option(const std::string& option, const std::string& text,
                                             bool zero_allowed) {
  const auto seconds = text == "0" ? std::optional<double>(0) : parse_duration(text);
  if (!seconds || *seconds < 0 || (*seconds == 0 && !zero_allowed) || *seconds > 86400) {
    return failure("load-duration", fmt::format("{}: \"{}\" is not a duration", option, text),
                   "e.g. 30s; at most 24h");
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*seconds * 1e9));
}

Result<std::string> load_file(const Context& context, const std::string& path) {
  return context.files.read(context.directory / path);
}

Result<void> understand_times(const LoadRequest& request, LoadPlan& plan) {
  const auto duration = time_option("--duration", request.duration, false);
  if (!duration) return duration.error();
  const auto warm_up = time_option("--warm-up", request.warm_up, true);
  if (!warm_up) return warm_up.error();
  const auto think = time_option("--think", request.think, true);
  if (!think) return think.error();
  const auto limit = time_option("--limit", request.limit, false);
  if (!limit) return limit.error();
  const auto lag = time_option("--lag", request.lag, false);
  if (!lag) return lag.error();
  if (*warm_up >= *duration) {
    return failure("load-duration", fmt::format("--warm-up {} leaves nothing of --duration {}",
                                                request.warm_up, request.duration));
  }
  plan.drive.duration = *duration;
  plan.drive.think = *think;
  plan.drive.request_limit = std::chrono::duration_cast<std::chrono::milliseconds>(*limit);
  plan.warm_up = *warm_up;
  plan.lag = *lag;
  return {};
}

Result<void> understand_workload(const Context& context, const LoadRequest& request,
                                 LoadPlan& plan) {
  load::Workload& workload = plan.drive.workload;
  const auto input = load::parse_lengths(request.input, "--input");
  if (!input) return input.error();
  const auto output = load::parse_lengths(request.output, "--output");
  if (!output) return output.error();
  workload.input = *input;
  workload.output = *output;
  workload.shared_prefix = request.shared_prefix;
  workload.prefix_groups = request.prefix_groups;
  workload.turns = request.turns;
  workload.seed = request.seed;
  if (!request.prompts.empty()) {
    const auto text = load_file(context, request.prompts);
    if (!text) return text.error();
    auto prompts = load::parse_prompts(*text, request.prompts);
    if (!prompts) return prompts.error();
    workload.prompts = std::move(*prompts);
    plan.workload["prompts"] = sha256(*text);
  } else {
    plan.workload["input"] = request.input;
  }
  plan.workload["output"] = request.output;
  plan.workload["shared_prefix"] = request.shared_prefix;
  plan.workload["prefix_groups"] = request.prefix_groups;
  plan.workload["turns"] = request.turns;
  plan.workload["seed"] = request.seed;
  return {};
}

Result<std::vector<int>> parse_sweep(const std::string& text) {
  std::vector<int> levels;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto level = whole(part);
    if (!level || *level < 1 || *level > 65536)
      return failure("load-sweep", fmt::format("--sweep: \"{}\" is no concurrency", part),
                     "auto, or numbers of users like 1,2,4,8");
    levels.push_back(static_cast<int>(*level));
  }
  if (levels.empty())
    return failure("load-sweep", "--sweep is empty", "auto, or numbers of users like 1,2,4,8");
  return levels;
}

/// How requests come: a closed loop, an open one, or several closed ones.
Result<void> understand_shape(const Context& context, const LoadRequest& request, LoadPlan& plan) {
  const int shapes = (request.concurrency > 0 ? 1 : 0) + (request.rate > 0 ? 1 : 0) +
                     (request.ramp.empty() ? 0 : 1) + (request.trace.empty() ? 0 : 1) +
                     (request.sweep.empty() ? 0 : 1);
  if (shapes > 1)
    return failure("load-shape",
                   "only one of --concurrency, --rate, --ramp, --trace and --sweep is possible");
  plan.drive.most_conversations = request.requests;
  plan.drive.concurrency = std::max(1, request.concurrency);
  if (!request.sweep.empty()) {
    plan.sweeps = true;
    plan.doubles = request.sweep == "auto";
    plan.workload["load"] = "sweep";
    if (plan.doubles) return {};
    auto levels = parse_sweep(request.sweep);
    if (!levels) return levels.error();
    plan.levels = std::move(*levels);
    return {};
  }
  if (request.rate <= 0 && request.ramp.empty() && request.trace.empty()) {
    plan.workload["load"] = "closed";
    return {};
  }
  plan.drive.open_loop = true;
  const double seconds = std::chrono::duration<double>(plan.drive.duration).count();
  Result<std::vector<load::Arrival>> arrivals = failure("load-shape", "no arrivals");
  if (!request.trace.empty()) {
    const auto text = load_file(context, request.trace);
    if (!text) return text.error();
    arrivals = load::parse_trace(*text, request.trace, request.speed);
    plan.workload["load"] = "trace " + sha256(*text);
    plan.workload["speed"] = request.speed;
  } else {
    double from = request.rate, to = request.rate;
    if (!request.ramp.empty()) {
      const std::size_t dash = request.ramp.find('-');
      const auto first = finite(std::string_view(request.ramp).substr(0, dash));
      const auto second = dash == std::string::npos
                              ? std::nullopt
                              : finite(std::string_view(request.ramp).substr(dash + 1));
      if (!first || !second)
        return failure("load-rate", fmt::format("--ramp: \"{}\" is no ramp", request.ramp),
                       "FROM-TO in requests a second, e.g. 1-20");
      from = *first;
      to = *second;
    }
    const auto process =
        request.arrivals == "constant" ? load::Process::kConstant : load::Process::kPoisson;
    arrivals = load::draw_arrivals(process, from, to, seconds, request.seed);
    plan.workload["load"] = fmt::format("{} {:g}-{:g}", request.arrivals, from, to);
  }
  if (!arrivals) return arrivals.error();
  plan.drive.arrivals = std::move(*arrivals);
  plan.rate =
      static_cast<double>(plan.drive.arrivals.size()) /
      std::max(1e-9,
               plan.drive.arrivals.empty()
                   ? seconds
                   : std::min(seconds, static_cast<double>(plan.drive.arrivals.back().at) / 1e9));
  return {};
}

Result<void> understand_server(const Context& context, const LoadRequest& request, LoadPlan& plan) {
  load::DriveOptions& drive = plan.drive;
  drive.server = request.server;
  while (drive.server.ends_with('/')) drive.server.pop_back();
  if (!drive.server.starts_with("http://") && !drive.server.starts_with("https://"))
    return failure("load-server", fmt::format("\"{}\" is no address", request.server),
                   "http://HOST:PORT");
  drive.path = request.path;
  if (!drive.path.empty() && drive.path.front() != '/') drive.path.insert(0, "/");
  drive.dialect.api = *load::parse_api(request.api);  // the option's own check has passed
  drive.dialect.model = request.model;
  drive.dialect.stream = !request.no_stream;
  drive.dialect.ignore_eos = request.ignore_eos;
  const bool needs_model = request.api == "chat" || request.api == "completions" ||
                           (request.api == "kserve" && request.path.empty());
  if (needs_model && request.model.empty())
    return failure("load-model", "--model is missing", "the name that the server knows it by");
  if (!request.extra.empty()) {
    auto extra = nlohmann::json::parse(request.extra, nullptr, false);
    if (!extra.is_object())
      return failure("load-extra", "--extra is no JSON object", "--extra '{\"top_p\": 0.9}'");
    drive.dialect.extra = std::move(extra);
    plan.workload["extra"] = drive.dialect.extra;
  }
  for (const std::string& header : request.headers) {
    const std::size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos ||
        header.find_first_of("\r\n") != std::string::npos)
      return failure("load-header", "--header wants \"NAME: VALUE\"");
    drive.headers.emplace_back(header.substr(0, colon), trimmed(header.substr(colon + 1)));
  }
  if (!request.key_variable.empty()) {
    const auto found = context.environment.find(request.key_variable);
    if (found == context.environment.end() || found->second.empty())
      return failure("load-key",
                     fmt::format("the environment variable {} is not set", request.key_variable));
    drive.headers.emplace_back("Authorization", "Bearer " + found->second);
  }
  plan.workload["api"] = request.api;
  plan.workload["model"] = request.model;
  plan.workload["stream"] = !request.no_stream;
  return {};
}

}  // namespace

Result<LoadPlan> understand(const Context& context, const LoadRequest& request) {
  LoadPlan plan;
  plan.workload = nlohmann::ordered_json::object();
  const auto slo = request.slo.empty() ? Result<load::Objectives>(load::Objectives())
                                       : load::parse_objectives(request.slo);
  if (!slo) return slo.error();
  plan.objectives = *slo;
  if (const auto server = understand_server(context, request, plan); !server) return server.error();
  if (const auto times = understand_times(request, plan); !times) return times.error();
  if (const auto workload = understand_workload(context, request, plan); !workload)
    return workload.error();
  if (const auto shape = understand_shape(context, request, plan); !shape) return shape.error();
  if (!request.against.empty()) {
    const auto text = load_file(context, request.against);
    if (!text) return text.error();
    plan.before = nlohmann::json::parse(*text, nullptr, false);
    if (plan.before.is_discarded())
      return Failure(error_at({request.against, 1, 1}, "load-compare", "not JSON",
                              "a file that --out has written"));
  }
  return plan;
}

}  // namespace muster::cli
