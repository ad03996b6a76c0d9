// The command line of each launcher.
#include <cmath>

#include <fmt/format.h>

#include "launch/key_use.h"
#include "launch/shell.h"
#include "launch/workload.h"

namespace muster::launch {
namespace {

using catalog::Case;
using catalog::ResolvedCase;

/// One process for each accelerator of a node, the ranks given out by arithmetic, for programs that
/// read RANK, WORLD_SIZE and LOCAL_RANK (and JAX's own names). When one ends with an error, the
/// others are ended.
const std::string& spawn_script() {
  static const std::string kScript =
      "export WORLD_SIZE=$(($1 * $2)) MASTER_ADDR=$4 MASTER_PORT=$5\n"
      "export JAX_NUM_PROCESSES=$WORLD_SIZE JAX_COORDINATOR_ADDRESS=$4:$5\n"
      "processes=$2 first=$(($3 * $2)) pids=()\n"
      "shift 5\n"
      "for ((i = 0; i < processes; i++)); do\n"
      "  RANK=$((first + i)) JAX_PROCESS_ID=$((first + i)) LOCAL_RANK=$i \"$@\" &\n"
      "  pids+=($!)\n"
      "done\n" +
      wait_for_all("i", "processes");
  return kScript;
}

/// deepspeed reads how many nodes there are from a host file, and with --no_ssh nothing else.
constexpr const char* kWithHostFile =
    "for ((i = 0; i < $2; i++)); do echo \"node-$i slots=$3\"; done >\"$1\"\n"
    "file=$1; shift 3; exec deepspeed --hostfile=\"$file\" \"$@\"";

/// Ray's head on node 0, a worker on every other, and the job once all have joined. On one node
/// nobody else has to find the head, and its ports are free ones.
constexpr const char* kRay = R"sh(nodes=$1 rank=$2 head=$3 port=$4 limit=$5; shift 5
end=$((SECONDS + limit)) ray=
late() {
  if ((SECONDS >= end)); then echo "$1 within $limit s" >&2; exit 124; fi
  sleep 2
}
free() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
start() {
  ray start "$@" --disable-usage-stats --dashboard-agent-listen-port="$(free)" --block 2>&1 &
  ray=$!
}
# Its own part of Ray alone: others may run on the same machine.
trap '[ -z "$ray" ] || { kill "$ray"; wait "$ray"; } 2>/dev/null' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
up() { ray health-check --address "$head:$port" >/dev/null 2>&1; }
if [ "$rank" != 0 ]; then
  until up; do late "no Ray head on $head"; done
  start --address="$head:$port"
  while up; do
    if ! kill -0 "$ray" 2>/dev/null && up; then
      echo "Ray has ended on node $rank" >&2
      exit 1
    fi
    sleep 5
  done
  exit 0
fi
if [ "$nodes" = 1 ]; then port=$(free); fi
dashboard=http://127.0.0.1:$(free)
start --head --port="$port" --dashboard-host=127.0.0.1 --dashboard-port="${dashboard##*:}"
alive() {
  python3 - "$dashboard" 2>/dev/null <<'END' || echo 0
import json, sys, urllib.request
nodes = json.load(urllib.request.urlopen(sys.argv[1] + "/nodes?view=summary", timeout=10))
print(sum(n["raylet"].get("state") == "ALIVE" for n in nodes["data"]["summary"]))
END
}
until there=$(alive) && ((there >= nodes)); do
  if ! kill -0 "$ray" 2>/dev/null; then echo 'Ray has not started' >&2; exit 1; fi
  late "$there of $nodes Ray nodes"
done
# Ray puts what it is given through a shell that knows nothing of quotes.
job=$(mktemp)
printf '%q ' "$@" >"$job"
ray job submit --address="$dashboard" -- bash "$job")sh";

class Words {
 public:
  Words(std::initializer_list<const char*> start) {
    for (const char* word : start) words_.push_back({word, false});
  }
  Words& add(const std::string& text) {
    words_.push_back({text, false});
    return *this;
  }
  Words& add(Word word) {
    words_.push_back(std::move(word));
    return *this;
  }
  Words& option(const std::string& name, const std::string& value) {
    return add(name + "=" + value);
  }
  /// Left out where the value is empty.
  Words& option(const std::string& name, const Word& value) {
    if (!value.text.empty()) words_.push_back({name + "=" + value.text, value.shell});
    return *this;
  }
  Words& add(const std::vector<Word>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
    return *this;
  }
  std::vector<Word> take() { return std::move(words_); }

 private:
  std::vector<Word> words_;
};

std::string whole_seconds(double limit) {
  return std::to_string(static_cast<long>(std::ceil(limit)));
}

bool is_python(const std::string& script) {
  return script.ends_with(".py");
}

class Launcher {
 public:
  Launcher(const ResolvedCase& resolved, const Endpoint& endpoint)
      : resolved_(resolved),
        case_(resolved.values),
        endpoint_(endpoint),
        processes_(std::to_string(case_.topology.accelerators_per_node)),
        limit_(whole_seconds(case_.rendezvous.start_timeout)) {}

  Result<std::vector<Word>> command() {
    const std::string& name = case_.launcher;
    if (name == "torchrun" || name == "nemo-run") return torchrun({"torchrun"});
    if (name == "ft_launcher") return torchrun({"ft_launcher"});
    if (name == "srun-rank") return torchrun({"torchrun"});
    if (name == "hyperpodrun") return hyperpodrun();
    if (name == "accelerate") return accelerate();
    if (name == "deepspeed") return deepspeed();
    if (name == "composer") return composer();
    if (name == "mpirun") return mpirun();
    if (name == "jax") return jax();
    if (name == "ray-job") return ray();
    return program_words(resolved_);  // server
  }

 private:
  bool several_nodes() const { return case_.topology.nodes > 1; }
  bool is_static() const { return case_.rendezvous.backend == "static"; }

  Word id() const {
    return case_.rendezvous.id == "auto" ? endpoint_.id : Word{case_.rendezvous.id, false};
  }

  Word host_and_port() const {
    if (endpoint_.host.text.empty()) return {};
    return {endpoint_.host.text + ":" + port(), endpoint_.host.shell};
  }

  std::string port() const { return std::to_string(endpoint_.port); }

  Word nodes() const {
    if (!case_.rendezvous.elastic) return endpoint_.nodes;
    return {fmt::format("{}:{}", case_.topology.min_nodes, case_.topology.nodes), false};
  }

  /// The entry point, where a launcher takes a module after `-m`.
  std::vector<Word> entry(const char* module_option, const char* not_python) const {
    std::vector<Word> words;
    if (!case_.entrypoint.module.empty()) {
      words.push_back({module_option, false});
      words.push_back(manifest_word(case_.entrypoint.module));
    } else {
      if (!is_python(case_.entrypoint.script)) words.push_back({not_python, false});
      words.push_back(manifest_word(case_.entrypoint.script));
    }
    for (const std::string& argument : case_.entrypoint.args)
      words.push_back(manifest_word(argument));
    return words;
  }

  std::vector<Word> torchrun(Words words) const {
    const bool alone = !several_nodes() && !case_.rendezvous.elastic && !is_static();
    if (!endpoint_.nodes.text.empty()) words.option("--nnodes", nodes());
    words.option("--nproc_per_node", processes_);
    if (case_.rendezvous.max_restarts > 0 || case_.launcher == "ft_launcher")
      words.option("--max_restarts", std::to_string(case_.rendezvous.max_restarts));
    if (!host_and_port().text.empty()) {
      words.option("--rdzv_backend", is_static() ? "static" : "c10d");
      words.option("--rdzv_id", id());
      if (alone) {
        // Any free port: two jobs may share a node.
        words.option("--rdzv_endpoint", "127.0.0.1:0");
      } else {
        words.option("--rdzv_endpoint", host_and_port());
      }
      if (is_static()) words.option("--node_rank", endpoint_.node_rank);
    }
    // A node that does not come ends the start of all others.
    words.option("--rdzv_conf", is_static() ? "timeout=" + limit_
                                            : "join_timeout=" + limit_ + ",read_timeout=" + limit_);
    return words.add(entry("--module", "--no_python")).take();
  }

  std::vector<Word> hyperpodrun() const {
    Words words = {"hyperpodrun"};
    words.option("--nnodes", nodes()).option("--nproc_per_node", processes_);
    words.option("--server-host", "0.0.0.0").option("--server-port", "8080");
    return words.add(entry("--module", "--no_python")).take();
  }

  std::vector<Word> accelerate() const {
    Words words = {"accelerate", "launch"};
    words.option("--num_machines", endpoint_.nodes);
    words.option("--num_processes", std::to_string(case_.topology.world()));
    if (several_nodes()) {
      words.option("--machine_rank", endpoint_.node_rank);
      words.option("--main_process_ip", endpoint_.host);
      words.option("--main_process_port", port());
      words.option("--rdzv_backend", "static").option("--rdzv_conf", "timeout=" + limit_);
    } else {
      words.option("--main_process_port", "0");
    }
    if (case_.rendezvous.max_restarts > 0)
      words.option("--max_restarts", std::to_string(case_.rendezvous.max_restarts));
    if (case_.topology.accelerator == "cpu") {
      words.add("--cpu");
    } else if (case_.topology.world() > 1) {
      words.add("--multi_gpu");
    }
    words.option("--mixed_precision", case_.precision == "bf16" ? "bf16" : "no");
    words.option("--dynamo_backend", "no");
    return words.add(entry("--module", "--no_python")).take();
  }

  std::vector<Word> deepspeed() const {
    if (!several_nodes()) {
      Words words = {"deepspeed"};
      words.option("--num_gpus", processes_).option("--master_port", port());
      return words.add(entry("--module", "--no_python")).take();
    }
    Words words = {"bash", "-c", kWithHostFile, "deepspeed"};
    words.add("/tmp/muster-hostfile").add(endpoint_.nodes).add(processes_);
    words.add("--no_ssh").option("--node_rank", endpoint_.node_rank);
    words.option("--master_addr", endpoint_.host).option("--master_port", port());
    return words.add(entry("--module", "--no_python")).take();
  }

  std::vector<Word> composer() const {
    Words words = {"composer"};
    words.option("--nproc", processes_);
    words.option("--world_size", std::to_string(case_.topology.world()));
    if (several_nodes()) {
      words.option("--node_rank", endpoint_.node_rank);
      words.option("--master_addr", endpoint_.host);
    }
    words.option("--master_port", port());
    return words.add(entry("--module_mode", "--command_mode")).take();
  }

  std::vector<Word> mpirun() const {
    Words words = {};
    // By its path, so that it finds the rest of its own installation on the other nodes too.
    words.add(endpoint_.hosts.text.empty() ? Word{"mpirun", false}
                                           : Word{"$(command -v mpirun)", true});
    words.add("-np").add(std::to_string(case_.topology.world()));
    words.add("-N").add(processes_).add("--bind-to").add("none");
    if (endpoint_.hosts.text.empty()) return words.add(program_words(resolved_)).take();
    // In a container all is root's; what ssh starts there has an environment of its own.
    words.add("--allow-run-as-root");
    if (!endpoint_.host_file.text.empty()) words.add("--hostfile").add(endpoint_.host_file);
    for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) words.add("-x").add(name);
    words.add("-x").option("MASTER_ADDR", endpoint_.host);
    words.add("-x").option("MASTER_PORT", port());
    words.add("-x").option("MUSTER_HOSTS", endpoint_.hosts);
    for (const std::string& name : endpoint_.variables) words.add("-x").add(name);
    return words.add(program_words(resolved_)).take();
  }

  std::vector<Word> jax() const {
    Words words = {"bash", "-c"};
    words.add(spawn_script()).add("spawn").add(endpoint_.nodes).add(processes_);
    words.add(several_nodes() ? endpoint_.node_rank : Word{"0", false});
    words.add(several_nodes() ? endpoint_.host : Word{"127.0.0.1", false}).add(port());
    return words.add(program_words(resolved_)).take();
  }

  std::vector<Word> ray() const {
    Words words = {"bash", "-c", kRay, "ray"};
    words.add(endpoint_.nodes).add(several_nodes() ? endpoint_.node_rank : Word{"0", false});
    words.add(several_nodes() ? endpoint_.host : Word{"127.0.0.1", false});
    words.add(port()).add(limit_);
    return words.add(program_words(resolved_)).take();
  }

  const ResolvedCase& resolved_;
  const Case& case_;
  const Endpoint& endpoint_;
  std::string processes_, limit_;
};

}  // namespace

std::vector<Word> program_words(const ResolvedCase& resolved) {
  const catalog::Entrypoint& entry = resolved.values.entrypoint;
  std::vector<Word> words;
  if (!entry.module.empty()) {
    words = {{"python3", false}, {"-m", false}, manifest_word(entry.module)};
  } else if (!entry.script.empty()) {
    if (is_python(entry.script)) words.push_back({"python3", false});
    if (entry.script.ends_with(".sh")) words.push_back({"bash", false});
    words.push_back(manifest_word(entry.script));
  }
  for (const std::string& argument : entry.args) words.push_back(manifest_word(argument));
  return words;
}

Result<std::vector<Word>> launcher_command(const ResolvedCase& resolved, const Endpoint& endpoint) {
  Findings findings = launcher_refusals(resolved);
  if (has_errors(findings)) return Failure(std::move(findings));
  return Launcher(resolved, endpoint).command();
}

}  // namespace muster::launch
