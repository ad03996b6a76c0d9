// Versions of what a node needs to run GPUs over EFA, found where each is installed, against the
// floors and the rows of facts/versions.yaml that say what goes together.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/version.h"
#include "base/words.h"
#include "facts/compatibility.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

struct VersionForm {
  const char* component;  ///< as facts/versions.yaml names it
  const char* text;       ///< its first group is the version
};

constexpr VersionForm kVersionForms[] = {
    {"efa", R"(EFA installer version: (\d[\w.]*))"},
    {"libfabric", R"(^libfabric: (\d[\w.]*))"},
    {"ofi_nccl", R"(NET/OFI Initializing aws-ofi-nccl v?(\d[\d.]*))"},
    {"nvidia_driver", R"(Driver Version: (\d[\d.]+))"},
    {"nvidia_driver", R"(<driver_version>(\d[\d.]+)</driver_version>)"},
    {"nvidia_driver", R"(NVRM version: NVIDIA UNIX .*Kernel Module.*?\s(\d{3}\.[\d.]+))"},
    {"cuda", R"(Cuda compilation tools, release [\d.]+, V(\d[\d.]+))"},
    {"nccl", R"(libnccl\.so\.(\d+\.\d+\.\d+))"},
    {"nccl", R"(NCCL version (\d+\.\d+\.\d+))"},
    {"fabric_manager", R"(^Fabric Manager version is ?: ?(\d[\d.]+))"},
    {"fabric_manager", R"(^ii\s+nvidia-fabricmanager(?:-\d+)?(?::\w+)?\s+(\d[\d.]+))"},
    {"nvidia_container_toolkit",
     R"(NVIDIA Container (?:Toolkit CLI|Runtime Hook) version (\d[\w.]*))"},
    {"neuron_driver", R"(^ii\s+aws-neuronx-dkms\s+(\d[\d.]+))"},
};

class VersionReader {
 public:
  VersionReader(const Host& host, CheckResult& check) : host_(host), check_(check) {
    if (host.instance && host.instance->accelerators &&
        host.instance->accelerators->kind == "gpu") {
      selection_.gpus.push_back(host.instance->accelerators->model);
    }
  }

  void see(const Text& text) {
    for (const Line& line : lines_of(text.content)) {
      const std::string bare(trimmed(line.text));
      Regex::Match match;
      for (const VersionForm& form : kVersionForms) {
        if (finds(pattern(form.text), bare, match))
          found(form.component, std::string(group(match, 1)), {text.file, line.number, 0});
      }
    }
  }

  bool empty() const { return selection_.versions.empty(); }

  void judge() {
    for (const auto& [component, chosen] : selection_.versions) {
      const std::string floor = floor_of(component);
      const auto order = floor.empty() ? 0 : compare_versions(chosen.version, floor);
      if (!order) {
        check_.add(Health::kUnknown, "version-floor", component,
                   fmt::format("{} can't be compared with {}", chosen.version, floor),
                   chosen.where);
      } else if (*order < 0) {
        check_.add(Health::kFlag, "version-floor", component,
                   fmt::format("{} is older than {}", chosen.version, floor), chosen.where);
      } else {
        check_.add(
            Health::kOk, "version", component,
            floor.empty() ? chosen.version : fmt::format("{}, not below {}", chosen.version, floor),
            chosen.where);
      }
    }
    if (host_.versions == nullptr) return;
    for (const Finding& one : facts::check_compatibility(selection_, *host_.versions)) {
      // The fabric of NVSwitch does not come up so; the rest starts, or says why not.
      const bool fatal = one.message.find("fabric_manager") != std::string::npos;
      check_.add(one.rule == "version-unverified" ? Health::kUnknown
                 : fatal                          ? Health::kInvestigate
                                                  : Health::kFlag,
                 one.rule, {}, one.message, one.where);
    }
  }

 private:
  std::string floor_of(const std::string& component) const {
    if (host_.versions == nullptr) return {};
    const auto floor = host_.versions->floors.find(component);
    return floor == host_.versions->floors.end() ? std::string() : floor->second;
  }

  /// Several copies of one thing: the first counts, and that there are others is told.
  void found(const char* component, std::string version, const Position& where) {
    const auto [place, is_new] =
        selection_.versions.try_emplace(component, facts::Chosen{version, where});
    if (is_new || place->second.version == version) return;
    check_.add(Health::kFlag, "version-mixed", component,
               fmt::format("{} beside {}", version, place->second.version), where);
  }

  const Host& host_;
  CheckResult& check_;
  facts::Selection selection_;
};

}  // namespace

void read_versions(const Text& text, const Host& host, CheckResult& check) {
  VersionReader reader(host, check);
  reader.see(text);
  if (reader.empty()) {
    check.add(
        Health::kUnknown, "version-empty", {},
        "no version of a driver, of EFA, libfabric, aws-ofi-nccl, NCCL or CUDA was understood",
        {text.file, 0, 0});
    return;
  }
  reader.judge();
}

void look_at_versions(const HostView& view, const Host& host, CheckResult& check) {
  VersionReader reader(host, check);
  for (const char* file : {"/opt/amazon/efa_installed_packages", "/proc/driver/nvidia/version"}) {
    if (const auto text = view.file(file)) reader.see({file, *text});
  }
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"fi_info", "--version"},
                                               {"/opt/amazon/efa/bin/fi_info", "--version"},
                                               {"nvcc", "--version"},
                                               {"/usr/local/cuda/bin/nvcc", "--version"},
                                               {"ldconfig", "-p"},
                                               {"nv-fabricmanager", "--version"},
                                               {"nvidia-ctk", "--version"}}) {
    const auto result = view.run(argv, std::chrono::seconds(20));
    if (!result) continue;
    const std::string name = fmt::format("{}", fmt::join(argv, " "));
    if (result->timed_out)
      check.add(Health::kInvestigate, "command-hangs", name, "does not end within 20 s");
    else
      reader.see({name, result->out + result->err});
  }
  // The plugin says its version in its own text, and in its log.
  for (const char* folder : {"/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
                             "/opt/amazon/ofi-nccl/lib", "/opt/aws-ofi-nccl/lib"}) {
    const auto library = view.file(std::filesystem::path(folder) / "libnccl-net.so");
    if (!library) continue;
    constexpr std::string_view kMark = "NET/OFI Initializing aws-ofi-nccl ";
    const std::size_t at = library->find(kMark);
    if (at != std::string::npos)
      reader.see({std::string(folder) + "/libnccl-net.so", library->substr(at, kMark.size() + 32)});
    break;
  }
  if (!reader.empty()) return reader.judge();
  const auto gpus = nvidia_devices(view);
  const bool fabric = view.exists("/sys/class/infiniband");
  const bool wanted =
      host.accelerators("gpu").value_or(0) > 0 || host.efa_devices().value_or(0) > 0;
  if (gpus == 0 && !fabric && !wanted) {
    check.add(Health::kNotApplicable, "none", {}, "neither GPUs nor a fabric on this host");
  } else {
    check.add(Health::kUnknown, "version-empty", {},
              "no version of a driver, of EFA, libfabric, aws-ofi-nccl, NCCL or CUDA was found");
  }
}

}  // namespace muster::health
