// What NCCL and NVSHMEM need to use EFA, and whether they did. Without it they fall back to sockets
// and say so in one line among thousands, or do not start.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"
#include "base/words.h"
#include "health/look.h"
#include "health/readers.h"

namespace muster::health {
namespace {

/// Where EFA installers and public images put the plugin, newest first.
constexpr std::array<const char*, 5> kPluginFolders = {
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu", "/opt/amazon/ofi-nccl/lib",
    "/opt/aws-ofi-nccl/lib", "/opt/aws-ofi-nccl/install/lib", "/opt/amazon/efa/lib"};

bool is_plugin(std::string_view name) {
  return name.starts_with("libnccl-net") && name.find(".so") != std::string_view::npos;
}

class FabricReader {
 public:
  FabricReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read() {
    for (const Line& line : lines_of(text_.content)) {
      const std::string bare(trimmed(line.text));
      if (bare.empty()) continue;
      see_environment(line, bare);
      see_libraries(line, bare);
      see_versions(line, bare);
      see_loader(line, bare);
      see_nccl(line, bare);
      see_imex(line, bare);
    }
    finish();
    if (!seen_) {
      check_.add(Health::kUnknown, "fabric-empty", {},
                 "nothing tells of variables, libraries, versions or what NCCL chose",
                 {text_.file, 0, 0});
    }
  }

 private:
  void add(Health health, const char* rule, const std::string& evidence, int line) {
    check_.add(health, rule, {}, evidence, {text_.file, line, 0});
    seen_ = true;
  }

  bool efa_expected() const { return host_.efa_devices().value_or(0) > 0; }

  /// NAME=value, as env prints it.
  void see_environment(const Line& line, const std::string& bare) {
    static thread_local const Regex& form = pattern(R"(^(?:export )?([A-Z][A-Z0-9_]*)=(.*)$)");
    Regex::Match match;
    if (!finds(form, bare, match)) return;
    const std::string name(group(match, 1)), value(group(match, 2));
    if (environment_line_ == 0) environment_line_ = line.number;
    if (name == "LD_LIBRARY_PATH") {
      path_ = value;
      path_line_ = line.number;
    }
    if (name == "NVSHMEM_IB_ENABLE_IBGDA" && value != "0" && lower_case(value) != "false") {
      ibgda_line_ = line.number;
    }
  }

  /// `ls`, `ldconfig -p`, `find`: any line that names a shared library.
  void see_libraries(const Line& line, const std::string& bare) {
    if (bare.find(".so") == std::string::npos || bare.find("error") != std::string::npos ||
        bare.find("not found") != std::string::npos || bare.find('=') == 0) {
      return;
    }
    for (const auto word : words_of(bare)) {
      const std::string_view file = word.substr(word.rfind('/') + 1);
      if (!file.starts_with("lib") || file.find(".so") == std::string_view::npos) continue;
      ++libraries_;
      if (libraries_line_ == 0) libraries_line_ = line.number;
      if (is_plugin(file)) plugin_ = file;
    }
  }

  /// "libfabric: 1.17.1" of fi_info --version; "built with libfabric 1.18" and alike of the plugin.
  void see_versions(const Line& line, const std::string& bare) {
    static thread_local const Regex& runtime = pattern(R"(^libfabric: (\d[\w.]*))");
    static thread_local const Regex& built =
        pattern(R"((?:built|compiled|build)\b.*\blibfabric(?: version)?:? v?(\d[\w.]*))");
    Regex::Match match;
    const std::string lower = lower_case(bare);
    if (finds(runtime, lower, match)) {
      runtime_ = group(match, 1);
      runtime_line_ = line.number;
    } else if (finds(built, lower, match)) {
      built_ = group(match, 1);
      built_line_ = line.number;
    }
  }

  /// The loader: "…/librdmacm.so.1: version `IBVERBS_PRIVATE_34' not found (required by …)",
  /// "symbol lookup error: LIB: undefined symbol: NAME, version V", "cannot open shared object".
  void see_loader(const Line& line, const std::string& bare) {
    static thread_local const Regex& version =
        pattern(R"((\S+): version [`'"]([^'"]+)['"] not found \(required by ([^)]+)\))");
    static thread_local const Regex& symbol = pattern(
        R"((?:symbol lookup error: )?(\S+): undefined symbol: ([^\s,]+)(?:, version (\S+))?)");
    static thread_local const Regex& missing = pattern(R"((\S+): cannot open shared object file)");
    Regex::Match match;
    if (finds(version, bare, match)) {
      add(Health::kInvestigate, "fabric-loader",
          fmt::format("{} wants {} of {}, which is another build of it: two copies are mixed",
                      group(match, 3), group(match, 2), group(match, 1)),
          line.number);
    } else if (finds(symbol, bare, match)) {
      add(Health::kInvestigate, "fabric-loader",
          fmt::format(
              "{} wants the symbol {}{}, which no library loaded has", group(match, 1),
              group(match, 2),
              match.groups[3] ? fmt::format(" of version {}", group(match, 3)) : std::string()),
          line.number);
    } else if (finds(missing, bare, match)) {
      add(Health::kInvestigate, "fabric-loader",
          fmt::format("{} can't be loaded: it is not there", group(match, 1)), line.number);
    }
  }

  /// What NCCL's own log says that it chose.
  void see_nccl(const Line& line, const std::string& bare) {
    static thread_local const Regex& good = pattern(
        R"(NET/OFI Selected [Pp]rovider is efa|Using network (?:AWS )?Libfabric|via NET/.*Libfabric)");
    static thread_local const Regex& bad = pattern(
        R"(NET/Socket ?: Using|Using network Socket|NET/Plugin ?: Could not find: \S+|Failed to open libibverbs|No plugin found|aws-ofi-nccl initialization failed)");
    Regex::Match match;
    if (finds(bad, bare, match)) {
      const bool sockets = bare.find("Socket") != std::string::npos;
      if (sockets && !socket_told_) {
        add(host_.efa_devices() == 0 ? Health::kFlag : Health::kInvestigate, "fabric-sockets",
            "NCCL uses sockets: " + bare, line.number);
        socket_told_ = true;
      } else if (!sockets) {
        add(Health::kFlag, "fabric-plugin", bare, line.number);
      }
    } else if (finds(good, bare, match) && !good_told_) {
      add(Health::kOk, "fabric-chosen", bare, line.number);
      good_told_ = true;
    }
  }

  /// IMEX, which the NVLink of several hosts needs.
  void see_imex(const Line& line, const std::string& bare) {
    static thread_local const Regex& absent = pattern(
        R"(nvidia-imex(?:-ctl)?: (?:command )?not found|IMEX .*(?:not running|not available|absent|inactive)|(?:cuMemSetAccess|CUDA_ERROR_NOT_PERMITTED).*)");
    Regex::Match match;
    if (finds(absent, bare, match)) {
      add(Health::kSkipped, "fabric-imex",
          "memory of other hosts can't be mapped without the IMEX service: " + bare, line.number);
    }
  }

  void finish() {
    if (ibgda_line_ > 0) {
      add(efa_expected() ? Health::kInvestigate : Health::kFlag, "fabric-ibgda",
          efa_expected()
              ? "NVSHMEM_IB_ENABLE_IBGDA asks for a network card that a GPU can drive (mlx5), and "
                "EFA can't be: use UCCL-EP, DeepEP's normal kernels, or NVSHMEM over libfabric "
                "(NVSHMEM_REMOTE_TRANSPORT=libfabric)"
              : "NVSHMEM_IB_ENABLE_IBGDA works with mlx5 network cards only",
          ibgda_line_);
    }
    if (environment_line_ > 0) finish_path();
    if (libraries_ > 0) {
      if (!plugin_.empty()) {
        add(Health::kOk, "fabric-plugin", fmt::format("NCCL's plugin is there: {}", plugin_),
            libraries_line_);
      } else if (efa_expected()) {
        add(Health::kInvestigate, "fabric-plugin",
            fmt::format("none of {} libraries is libnccl-net*.so: NCCL would use sockets; install "
                        "aws-ofi-nccl",
                        libraries_),
            libraries_line_);
      } else {
        add(Health::kUnknown, "fabric-plugin",
            fmt::format("none of {} libraries is libnccl-net*.so", libraries_), libraries_line_);
      }
    }
    if (built_.empty() && runtime_.empty()) return;
    if (built_.empty() || runtime_.empty()) {
      add(Health::kUnknown, "fabric-libfabric",
          fmt::format("only one of two versions is told: libfabric {}",
                      built_.empty() ? runtime_ + " at run time" : built_ + " at build time"),
          std::max(built_line_, runtime_line_));
      return;
    }
    const auto order = compare_versions(runtime_, built_);
    const Health health = !order       ? Health::kUnknown
                          : *order < 0 ? Health::kInvestigate
                                       : Health::kOk;
    add(health, "fabric-libfabric",
        fmt::format("the plugin was built with libfabric {}, {} is loaded{}", built_, runtime_,
                    health == Health::kInvestigate ? ": it will not start" : ""),
        runtime_line_);
  }

  /// On a node with EFA, the loader has to find the plugin.
  void finish_path() {
    const bool known =
        std::any_of(kPluginFolders.begin(), kPluginFolders.end(), [&](const char* folder) {
          std::string_view rest = path_;
          while (!rest.empty()) {
            const std::size_t colon = std::min(rest.find(':'), rest.size());
            std::string_view one = rest.substr(0, colon);
            while (one.size() > 1 && one.ends_with('/')) one.remove_suffix(1);
            if (one == folder) return true;
            rest.remove_prefix(std::min(colon + 1, rest.size()));
          }
          return false;
        });
    if (known) {
      add(Health::kOk, "fabric-path", "LD_LIBRARY_PATH holds a folder of the plugin", path_line_);
    } else if (efa_expected()) {
      add(Health::kInvestigate, "fabric-path",
          fmt::format("LD_LIBRARY_PATH{} holds no folder of NCCL's plugin for EFA; add "
                      "export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH",
                      path_.empty() ? " is not set and so" : "", kPluginFolders.front()),
          path_line_ > 0 ? path_line_ : environment_line_);
    } else if (ibgda_line_ == 0) {
      add(Health::kOk, "fabric-path", "variables were read; no EFA is expected", environment_line_);
    }
  }

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  bool seen_ = false, socket_told_ = false, good_told_ = false;
  std::string path_, plugin_, built_, runtime_;
  int environment_line_ = 0, path_line_ = 0, ibgda_line_ = 0, libraries_ = 0, libraries_line_ = 0,
      built_line_ = 0, runtime_line_ = 0;
};

}  // namespace

void read_fabric(const Text& text, const Host& host, CheckResult& check) {
  FabricReader(text, host, check).read();
}

void look_at_fabric(const HostView& view, const Host& host, CheckResult& check) {
  const bool fabric = view.list("/sys/class/infiniband").ok();
  if (!fabric && host.efa_devices().value_or(0) == 0) {
    check.add(view.exists("/sys/class") ? Health::kNotApplicable : Health::kUnknown, "none", {},
              view.exists("/sys/class") ? "no RDMA device on this host"
                                        : "the host does not show /sys/class");
    return;
  }
  for (const char* folder : kPluginFolders) {
    const auto names = view.list(folder);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!is_plugin(name)) continue;
      check.add(Health::kOk, "fabric-plugin", {},
                fmt::format("NCCL's plugin is there: {}/{}", folder, name));
      return;
    }
  }
  // The host may leave it to the containers.
  check.add(
      Health::kFlag, "fabric-plugin", {},
      fmt::format("no libnccl-net*.so in {}: only a container that brings its own can use EFA",
                  fmt::join(kPluginFolders, ", ")));
}

}  // namespace muster::health
