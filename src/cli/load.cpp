// muster load: load on an inference server, measured and judged.
#include "cli/load.h"

#include <CLI/CLI.hpp>

namespace muster::cli {
namespace {

void add_shape_options(CLI::App& sub, LoadRequest& request) {
  sub.add_option("--concurrency", request.concurrency,
                 "Closed loop: users with one request at a time each; default: 1")
      ->check(CLI::Range(1, 65536))
      ->type_name("N")
      ->group("Shape of the load");
  sub.add_option("--rate", request.rate,
                 "Open loop: conversations begun a second, however slow the "
                 "answers")
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("R")
      ->group("Shape of the load");
  sub.add_option("--ramp", request.ramp, "Open loop at a rate that goes from FROM to TO")
      ->type_name("FROM-TO")
      ->group("Shape of the load");
  sub.add_option("--arrivals", request.arrivals,
                 "Of an open loop: poisson or constant; default: poisson")
      ->check(CLI::IsMember({"poisson", "constant"}))
      ->type_name("KIND")
      ->group("Shape of the load");
  sub.add_option("--trace", request.trace,
                 "Open loop: times and lengths of a trace, JSON lines (timestamp, input_length, "
                 "output_length) or CSV (TIMESTAMP, ContextTokens, GeneratedTokens)")
      ->type_name("FILE")
      ->group("Shape of the load");
  sub.add_option("--speed", request.speed, "Plays a trace so many times faster; default: 1")
      ->check(CLI::Range(0.001, 1000.0))
      ->type_name("X")
      ->group("Shape of the load");
  sub.add_option("--sweep", request.sweep,
                 "One closed loop after another, and where more users stop paying: auto (doubling) "
                 "or numbers of users")
      ->type_name("auto|N,N…")
      ->group("Shape of the load");
  sub.add_option("--duration", request.duration,
                 "Of one load; no request begins after it; default: 30s")
      ->type_name("DURATION")
      ->group("Shape of the load");
  sub.add_option("--warm-up", request.warm_up,
                 "Part of the duration that does not count; default: 0s")
      ->type_name("DURATION")
      ->group("Shape of the load");
  sub.add_option("--requests", request.requests,
                 "At most so many conversations; default: no limit but the duration")
      ->type_name("N")
      ->group("Shape of the load");
  sub.add_option("--limit", request.limit, "Of one request; default: 120s")
      ->type_name("DURATION")
      ->group("Shape of the load");
}

void add_workload_options(CLI::App& sub, LoadRequest& request) {
  constexpr const char* kGroup = "Requests";
  sub.add_option("--api", request.api,
                 "chat, completions (OpenAI), kserve (Triton's generate), tgi, invocations "
                 "(SageMaker); default: chat")
      ->check(CLI::IsMember(load::api_names()))
      ->type_name("API")
      ->group(kGroup);
  sub.add_option("--path", request.path, "Instead of the interface's own path")
      ->type_name("PATH")
      ->group(kGroup);
  sub.add_flag("--no-stream", request.no_stream, "Whole answers: no time to first token")
      ->group(kGroup);
  sub.add_option("--input", request.input,
                 "Words of a prompt: 128, 64-256, normal:MEAN,SIGMA, lognormal:MEDIAN,SIGMA; "
                 "default: 128")
      ->type_name("LENGTHS")
      ->group(kGroup);
  sub.add_option("--output", request.output, "Tokens asked for, alike; default: 64")
      ->type_name("LENGTHS")
      ->group(kGroup);
  sub.add_option("--prompts", request.prompts,
                 "Prompts in turn: one a line, or JSON lines with prompt and max_tokens")
      ->type_name("FILE")
      ->group(kGroup);
  sub.add_option("--shared-prefix", request.shared_prefix,
                 "Words at the start that conversations of a group share")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N")
      ->group(kGroup);
  sub.add_option("--prefix-groups", request.prefix_groups, "Different prefixes; default: 1")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->group(kGroup);
  sub.add_option("--turns", request.turns, "Of a conversation; default: 1")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->group(kGroup);
  sub.add_option("--think", request.think, "Between an answer and the next turn; default: 0s")
      ->type_name("DURATION")
      ->group(kGroup);
  sub.add_flag("--ignore-eos", request.ignore_eos,
               "Asks for exactly the tokens (an extension of vLLM and SGLang)")
      ->group(kGroup);
  sub.add_option("--extra", request.extra, "Members to put into each request")
      ->type_name("JSON")
      ->group(kGroup);
  sub.add_option("--header", request.headers, "Header of each request; repeatable")
      ->type_name("'NAME: VALUE'")
      ->group(kGroup);
  sub.add_option("--key-from", request.key_variable,
                 "Environment variable with the key, sent as a bearer token")
      ->type_name("VARIABLE")
      ->group(kGroup);
  sub.add_option("--seed", request.seed, "Of lengths, words and arrivals; default: 1")
      ->type_name("N")
      ->group(kGroup);
}

void add_judgement_options(CLI::App& sub, LoadRequest& request) {
  constexpr const char* kGroup = "Judgement and results";
  sub.add_option("--slo", request.slo, "What a good request keeps: ttft=500ms,tpot=50ms,e2e=10s")
      ->type_name("OBJECTIVES")
      ->group(kGroup);
  sub.add_option("--slo-share", request.slo_share,
                 "Share of good requests that passes; default: 99")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT")
      ->group(kGroup);
  sub.add_option("--lag", request.lag,
                 "What the generator's own loop may take; above, its latencies are unknown; "
                 "default: 5ms")
      ->type_name("DURATION")
      ->group(kGroup);
  sub.add_option("--accelerators", request.accelerators, "That serve: for tokens/s of each")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->group(kGroup);
  sub.add_option("--out", request.out, "Writes the result as JSON")
      ->type_name("FILE")
      ->group(kGroup);
  sub.add_option("--samples", request.samples, "Writes every request as JSON lines")
      ->type_name("FILE")
      ->group(kGroup);
  sub.add_option("--against", request.against, "An earlier result (--out) to compare with")
      ->type_name("FILE")
      ->group(kGroup);
  sub.add_option("--tolerance", request.tolerance, "What may get worse against it; default: 10")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PERCENT")
      ->group(kGroup);
  sub.add_flag("--record", request.record, "Keeps the load among the runs, for muster report")
      ->group(kGroup);
}

}  // namespace

void add_load(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("load", "Load on an inference server, measured and judged");
  sub->group("Benchmarks");
  const auto request = std::make_shared<LoadRequest>();
  sub->add_option("server", request->server, "Its address, e.g. http://127.0.0.1:8000")
      ->required()
      ->type_name("URL");
  sub->add_option("--model", request->model, "The name that the server knows it by")
      ->type_name("NAME");
  add_shape_options(*sub, *request);
  add_workload_options(*sub, *request);
  add_judgement_options(*sub, *request);
  sub->footer(
      "Latencies count from when a request was due, not from when it could be sent.\n"
      "Exit code 3: a request failed or the objectives were missed; 4: nobody answered, or the\n"
      "generator itself was too slow to measure.\n"
      "Examples:\n  muster load http://127.0.0.1:8000 --model llama --concurrency 8\n"
      "  muster load http://127.0.0.1:8000 --model llama --sweep auto --slo ttft=500ms,tpot=50ms");
  sub->callback([&context, request] { run_load(context, *request); });
}

}  // namespace muster::cli
