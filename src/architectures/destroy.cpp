// Takes a cluster down: its own stacks, last first.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/clusters.h"
#include "architectures/deploy_common.h"

namespace muster::architectures {
namespace {

constexpr std::chrono::milliseconds kDestroyFirstPause{2000}, kDestroyLongestPause{15000};

class Destruction : ClusterWork {
 public:
  using ClusterWork::ClusterWork;

  ClusterReport run() {
    const auto all = stacks_.all();
    if (!all) {
      fail(all.findings(), kExitUnverified);
      return std::move(report_);
    }
    for (const DeployedStack& stack : in_order(*all)) {
      if (!take_down(stack)) break;
    }
    return std::move(report_);
  }

 private:
  /// The cluster's own: those that the file does not ask for any more, then the file's, last first.
  std::vector<DeployedStack> in_order(const std::vector<DeployedStack>& all) const {
    std::vector<DeployedStack> order;
    const auto planned = [this](const std::string& name) {
      return std::find_if(plan_.stacks.begin(), plan_.stacks.end(),
                          [&](const PlannedStack& one) { return one.name == name; });
    };
    for (const DeployedStack& stack : all) {
      if (is_ours(stack) && stack.status != "DELETE_COMPLETE" &&
          planned(stack.name) == plan_.stacks.end())
        order.push_back(stack);
    }
    for (auto step = plan_.stacks.rbegin(); step != plan_.stacks.rend(); ++step) {
      for (const DeployedStack& stack : all) {
        if (stack.name == step->name && is_ours(stack) && stack.status != "DELETE_COMPLETE")
          order.push_back(stack);
      }
    }
    return order;
  }

  bool take_down(const DeployedStack& stack) {
    StackStanding standing;
    standing.name = stack.name;
    for (const PlannedStack& one : plan_.stacks) {
      if (one.name == stack.name) standing.keeps = one.keeps;
    }
    bool done = true;
    const auto removed = stacks_.remove(stack.name);
    if (!removed) {
      done = fail(removed.findings(), kExitFailed);
    } else {
      done = wait_until_gone(stack, standing);
    }
    if (done) standing.action = "deleted";
    report_.stacks.push_back(std::move(standing));
    return done;
  }

  bool wait_until_gone(const DeployedStack& stack, StackStanding& standing) {
    const auto until = seams_.clock.steady() + options_.limit;
    auto pause = kDestroyFirstPause;
    while (true) {
      const auto found = stacks_.find(stack.name);
      if (!found) return fail(found.findings(), kExitUnverified);
      if (!*found || (*found)->status == "DELETE_COMPLETE") return true;
      standing.status = (*found)->status;
      if (standing.status == "DELETE_FAILED") {
        const auto reason = stacks_.reason(stack.name);
        standing.reason = reason && !reason->empty() ? *reason : (*found)->reason;
        return fail("destroy-failed",
                    fmt::format("{}: {}: {}", stack.name, standing.status, standing.reason), {},
                    kExitFailed);
      }
      if (options_.progress) options_.progress(stack.name, 0, standing.status);
      if (interrupted())
        return fail("interrupted",
                    fmt::format("interrupted while {} was {}", stack.name, standing.status),
                    "the same command goes on from there", kExitInterrupted);
      if (seams_.clock.steady() >= until)
        return fail(
            "destroy-time",
            fmt::format("{} is {} after {} s", stack.name, standing.status, options_.limit.count()),
            "the same command goes on from there", kExitTimeLimit);
      seams_.clock.sleep_for(pause);
      pause = std::min(pause * 3 / 2, kDestroyLongestPause);
    }
  }
};

}  // namespace

ClusterReport destroy(const Plan& plan, const DeploySeams& seams, const DeployOptions& options) {
  return Destruction(plan, seams, options).run();
}

}  // namespace muster::architectures
