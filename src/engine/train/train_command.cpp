#include "engine/train/train_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/verdict.h"
#include "engine/train/device.h"
#include "engine/train/process_info.h"
#include "engine/train/step_trace.h"
#include "engine/train/trainer.h"

namespace muster::train {

using nlohmann::json;

namespace {

comm::Transport transport_of(const std::string& name) {
  if (name == "mpi") return comm::Transport::kMpi;
  if (name == "gloo") return comm::Transport::kGloo;
  if (name == "nccl") return comm::Transport::kNccl;
  if (name == "single") return comm::Transport::kSingle;
  return comm::Transport::kAuto;
}

json ranks_of(const std::vector<comm::Member>& members) {
  json ranks = json::array();
  for (const comm::Member& member : members) ranks.push_back(member.rank);
  return ranks;
}

json missing_of(const std::vector<comm::Member>& members) {
  json missing = json::array();
  for (const comm::Member& member : members)
    missing.push_back({{"rank", member.rank}, {"host", member.host}});
  return missing;
}

// Trains, and turns what the transport throws into the record and the end of the whole job.
int train_on(const Settings& settings, const std::shared_ptr<comm::Communicator>& comm,
             runs::EventWriter& events, const std::shared_ptr<StepTrace>& trace) {
  const comm::Member me = comm->members()[static_cast<std::size_t>(comm->rank())];
  const auto complain = [&](const std::string& message) {
    std::fprintf(stderr, "error: rank %d on %s: %s\n", me.rank, me.host.c_str(), message.c_str());
  };
  int failed = kExitInternal;
  try {
    Trainer trainer(settings, comm, events, trace);
    const int code = trainer.run();
    comm->barrier()->wait();  // a launcher ends the others when the first leaves with an error
    return code;
  } catch (const comm::Timeout& timeout) {
    events.write({{"event", "error"},
                  {"kind", "timeout"},
                  {"message", timeout.what()},
                  {"operation", timeout.operation()},
                  {"missing", missing_of(timeout.missing())},
                  {"waiting", ranks_of(timeout.waiting())}});
    complain(timeout.what());
    failed = kExitTimeLimit;
  } catch (const comm::Error& error) {
    events.write(
        {{"event", "error"}, {"kind", "comm"}, {"message", error.what()}, {"operation", ""}});
    complain(error.what());
  } catch (const std::exception& error) {
    events.write(
        {{"event", "error"}, {"kind", "internal"}, {"message", error.what()}, {"operation", ""}});
    complain(error.what());
  }
  if (trace) trace->finish();
  comm->abort(failed);
  return failed;
}

}  // namespace

int run_training(const Settings& settings) {
  // Without a job there is nobody to agree with: what is wrong with the options alone is said
  // before joining one.
  if (const Findings findings = check(settings); !findings.empty()) {
    std::fprintf(stderr, "%s\n", to_text(findings).c_str());
    return kExitBadInput;
  }
  const auto device = take_device(settings);
  if (!device) {
    std::fprintf(stderr, "%s\n", to_text(device.findings()).c_str());
    return kExitBadInput;
  }
  catch_stop_signals();
  comm::Options options;
  options.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(settings.comm_timeout * 1000));
  options.deterministic = settings.deterministic;
  std::shared_ptr<StepTrace> trace;
  if (!settings.trace.empty())
    trace = std::make_shared<StepTrace>(settings.trace, *parse_step_range(settings.trace_steps));
  options.observer = trace;
  std::shared_ptr<comm::Communicator> comm;
  try {
    comm = comm::connect(transport_of(settings.transport), options, *device);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return kExitInternal;
  }
  runs::EventWriter events(settings.metrics.empty()
                               ? std::string()
                               : runs::metrics_file(settings.metrics.string(), comm->rank()));
  return train_on(settings, comm, events, trace);
}

}  // namespace muster::train
