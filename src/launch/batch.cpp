#include "launch/batch.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/schema.h"
#include "launch/key_use.h"
#include "launch/shell.h"
#include "launch/variables.h"

namespace muster::launch {
namespace {

using catalog::ResolvedCase;
using Json = nlohmann::ordered_json;

constexpr int kMostAttempts = 10;  // of a Batch job
constexpr int kMostNodes = 1000;   // of a multi-node parallel job

constexpr const char* kGather = R"py(import socket, sys, time
nodes, rank, host, port, limit = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
end = time.monotonic() + limit
def left(): return max(0.1, end - time.monotonic())
def fail(message):
    print("muster: within %g s %s" % (limit, message), file=sys.stderr)
    sys.exit(124)
if rank == 0:
    server, peers = socket.create_server(("", port), backlog=nodes), {}
    while len(peers) < nodes - 1 and time.monotonic() < end:
        server.settimeout(left())
        try:
            peer, address = server.accept()
            peer.settimeout(min(10, left()))
            index = int(peer.recv(16))
            if 0 < index < nodes:
                peers[index] = (peer, address[0])
        except (OSError, ValueError):
            pass
    missing = [str(i) for i in range(1, nodes) if i not in peers]
    if missing:
        fail("these nodes did not come: " + " ".join(missing))
    hosts = "\n".join([host] + [peers[i][1] for i in range(1, nodes)])
    for peer, _ in peers.values():
        peer.sendall(hosts.encode())
        peer.close()
else:
    while True:
        try:
            peer = socket.create_connection((host, port), timeout=min(5, left()))
            break
        except OSError:
            if time.monotonic() >= end:
                fail("node 0 did not answer at " + host)
            time.sleep(1)
    hosts = ""
    try:
        peer.settimeout(left() + 5)
        peer.sendall(str(rank).encode())
        hosts = b"".join(iter(lambda: peer.recv(4096), b"")).decode()
    except OSError:
        pass
    if not hosts:
        fail("node 0 did not start the job")
print(hosts)
)py";

// mpirun starts the ranks of other nodes over ssh. One key, a secret of the job, is that of every
// node and of every host, so that each knows the others without having met them. {0}: the port,
// {1}: processes of a node, {2}: seconds until all must answer.
constexpr const char* kSsh =
    R"sh(: "${{MUSTER_SSH_KEY:?is the private key with which the nodes reach each other}}"
(
  umask 077
  mkdir -p ~/.ssh
  printf '%s\n' "$MUSTER_SSH_KEY" >~/.ssh/muster
  ssh-keygen -y -f ~/.ssh/muster >~/.ssh/muster.pub
  printf '* %s\n' "$(<~/.ssh/muster.pub)" >~/.ssh/muster.hosts
  printf 'Host *\n Port {0}\n IdentityFile ~/.ssh/muster\n UserKnownHostsFile ~/.ssh/muster.hosts\n StrictHostKeyChecking yes\n BatchMode yes\n ConnectTimeout 5\n' >~/.ssh/config
)
unset MUSTER_SSH_KEY
mkdir -p /run/sshd
server=(/usr/sbin/sshd -D -e -f /dev/null -p {0} -h ~/.ssh/muster -o PidFile=none -o StrictModes=no
  -o AuthorizedKeysFile="$HOME/.ssh/muster.pub" -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no)
MUSTER_HOSTS=${{MUSTER_HOSTS//$'\n'/ }}
)sh";

// The other nodes serve until Batch ends them with node 0.
constexpr const char* kSshStart = R"sh(if [ "$MUSTER_NODE" != 0 ]; then exec "${{server[@]}}"; fi
"${{server[@]}}" &
end=$((SECONDS + {2}))
: >/tmp/muster-hosts
for host in $MUSTER_HOSTS; do
  until ssh "$host" true; do
    if ((SECONDS >= end)); then echo "muster: $host: no ssh within {2} s" >&2; exit 124; fi
    sleep 1
  done
  echo "$host slots={1}" >>/tmp/muster-hosts
done
)sh";

struct JobPart {
  std::string name, path;
  NodeResources resources;
  std::string image, script;
  int nodes = 1, attempts = 1, array = 1;
  double timeout = 3600;
};

class BatchRenderer {
 public:
  BatchRenderer(const Workload& workload, const ResolvedCase& resolved)
      : workload_(workload), resolved_(resolved), values_(resolved.values) {}

  Result<Rendered> render() {
    check();
    if (has_errors(findings_)) return Failure(std::move(findings_));
    const std::string stem = "batch/" + file_stem_of(workload_.case_name);
    std::vector<JobPart> jobs, after;
    int number = 0;
    for (const catalog::Step& step : values_.steps) {
      JobPart job = step_job(step, fmt::format("{}-{}-{}.json", stem, ++number, step.name));
      (step.after ? after : jobs).push_back(std::move(job));
    }
    jobs.push_back(main_job(stem + ".json"));
    for (JobPart& job : after) jobs.push_back(std::move(job));
    Rendered rendered;
    for (const JobPart& job : jobs)
      rendered.files.push_back({job.path, json_text(definition(job)), false});
    rendered.files.push_back(submit_script(stem + "-submit.sh", jobs));
    rendered.command = {"bash", stem + "-submit.sh"};
    rendered.programs = {"aws"};
    return rendered;
  }

  Result<Rendered> render_run(const std::string& queue) {
    check();
    const std::string manifest_queue = values_.targets.batch_job_queue.value_or("");
    if (queue.empty() && manifest_queue.empty())
      findings_.push_back(error_at(position_of(resolved_, "targets.batch"), "launch-batch",
                                   "no job queue is named",
                                   "export MUSTER_JOB_QUEUE, or --set targets.batch.job_queue="));
    if (has_errors(findings_)) return Failure(std::move(findings_));
    const JobPart job = main_job("rendered/" + file_stem_of(workload_.case_name) + ".json");
    Rendered rendered;
    rendered.files = {{job.path, json_text(definition(job)), false}};
    rendered.command = {"aws", "batch", "submit-job", "--job-name=" + job.name,
                        "--job-queue=" + (queue.empty() ? manifest_queue : queue)};
    rendered.programs = {"aws"};
    return rendered;
  }

 private:
  void check() {
    if (workload_.nodes > kMostNodes)
      findings_.push_back(error_at(position_of(resolved_, "topology.nodes"), "launch-batch",
                                   fmt::format("Batch starts at most {} nodes", kMostNodes)));
    if (workload_.resilience.max_retries >= kMostAttempts)
      findings_.push_back(
          error_at(position_of(resolved_, "resilience.max_retries"), "launch-batch",
                   fmt::format("Batch starts a job at most {} times", kMostAttempts),
                   fmt::format("max_retries: {}", kMostAttempts - 1)));
    if (workload_.timeout < 60)
      findings_.push_back(error_at(position_of(resolved_, "expect.timeout"), "launch-batch",
                                   "the shortest limit that Batch takes is 60 s"));
    if (!workload_.resources.cpu || !workload_.resources.memory)
      findings_.push_back(
          error_at(position_of(resolved_, "resources"), "launch-batch",
                   "Batch must be told how many processors and how much memory a node's job needs",
                   "topology.instance_type, or resources.cpu and resources.memory"));
  }

  JobPart main_job(const std::string& path) const {
    JobPart job;
    job.path = path;
    job.name = "muster-" + workload_.object_name;
    job.resources = workload_.resources;
    job.image = workload_.image;
    job.nodes = workload_.nodes;
    job.attempts = 1 + workload_.resilience.max_retries;
    job.timeout = workload_.timeout;
    std::string& text = job.script;
    text = "set -euo pipefail\n";
    if (job.nodes > 1) {
      text +=
          "export MUSTER_NODE=$AWS_BATCH_JOB_NODE_INDEX\n"
          "if [ \"$MUSTER_NODE\" = \"$AWS_BATCH_JOB_MAIN_NODE_INDEX\" ]; then\n"
          "  read -r MASTER_ADDR _ < <(hostname -I)\n"
          "else\n"
          "  MASTER_ADDR=$AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS\n"
          "fi\n";
      text += fmt::format("export MASTER_ADDR MASTER_PORT={}\n", values_.rendezvous.port);
      text += fmt::format(
          "MUSTER_HOSTS=$(python3 - \"$AWS_BATCH_JOB_NUM_NODES\" \"$MUSTER_NODE\" \"$MASTER_ADDR\" "
          "{} {} <<'GATHER'\n{}GATHER\n)\nexport MUSTER_HOSTS\n",
          values_.rendezvous.port < 65535 ? values_.rendezvous.port + 1 : 65534,
          static_cast<long>(std::ceil(workload_.start_timeout)), kGather);
      if (over_ssh()) text += fmt::format(fmt::runtime(kSsh), ssh_port());
    } else {
      text += fmt::format("export MUSTER_NODE=0 MASTER_ADDR=127.0.0.1 MASTER_PORT={}\n",
                          values_.rendezvous.port);
    }
    text += fmt::format("echo \"{}$MUSTER_NODE of {} started, {} processes, on $(uname -n)\"\n",
                        kNodeStarted, job.nodes > 1 ? "$AWS_BATCH_JOB_NUM_NODES" : "1",
                        workload_.processes);
    text += place();
    if (over_ssh())
      text += fmt::format(fmt::runtime(kSshStart), "", workload_.processes,
                          static_cast<long>(std::ceil(workload_.start_timeout)));
    text += "exec " + shell_lines(workload_.command) + "\n";
    return job;
  }

  /// Whether node 0 starts the processes of the others.
  bool over_ssh() const { return values_.launcher == "mpirun" && workload_.nodes > 1; }

  /// Its port: rendezvous.port is the program's, the next one is for meeting.
  int ssh_port() const {
    return values_.rendezvous.port < 65534 ? values_.rendezvous.port + 2 : 65533;
  }

  JobPart step_job(const catalog::Step& step, const std::string& path) const {
    JobPart job;
    job.path = path;
    job.name = fmt::format("muster-{}-{}", workload_.object_name, step.name);
    job.resources.accelerator = workload_.resources.accelerator;
    job.resources.accelerators = step.accelerators;
    job.resources.cpu = step.cpu ? *step.cpu : 1;
    job.resources.memory = std::int64_t{4} << 30;
    if (const auto bytes = parse_size(step.memory)) job.resources.memory = std::llround(*bytes);
    job.image = step.image.empty() ? workload_.image : step.image;
    job.timeout = step.timeout;
    job.array = step.array;
    job.script = "set -euo pipefail\n";
    job.script +=
        step.array > 1
            ? fmt::format("export MUSTER_TASK=$AWS_BATCH_JOB_ARRAY_INDEX MUSTER_TASKS={}\n",
                          step.array)
            : "export MUSTER_TASK=0 MUSTER_TASKS=1\n";
    job.script += place() + "exec " + shell_lines(step_words(step)) + "\n";
    return job;
  }

  std::string place() const {
    std::string text;
    for (const std::string& name : workload_.unset) text += "unset " + name + "\n";
    text += "mkdir -p \"$MUSTER_RUN_DIR\"\n";
    if (!workload_.workdir.empty())
      text += "cd " + shell_text(manifest_word(workload_.workdir)) + "\n";
    return text;
  }

  Json definition(const JobPart& job) const {
    Json definition;
    definition["jobDefinitionName"] = job.name;
    definition["type"] = job.nodes > 1 ? "multinode" : "container";
    definition["retryStrategy"] = {{"attempts", job.attempts}};
    definition["timeout"] = {{"attemptDurationSeconds", std::llround(std::ceil(job.timeout))}};
    definition["propagateTags"] = true;
    definition["tags"] = {{"muster-case", workload_.case_name}};
    if (!workload_.run_id.empty()) definition["tags"]["muster-run"] = workload_.run_id;
    if (job.nodes > 1) {
      Json range;
      range["targetNodes"] = "0:";
      range["container"] = container(job);
      definition["nodeProperties"] = {{"numNodes", job.nodes}, {"mainNode", 0}};
      definition["nodeProperties"]["nodeRangeProperties"] = Json::array({range});
    } else {
      definition["platformCapabilities"] = Json::array({"EC2"});
      definition["containerProperties"] = container(job);
    }
    return definition;
  }

  Json container(const JobPart& job) const {
    Json c;
    c["image"] = job.image;
    if (job.nodes > 1 && !workload_.instance_type.empty())
      c["instanceType"] = workload_.instance_type;
    c["command"] = {"bash", "-c", job.script};
    c["environment"] = Json::array();
    for (const auto& [name, value] : workload_.environment)
      c["environment"].push_back({{"name", name}, {"value", value}});
    for (const SecretVariable& secret : workload_.secrets) {
      c["secrets"].push_back(
          {{"name", secret.env}, {"valueFrom", "/" + secret.secret + "/" + secret.key}});
    }
    if (over_ssh() && job.nodes > 1)
      c["secrets"].push_back(
          {{"name", "MUSTER_SSH_KEY"}, {"valueFrom", values_.targets.batch_ssh_key}});
    c["resourceRequirements"] = requirements(job.resources);
    c["ulimits"] = Json::array();
    for (const auto& [name, limit] :
         {std::pair{"memlock", -1}, std::pair{"stack", 67108864}, std::pair{"nofile", 1024000}})
      c["ulimits"].push_back({{"name", name}, {"softLimit", limit}, {"hardLimit", limit}});
    if (const Json linux_parameters = devices(job.resources); !linux_parameters.empty())
      c["linuxParameters"] = linux_parameters;
    add_volumes(c);
    return c;
  }

  static Json requirements(const NodeResources& resources) {
    constexpr double kMebibyte = 1024.0 * 1024.0;
    Json list = Json::array();
    const auto ask = [&](const char* type, std::int64_t amount) {
      list.push_back({{"type", type}, {"value", std::to_string(amount)}});
    };
    ask("VCPU", std::llround(std::ceil(*resources.cpu)));
    ask("MEMORY", std::llround(std::floor(static_cast<double>(*resources.memory) / kMebibyte)));
    if (resources.accelerator == "gpu" && resources.accelerators > 0)
      ask("GPU", resources.accelerators);
    return list;
  }

  static Json devices(const NodeResources& resources) {
    constexpr std::int64_t kMebibyte = std::int64_t{1024} * 1024;
    Json parameters = Json::object();
    if (resources.shm) parameters["sharedMemorySize"] = *resources.shm / kMebibyte;
    const auto add = [&](const std::string& path) {
      parameters["devices"].push_back({{"hostPath", path},
                                       {"containerPath", path},
                                       {"permissions", {"READ", "WRITE", "MKNOD"}}});
    };
    for (int i = 0; i < resources.efa; ++i) add(fmt::format("/dev/infiniband/uverbs{}", i));
    if (resources.accelerator == "neuron") {
      for (int i = 0; i < resources.accelerators; ++i) add(fmt::format("/dev/neuron{}", i));
    }
    return parameters;
  }

  void add_volumes(Json& c) const {
    const auto add = [&](const std::string& name, const std::string& path) {
      c["volumes"].push_back({{"name", name}, {"host", {{"sourcePath", path}}}});
      c["mountPoints"].push_back(
          {{"sourceVolume", name}, {"containerPath", path}, {"readOnly", false}});
    };
    for (const catalog::Mount& mount : workload_.mounts) add(mount.name, mount.path);
    if (!workload_.scratch.empty()) add("scratch", workload_.scratch);
  }

  RenderedFile submit_script(const std::string& path, const std::vector<JobPart>& jobs) const {
    std::set<std::string> variables;
    for (const JobPart& job : jobs) {
      for (const std::string& name : variables_of(job.image)) variables.insert(name);
    }
    std::string text =
        "#!/bin/bash\n"
        "# Rendered from case.yaml by `muster render --all`: change that, not this.\n"
        "# Registers the case's job definitions and submits their jobs, each to start when the one "
        "before it has\n# succeeded; prints their numbers.\n"
        "set -euo pipefail\n"
        "here=$(cd \"${BASH_SOURCE[0]%/*}\" && pwd)\n";
    const std::string queue = values_.targets.batch_job_queue.value_or("");
    if (queue.empty()) {
      text += "queue=${MUSTER_JOB_QUEUE:?names the job queue: export it}\n";
    } else {
      text += "queue=${MUSTER_JOB_QUEUE:-" + shell_quote(queue) + "}\n";
    }
    for (const std::string& name : variables)
      text += fmt::format(": \"${{{}:?is part of the name of the image: export it}}\"\n", name);
    text += "\nregister() {\n  local text\n  text=$(<\"$here/$1\")\n";
    for (const std::string& name : variables)
      text += fmt::format("  text=${{text//'${{{0}}}'/\"${0}\"}}\n", name);
    text +=
        "  aws batch register-job-definition --cli-input-json \"$text\" "
        "--query jobDefinitionArn --output text\n}\n\n";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobPart& job = jobs[i];
      text += fmt::format("definition=$(register {})\n",
                          shell_quote(job.path.substr(job.path.rfind('/') + 1)));
      text += fmt::format(
          "job=$(aws batch submit-job --job-name={} --job-queue=\"$queue\" \\\n"
          "  --job-definition=\"$definition\"",
          job.name);
      if (i > 0) text += " --depends-on=\"jobId=$job\"";
      if (job.nodes > 1) text += fmt::format(" --node-overrides=numNodes={}", job.nodes);
      if (job.array > 1) text += fmt::format(" --array-properties=size={}", job.array);
      text += " --query jobId --output text)\necho \"$job\"\n";
    }
    return {path, std::move(text), true};
  }

  const Workload& workload_;
  const ResolvedCase& resolved_;
  const catalog::Case& values_;
  Findings findings_;
};

}  // namespace

const char* gather_program() {
  return kGather;
}

Result<Rendered> render_batch(const Workload& workload, const ResolvedCase& resolved) {
  return BatchRenderer(workload, resolved).render();
}

Result<Rendered> render_batch_run(const Workload& workload, const ResolvedCase& resolved,
                                  const std::string& queue) {
  return BatchRenderer(workload, resolved).render_run(queue);
}

}  // namespace muster::launch
