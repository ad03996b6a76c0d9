#include "architectures/deploy.h"

#include <algorithm>

#include <fmt/format.h>

#include "architectures/clusters.h"
#include "architectures/deploy_common.h"

namespace muster::architectures {
namespace {

constexpr std::chrono::milliseconds kFirstPause{2000}, kLongestPause{15000};

class Deployment : ClusterWork {
 public:
  using ClusterWork::ClusterWork;

  ClusterReport run() {
    if (take_foreign_outputs()) {
      for (const PlannedStack& stack : plan_.stacks) {
        if (!stand_up(stack)) break;
      }
    }
    if (report_.code == kExitOk) write_documents();
    if (report_.code == kExitOk) check_seen();
    return std::move(report_);
  }

 private:
  bool stand_up(const PlannedStack& stack) {
    if (!has_inputs(stack)) return false;
    const std::string parameters = parameters_json(stack, outputs_);
    StackRequest request;
    request.name = stack.name;
    request.template_file = options_.state / stack.file;
    request.parameters_file = options_.state / (stack.id + ".parameters.json");
    request.capabilities = stack.capabilities;
    const std::string digest = digest_of(stack, parameters);
    request.tags = {{kClusterTag, plan_.cluster.name}, {kDigestTag, digest}};
    for (const auto& [path, text] : {std::pair{request.template_file, stack.template_text},
                                     std::pair{request.parameters_file, parameters}}) {
      const auto written = seams_.files.write(path, text);
      if (!written) return fail(written.findings(), kExitInternal);
    }
    StackStanding standing;
    standing.name = stack.name;
    standing.keeps = stack.keeps;
    const bool done = bring_to(request, digest, standing);
    if (done) see_resources(standing);
    report_.stacks.push_back(std::move(standing));
    return done;
  }

  /// Looks, does the next thing, and looks again, until the stack is what was asked for.
  bool bring_to(const StackRequest& request, const std::string& digest, StackStanding& standing) {
    const auto until = seams_.clock.steady() + options_.limit;
    auto pause = kFirstPause;
    bool asked = false;  // created or updated by this call
    while (true) {
      const auto found = stacks_.find(request.name);
      if (!found) return fail(found.findings(), kExitUnverified);
      if (!*found) {
        if (asked)
          return fail("deploy-gone", request.name + " is not there any more", {}, kExitFailed);
        if (!ask("create", request, standing)) return false;
        asked = true;
        continue;
      }
      const DeployedStack& stack = **found;
      standing.status = stack.status;
      if (!is_ours(stack))
        return fail("deploy-foreign",
                    fmt::format("{} is there, and is not of the cluster {}", request.name,
                                plan_.cluster.name),
                    "another name for the cluster", kExitFailed);
      if (stack.is_moving()) {
        if (!wait(stack, until, pause)) return false;
        continue;
      }
      if (asked && !stack.is_complete()) return fail_stack(stack, standing);
      const auto tag = stack.tags.find(kDigestTag);
      const bool same = tag != stack.tags.end() && tag->second == digest;
      if (stack.is_complete() && (asked || same)) {
        if (standing.action.empty()) standing.action = "unchanged";
        return take_outputs(stack);
      }
      if (stack.is_wreck()) {
        if (!clear_away(stack, until, pause)) return false;
        continue;
      }
      if (!ask("update", request, standing)) return false;
      asked = true;
    }
  }

  bool ask(const char* verb, const StackRequest& request, StackStanding& standing) {
    note(request.name, verb);
    if (std::string_view(verb) == "create") {
      const auto done = stacks_.create(request);
      if (!done) return fail(done.findings(), kExitFailed);
      standing.action = "created";
      return true;
    }
    const auto changed = stacks_.update(request);
    if (!changed) return fail(changed.findings(), kExitFailed);
    standing.action = *changed ? "updated" : "unchanged";
    return true;
  }

  /// Nothing is left of a creation that failed but its name, which stands in the way.
  bool clear_away(const DeployedStack& stack, std::chrono::steady_clock::time_point until,
                  std::chrono::milliseconds& pause) {
    note(stack.name, "clear");
    const auto removed = stacks_.remove(stack.name);
    if (!removed) return fail(removed.findings(), kExitUnverified);
    while (true) {
      const auto found = stacks_.find(stack.name);
      if (!found) return fail(found.findings(), kExitUnverified);
      if (!*found) return true;
      if (!(*found)->is_moving() && (*found)->status == "DELETE_FAILED")
        return fail("deploy-failed",
                    fmt::format("{}: what is left of a failed creation can't be deleted: {}",
                                stack.name, (*found)->reason),
                    {}, kExitFailed);
      if (!wait(**found, until, pause)) return false;
    }
  }

  bool fail_stack(const DeployedStack& stack, StackStanding& standing) {
    const auto reason = stacks_.reason(stack.id.empty() ? stack.name : stack.id);
    standing.reason = reason && !reason->empty() ? *reason : stack.reason;
    if (standing.reason.empty()) standing.reason = "no event says why";
    note(stack.name, "failed", standing.reason);
    return fail("deploy-failed",
                fmt::format("{}: {}: {}", stack.name, stack.status, standing.reason), {},
                kExitFailed);
  }

  bool wait(const DeployedStack& stack, std::chrono::steady_clock::time_point until,
            std::chrono::milliseconds& pause) {
    if (options_.progress) options_.progress(stack.name, share_done(stack), stack.status);
    if (interrupted())
      return fail(
          "interrupted",
          fmt::format("interrupted while {} was {}; AWS goes on with it", stack.name, stack.status),
          "the same command goes on from there", kExitInterrupted);
    if (seams_.clock.steady() >= until)
      return fail(
          "deploy-time",
          fmt::format("{} is {} after {} s", stack.name, stack.status, options_.limit.count()),
          "the same command goes on from there", kExitTimeLimit);
    seams_.clock.sleep_for(pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
    return true;
  }

  /// Of its resources, for a person who watches; 0 when that can't be told.
  double share_done(const DeployedStack& stack) {
    const auto resources = stacks_.resources(stack.name);
    if (!resources || resources->empty()) return 0;
    const auto done =
        std::count_if(resources->begin(), resources->end(),
                      [](const StackResource& one) { return one.status.ends_with("_COMPLETE"); });
    return static_cast<double>(done) / static_cast<double>(resources->size());
  }

  void note(const std::string& stack, const char* event, const std::string& detail = {}) {
    nlohmann::ordered_json line = {
        {"time", to_rfc3339(seams_.clock.now())}, {"stack", stack}, {"event", event}};
    if (!detail.empty()) line["detail"] = detail;
    // The journal is for people; AWS knows what is there.
    (void)seams_.files.append(options_.state / "journal.jsonl", line.dump() + "\n");
  }

  void write_documents() {
    for (const PlannedDocument& document : plan_.documents) {
      std::string text = document.content;
      for (const PlannedStack& stack : plan_.stacks) {
        const std::string prefix = stack.name + ".";
        for (auto at = outputs_.lower_bound(prefix);
             at != outputs_.end() && at->first.starts_with(prefix); ++at)
          fill(text, stack.id, at->first.substr(prefix.size()), at->second);
      }
      const auto& existing = plan_.cluster.network.existing;
      if (existing && !existing->stack.empty()) {
        const std::string prefix = existing->stack + ".";
        for (auto at = outputs_.lower_bound(prefix);
             at != outputs_.end() && at->first.starts_with(prefix); ++at)
          fill(text, "network", at->first.substr(prefix.size()), at->second);
      }
      const std::size_t open = text.find("${stacks.");
      if (open != std::string::npos) {
        fail("deploy-output",
             fmt::format("{}: {} is no output of a stack", document.file,
                         text.substr(open, text.find('}', open) - open + 1)),
             {}, kExitFailed);
        return;
      }
      const auto path = options_.state / document.file;
      const auto written = seams_.files.write(path, text);
      if (!written) {
        fail(written.findings(), kExitInternal);
        return;
      }
      report_.files.push_back(path.string());
    }
  }

  static void fill(std::string& text, const std::string& id, const std::string& key,
                   const std::string& value) {
    const std::string what = fmt::format("${{stacks.{}.{}}}", id, key);
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + value.size()))
      text.replace(at, what.size(), value);
  }

  /// What is called complete and can't be seen is not created.
  void check_seen() {
    for (const StackStanding& stack : report_.stacks) {
      if (!stack.unknown.empty()) report_.code = kExitUnverified;
    }
  }
};

}  // namespace

ClusterReport deploy(const Plan& plan, const DeploySeams& seams, const DeployOptions& options) {
  return Deployment(plan, seams, options).run();
}

}  // namespace muster::architectures
