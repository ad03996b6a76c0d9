// What starts containers on a host: docker, containerd, enroot with pyxis, and NVIDIA's toolkit,
// each there, answering, and configured for the others.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "base/words.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

/// What is known of the runtimes of a host, from any number of texts.
class Runtimes {
 public:
  struct Told {
    std::string text;
    Position where;
  };

  void see(const Text& text) {
    const std::string name = text.file.substr(text.file.rfind('/') + 1);
    const auto first = text.content.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text.content[first] == '{' && see_daemon(text)) return;
    for (const Line& line : lines_of(text.content)) {
      const std::string bare(trimmed(line.text));
      const Position where{text.file, line.number, 0};
      see_versions(bare, name, where);
      see_failures(bare, where);
      see_pyxis(bare, where);
      see_docker_info(bare, where);
    }
  }

  void is_installed(const char* what) { parts_.try_emplace(what); }
  void is_configured(const char* how, const Position& where) {
    nvidia_.try_emplace(how, Told{how, where});
  }
  void is_missing(const std::string& what, const Position& where) {
    missing_.push_back({what, where});
  }
  bool empty() const { return parts_.empty() && versions_.empty() && broken_.empty() && !pyxis_; }

  const std::map<std::string, Told>& runtime_paths() const { return runtime_paths_; }
  const std::optional<Told>& pyxis() const { return pyxis_; }

  void judge(bool gpus, CheckResult& check) const {
    for (const Told& one : broken_)
      check.add(Health::kInvestigate, "runtime-config", {}, one.text, one.where);
    for (const Told& one : missing_)
      check.add(Health::kInvestigate, "runtime-missing", {}, one.text, one.where);
    const bool enroot = parts_.count("enroot") > 0;
    for (const Told& one : silent_) {
      // A client may be there without a daemon; a node with enroot may do without docker.
      check.add(enroot || !gpus ? Health::kFlag : Health::kInvestigate, "runtime-daemon", {},
                one.text, one.where);
    }
    if (pyxis_ && !enroot) {
      check.add(Health::kInvestigate, "runtime-pyxis", {},
                "Slurm loads pyxis, and enroot, which it starts, is not there", pyxis_->where);
    }
    judge_nvidia(gpus, check);
    for (const auto& [name, told] : versions_)
      check.add(Health::kOk, "runtime-version", name, told.text, told.where);
    for (const auto& [part, where] : parts_) {
      if (versions_.count(part) == 0)
        check.add(Health::kOk, "runtime-version", part, "is there; its version is not told", where);
    }
  }

 private:
  void version(const std::string& name, std::string_view value, const Position& where) {
    versions_.try_emplace(name, Told{std::string(value), where});
    parts_.try_emplace(name, where);
  }

  void see_versions(const std::string& bare, const std::string& file, const Position& where) {
    Regex::Match match;
    static thread_local const Regex& docker =
        pattern(R"(^(?:Docker version |Server Version: )(\d[\w.~+-]*))");
    static thread_local const Regex& containerd = pattern(R"(^containerd \S+ v?(\d[\w.~+-]*))");
    static thread_local const Regex& toolkit =
        pattern(R"(^NVIDIA Container (?:Toolkit CLI|Runtime Hook) version (\d[\w.~-]*))");
    static thread_local const Regex& library = pattern(R"(^(cli|lib)-version: (\d[\w.~-]*))");
    static thread_local const Regex& package = pattern(
        R"(^ii\s+(docker-ce|docker\.io|containerd\.io|containerd|enroot|nvidia-container-toolkit)(?::\w+)?\s+(?:\d+:)?(\d[\w.~+-]*))");
    static thread_local const Regex& bare_version = pattern(R"(^v?(\d+\.\d+\.\d+)$)");
    if (finds(docker, bare, match)) {
      version("docker", group(match, 1), where);
    } else if (finds(containerd, bare, match)) {
      version("containerd", group(match, 1), where);
    } else if (finds(toolkit, bare, match)) {
      version("nvidia-container-toolkit", group(match, 1), where);
    } else if (finds(library, bare, match)) {
      const std::string name = "libnvidia-container (" + std::string(group(match, 1)) + ")";
      version(name, group(match, 2), where);
    } else if (finds(package, bare, match)) {
      std::string name(group(match, 1));
      if (name == "docker-ce" || name == "docker.io") name = "docker";
      if (name == "containerd.io") name = "containerd";
      version(name, group(match, 2), where);
    } else if (file.starts_with("enroot") && finds(bare_version, bare, match)) {
      version("enroot", group(match, 1), where);
    }
  }

  void see_failures(const std::string& bare, const Position& where) {
    for (const char* words : {"Cannot connect to the Docker daemon", "Is the docker daemon running",
                              "permission denied while trying to connect to the Docker daemon",
                              "failed to dial \"/run/containerd/containerd.sock\""}) {
      if (bare.find(words) == std::string::npos) continue;
      silent_.push_back({bare, where});
      return;
    }
    for (const char* words :
         {"unable to configure the Docker daemon", "nvidia-container-cli: initialization error",
          "unknown or invalid runtime name: nvidia", "spank_pyxis.so: cannot open shared object",
          "could not select device driver \"\" with capabilities: [[gpu]]"}) {
      if (bare.find(words) == std::string::npos) continue;
      broken_.push_back({bare, where});
      return;
    }
  }

  /// plugstack.conf: "required /usr/local/lib/slurm/spank_pyxis.so"; srun --help: "[pyxis] …".
  void see_pyxis(const std::string& bare, const Position& where) {
    static thread_local const Regex& plugin =
        pattern(R"(^(?:required|optional)\s+(\S*spank_pyxis\.so)\b)");
    Regex::Match match;
    if (finds(plugin, bare, match))
      pyxis_ = Told{std::string(group(match, 1)), where};
    else if (!pyxis_ && bare.find("[pyxis]") != std::string::npos)
      pyxis_ = Told{{}, where};
  }

  void see_docker_info(const std::string& bare, const Position& where) {
    if (bare.starts_with("Runtimes: ")) {
      parts_.try_emplace("docker", where);
      for (const auto word : words_of(bare)) {
        if (word == "nvidia") is_configured("a runtime of docker", where);
      }
    }
    static thread_local const Regex& plugin =
        pattern(R"(plugins\.["'].*\.containerd\.runtimes\.nvidia|nvidia-container-runtime)");
    Regex::Match match;
    if (finds(plugin, bare, match)) is_configured("a runtime of containerd", where);
  }

  /// Docker's daemon.json. False: some other document.
  bool see_daemon(const Text& text) {
    const Position where{text.file, 1, 0};
    const auto document = nlohmann::json::parse(text.content, nullptr, false);
    if (document.is_discarded()) {
      const bool whole = text.file.find("daemon") != std::string::npos;
      if (!whole) return false;
      broken_.push_back({"is no JSON: dockerd does not start with it", where});
      return true;
    }
    bool known = text.file.find("daemon") != std::string::npos;
    for (const char* key : {"runtimes", "default-runtime", "data-root", "storage-driver"})
      known = known || document.contains(key);
    if (!known) return false;
    parts_.try_emplace("docker", where);
    const auto runtimes = document.find("runtimes");
    std::set<std::string> names;
    if (runtimes != document.end() && runtimes->is_object()) {
      for (const auto& [name, runtime] : runtimes->items()) {
        names.insert(name);
        if (name == "nvidia") is_configured("a runtime of docker", where);
        if (runtime.is_object() && runtime.contains("path") && runtime["path"].is_string())
          runtime_paths_[name] = {runtime["path"].get<std::string>(), where};
      }
    }
    const auto chosen = document.find("default-runtime");
    if (chosen != document.end() && chosen->is_string()) {
      const auto name = chosen->get<std::string>();
      if (name != "runc" && names.count(name) == 0) {
        broken_.push_back(
            {fmt::format("the default runtime {} is not among the runtimes", name), where});
      }
    }
    return true;
  }

  void judge_nvidia(bool gpus, CheckResult& check) const {
    const auto cli = versions_.find("libnvidia-container (cli)"),
               library = versions_.find("libnvidia-container (lib)");
    if (cli != versions_.end() && library != versions_.end() &&
        cli->second.text != library->second.text) {
      check.add(Health::kInvestigate, "runtime-nvidia", {},
                fmt::format("nvidia-container-cli is {}, its library {}: two versions are mixed",
                            cli->second.text, library->second.text),
                library->second.where);
    }
    const bool toolkit = versions_.count("nvidia-container-toolkit") > 0 ||
                         cli != versions_.end() || parts_.count("nvidia-container-toolkit") > 0;
    if (const auto found = versions_.find("nvidia-container-toolkit"); found != versions_.end()) {
      // NVIDIA's security bulletin of July 2025, CVE-2025-23266: a container could become root.
      constexpr const char* kLeast = "1.17.8";
      const auto order = compare_versions(found->second.text, kLeast);
      if (order && *order < 0) {
        check.add(Health::kFlag, "runtime-nvidia", {},
                  fmt::format("NVIDIA container toolkit {}: below {} a container can take over the "
                              "host (CVE-2025-23266)",
                              found->second.text, kLeast),
                  found->second.where);
      }
    }
    for (const auto& [how, told] : nvidia_) {
      check.add(Health::kOk, "runtime-nvidia", {}, "NVIDIA's is " + told.text, told.where);
    }
    if (!gpus) return;
    const bool any =
        parts_.count("docker") + parts_.count("containerd") + parts_.count("enroot") > 0;
    if (!any) {
      check.add(Health::kUnknown, "runtime-nvidia", {}, "no runtime is told of");
    } else if (!toolkit && nvidia_.empty()) {
      check.add(Health::kInvestigate, "runtime-nvidia", {},
                "the host has GPUs, and NVIDIA's container toolkit is not there: containers see no "
                "GPU");
    } else if (nvidia_.empty() && parts_.count("docker") > 0) {
      check.add(Health::kFlag, "runtime-nvidia", {},
                "docker knows neither NVIDIA's runtime nor its CDI devices: `nvidia-ctk runtime "
                "configure` adds them");
    }
  }

  std::map<std::string, Position, std::less<>> parts_;
  std::map<std::string, Told> versions_, nvidia_, runtime_paths_;
  std::vector<Told> broken_, silent_, missing_;
  std::optional<Told> pyxis_;
};

}  // namespace

void read_container_runtime(const Text& text, const Host& /*host*/, CheckResult& check) {
  Runtimes runtimes;
  runtimes.see(text);
  const std::size_t before = check.observations().size();
  if (!runtimes.empty()) runtimes.judge(false, check);
  if (check.observations().size() == before) {
    check.add(Health::kUnknown, "runtime-empty", {},
              "nothing was understood as docker info, versions or configurations of runtimes",
              {text.file, 0, 0});
  }
}

void look_at_container_runtime(const HostView& view, const Host& host, CheckResult& check) {
  Runtimes runtimes;
  bool commands = false;
  const std::pair<const char*, std::vector<std::string>> asked[] = {
      {"docker", {"docker", "info"}},
      {"docker", {"docker", "--version"}},
      {"containerd", {"containerd", "--version"}},
      {"enroot", {"enroot", "version"}},
      {"nvidia-container-toolkit", {"nvidia-ctk", "--version"}},
      {"nvidia-container-toolkit", {"nvidia-container-cli", "--version"}},
  };
  for (const auto& [part, argv] : asked) {
    const auto result = view.run(argv, std::chrono::seconds(20));
    const std::string name = fmt::format("{}", fmt::join(argv, " "));
    if (!result) {
      if (result.findings().front().rule != "no-command")
        check.add(Health::kError, "command", name, result.findings().front().message);
      continue;
    }
    commands = true;
    if (result->timed_out) {
      check.add(Health::kInvestigate, "command-hangs", name, "does not end within 20 s");
      continue;
    }
    runtimes.is_installed(part);
    runtimes.see({name, result->out + result->err});
  }
  for (const char* file :
       {"/etc/docker/daemon.json", "/etc/containerd/config.toml", "/etc/slurm/plugstack.conf",
        "/etc/slurm/plugstack.conf.d/pyxis.conf", "/opt/slurm/etc/plugstack.conf",
        "/opt/slurm/etc/plugstack.conf.d/pyxis.conf"}) {
    if (const auto text = view.file(file)) runtimes.see({file, *text});
  }
  for (const char* spec : {"/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"}) {
    if (view.exists(spec)) runtimes.is_configured("told by CDI", {spec, 0, 0});
  }
  for (const char* hook : {"/etc/enroot/hooks.d/98-nvidia.sh"}) {
    if (view.exists(hook)) runtimes.is_configured("a hook of enroot", {hook, 0, 0});
  }
  for (const auto& [name, told] : runtimes.runtime_paths()) {
    if (told.text.starts_with('/') && !view.exists(told.text))
      runtimes.is_missing(fmt::format("the runtime {} is {}, which is not there", name, told.text),
                          told.where);
  }
  if (runtimes.pyxis() && runtimes.pyxis()->text.starts_with('/') &&
      !view.exists(runtimes.pyxis()->text)) {
    runtimes.is_missing(runtimes.pyxis()->text + " is not there: Slurm does not start jobs",
                        runtimes.pyxis()->where);
  }
  if (runtimes.empty() && !commands) {
    const bool shown = view.exists("/etc") || view.exists("/proc");
    check.add(shown ? Health::kNotApplicable : Health::kUnknown, "none", {},
              shown ? "no container runtime on this host" : "the host does not show /etc");
    return;
  }
  const bool gpus =
      host.accelerators("gpu").value_or(0) > 0 || nvidia_devices(view).value_or(0) > 0;
  runtimes.judge(gpus, check);
}

}  // namespace muster::health
