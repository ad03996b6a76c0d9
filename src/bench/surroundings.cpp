// What a log tells beside its rows: the network that NCCL chose, variables of the environment, the
// links between GPUs, and that something broke.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/words.h"
#include "bench/reader.h"

namespace muster::bench {

struct Surroundings::State {
  const Regex& efa =
      pattern(R"(NET/OFI Selected [Pp]rovider is (\S+?)(?:,.*)?(?: \(found (\d+) nics\))?$)");
  const Regex& network = pattern(R"(Using network (\S.*?)\s*$)");
  const Regex& socket = pattern(R"(NET/Socket ?: Using )");
  const Regex& infiniband = pattern(R"(NET/IB ?: Using )");
  const Regex& failed = pattern(
      R"(aws-ofi-nccl initialization failed|NET/Plugin ?: Could not find: \S+|Failed to open libibverbs\S*|No plugin found|NET/IB ?: No device found|NET/OFI .*(?:Couldn't|not find) .*provider)");
  const Regex& set = pattern(R"(\b([A-Z][A-Z0-9_]+) set by environment to (\S+?)\.?\s*$)");
  const Regex& exported = pattern(R"((?:^|[\s;])(?:-x |export |--env )([A-Z][A-Z0-9_]+)=(\S+))");
  const Regex& version = pattern(R"(NCCL version (\d+\.\d+\.\d+))");
  const Regex& init = pattern(R"(\bcomm 0x[0-9a-f]+ rank \d+ nranks (\d+))");
  const Regex& path = pattern(R"(GPU/\S+ \((\d+)/([0-9.]+)/(LOC|NVL|NVB|PIX|PXB|PHB|SYS|NODE)\))");
  const Regex& broken = pattern(
      R"(srun: error: .*(?:Killed|Terminated|Segmentation|Aborted|Exited|exit code)|mpirun noticed|exited on signal|Segmentation fault|core dumped|slurmstepd: error:|DUE TO TIME LIMIT|oom-kill|Out Of Memory|unhandled (?:system|cuda) error|Traceback \(most recent)");

  bool shared_memory = false, peer = false;
  double slowest = 0;
  std::string slowest_kind;
  int path_line = 0;

  bool matrix = false;
  std::map<std::string, int> links;  ///< of nvidia-smi topo -m, how many of each
  int matrix_line = 0;

  void see_topology(const LogLine& line);
};

/// The matrix of nvidia-smi topo -m and the paths that NCCL prints.
void Surroundings::State::see_topology(const LogLine& line) {
  Regex::Match match;
  std::size_t from = 0;
  const bool paths = line.text.find("GPU/") != std::string::npos;
  while (paths && path.search(line.text, from, match) == Regex::Found::kYes) {
    from = match.end;
    const std::string_view kind = group(match, 3);
    const auto rate = finite(group(match, 2));
    if (kind == "LOC" || !rate || line.text.find("GPU/", match.begin) == std::string::npos)
      continue;
    if (slowest == 0 || *rate < slowest) {
      slowest = *rate;
      slowest_kind = kind;
      path_line = line.number;
    }
  }
  const auto words = words_of(line.text);
  if (words.size() > 1 && words[0] == "GPU0" && words[1] == "GPU1") {
    matrix = true;
    return;
  }
  if (!matrix || words.empty() || !words[0].starts_with("GPU")) {
    if (matrix && !words.empty() && words[0].starts_with("NIC")) return;
    if (words.empty() || !matrix) matrix = false;
    return;
  }
  constexpr std::array<std::string_view, 5> kKinds = {"SYS", "NODE", "PHB", "PXB", "PIX"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool known = std::find(kKinds.begin(), kKinds.end(), words[i]) != kKinds.end();
    if (!known && !words[i].starts_with("NV") && words[i] != "X") break;
    if (words[i] == "X") continue;
    ++links[std::string(words[i].starts_with("NV") ? std::string_view("NV") : words[i])];
    matrix_line = line.number;
  }
}

Surroundings::Surroundings() : state_(std::make_unique<State>()) {}
Surroundings::~Surroundings() = default;

void Surroundings::see(const LogLine& line, LogBuilder& builder) {
  State& at = *state_;
  const std::string& text = line.text;
  Regex::Match match;
  const auto note = [&](Transport::Kind kind, std::string name) {
    constexpr std::size_t kMost = 1000;
    if (builder.log.transports.size() >= kMost) return;
    builder.log.transports.push_back(
        {kind, std::move(name), line.number, std::string(trimmed(text)), std::nullopt});
  };
  if (text.find("NET/") != std::string::npos || text.find("network") != std::string::npos ||
      text.find("ofi") != std::string::npos || text.find("ibverbs") != std::string::npos ||
      text.find("plugin") != std::string::npos) {
    if (finds(at.efa, text, match)) {
      const std::string name = lower_case(group(match, 1));
      note(name.starts_with("efa") ? Transport::Kind::kFast : Transport::Kind::kSlow,
           name.starts_with("efa") ? "efa" : name);
      if (const auto count = whole(group(match, 2)))
        builder.log.transports.back().devices = static_cast<int>(*count);
    } else if (finds(at.failed, text, match)) {
      note(Transport::Kind::kFailed,
           std::string(match.begin < match.end ? text.substr(match.begin, match.end - match.begin)
                                               : text));
    } else if (finds(at.socket, text, match)) {
      note(Transport::Kind::kSlow, "socket");
    } else if (finds(at.infiniband, text, match)) {
      note(Transport::Kind::kFast, "ib");
    } else if (finds(at.network, text, match)) {
      const std::string name = lower_case(group(match, 1));
      note(name == "socket" ? Transport::Kind::kSlow : Transport::Kind::kFast,
           name.find("libfabric") != std::string::npos ? "libfabric" : name);
    }
  }
  if (text.starts_with("# muster-bench version ") && text.find(" gloo: ") != std::string::npos)
    note(Transport::Kind::kSlow, "tcp");
  const bool set = text.find("set by environment") != std::string::npos;
  if (set && finds(at.set, text, match)) {
    builder.set(std::string(group(match, 1)), std::string(group(match, 2)));
  } else if (text.find('=') != std::string::npos) {
    std::size_t from = 0;
    while (at.exported.search(text, from, match) == Regex::Found::kYes) {
      builder.set(std::string(group(match, 1)), std::string(group(match, 2)));
      from = match.end;
    }
  }
  if (text.find("NCCL version") != std::string::npos && finds(at.version, text, match))
    builder.log.nccl = group(match, 1);
  if (text.find("nranks") != std::string::npos && finds(at.init, text, match)) {
    const int ranks = static_cast<int>(whole(group(match, 1)).value_or(0));
    builder.log.nranks = std::max(builder.log.nranks.value_or(0), ranks);
  }
  at.shared_memory = at.shared_memory || text.find("via SHM/") != std::string::npos;
  at.peer = at.peer || text.find("via P2P/") != std::string::npos;
  at.see_topology(line);
  if (finds(at.broken, text, match)) builder.broke(line);
}

void Surroundings::finish(LogBuilder& builder) {
  const State& at = *state_;
  // NCCL's own figures for the effective rate of a link: PCIe 4 x16, and between two sockets.
  constexpr double kPcie = 24, kSockets = 10;
  double rate = at.slowest;
  std::string kind = at.slowest_kind;
  int line = at.path_line;
  if (rate == 0 && !at.links.empty()) {
    if (at.links.count("NV") > 0) return;  // NVLink: the instance's facts know better
    const bool sockets = at.links.count("SYS") > 0;
    rate = sockets ? kSockets : kPcie;
    kind = sockets ? "SYS" : at.links.count("PHB") > 0 ? "PHB" : at.links.begin()->first;
    line = at.matrix_line;
  }
  if (rate == 0 || kind == "NVL" || kind == "NVB") return;
  // GeForce cards of the 40 series on have, by their driver, no peer access; and across sockets
  // NCCL does not use it unless told to.
  bool geforce = false;
  for (const Run& run : builder.log.runs) {
    for (const Device& device : run.devices) {
      geforce = geforce || device.name.find("GeForce RTX 4") != std::string::npos ||
                device.name.find("GeForce RTX 5") != std::string::npos;
    }
  }
  const bool staged = !at.peer && (at.shared_memory || geforce || kind == "SYS");
  builder.log.topology_busbw = staged ? rate / 2 : rate;
  builder.log.topology_how = fmt::format(
      "the slowest link between two GPUs is {} ({:g} GB/s, line {}){}", kind, rate, line,
      staged ? ", and without peer access every byte crosses it twice, through "
               "the host's memory"
             : "");
}

}  // namespace muster::bench
