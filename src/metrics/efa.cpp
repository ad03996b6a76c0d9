#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "base/words.h"
#include "metrics/collectors.h"

namespace muster::metrics {
namespace {

const std::filesystem::path kClass = "/sys/class/infiniband";

struct Help {
  const char *counter, *text;
};

/// Of EFA driver r3.1.0. What stands not here is told as the driver's.
constexpr std::array<Help, 36> kHelp = {{
    {"tx_bytes", "Bytes sent"},
    {"rx_bytes", "Bytes received"},
    {"tx_pkts", "Packets sent"},
    {"rx_pkts", "Packets received"},
    {"rx_drops", "Packets dropped on receipt"},
    {"send_bytes", "Bytes of send work requests"},
    {"send_wrs", "Send work requests"},
    {"recv_bytes", "Bytes of receive work requests"},
    {"recv_wrs", "Receive work requests"},
    {"rdma_read_wrs", "RDMA read work requests"},
    {"rdma_read_bytes", "Bytes read by RDMA"},
    {"rdma_read_wr_err", "RDMA read work requests that failed"},
    {"rdma_read_resp_bytes", "Bytes that peers read by RDMA"},
    {"rdma_write_wrs", "RDMA write work requests"},
    {"rdma_write_bytes", "Bytes written by RDMA"},
    {"rdma_write_wr_err", "RDMA write work requests that failed"},
    {"rdma_write_recv_bytes", "Bytes that peers wrote by RDMA"},
    {"retrans_bytes", "Bytes sent again"},
    {"retrans_pkts", "Packets sent again"},
    {"retrans_timeout_events", "Times that a retransmission ran out of time"},
    {"unresponsive_remote_events", "Times that a peer did not answer"},
    {"impaired_remote_conn_events", "Times that the connection to a peer was impaired"},
    {"submitted_cmds", "Commands given to the device"},
    {"completed_cmds", "Commands that the device completed"},
    {"no_completion_cmds", "Commands that the device did not complete"},
    {"cmds_err", "Commands that failed"},
    {"keep_alive_rcvd", "Signs of life of the device"},
    {"alloc_pd_err", "Protection domains that could not be made"},
    {"create_qp_err", "Queue pairs that could not be made"},
    {"create_cq_err", "Completion queues that could not be made"},
    {"reg_mr_err", "Memory regions that could not be registered"},
    {"alloc_mr_err", "Memory regions that could not be made"},
    {"get_dma_mr_err", "Memory regions for DMA that could not be got"},
    {"alloc_ucontext_err", "User contexts that could not be made"},
    {"create_ah_err", "Address handles that could not be made"},
    {"mmap_err", "Mappings that failed"},
}};

std::string help_of(std::string_view counter) {
  for (const Help& help : kHelp) {
    if (counter == help.counter) return help.text;
  }
  return fmt::format("{} of the driver", counter);
}

/// The counters in a folder; how many could not be read.
int collect_folder(const health::HostView& view, const std::filesystem::path& folder,
                   const Labels& labels, Exposition& to) {
  const auto names = view.list(folder);
  if (!names) return 0;  // older drivers have no counters of the device
  int failed = 0;
  for (const std::string& name : *names) {
    if (name == "lifespan") continue;  // how long the kernel keeps the figures, no counter
    const auto text = view.file(folder / name);
    const auto value = text ? whole(trimmed(first_line(*text))) : std::nullopt;
    if (!value) {
      ++failed;
      continue;
    }
    to.add("node_amazonefa_" + metric_name(name), Type::kCounter, help_of(name), labels,
           static_cast<double>(*value));
  }
  return failed;
}

}  // namespace

void collect_efa(const health::HostView& view, Exposition& to) {
  const auto devices = view.list(kClass);
  if (!devices) return;
  int failed = 0;
  for (const std::string& device : *devices) {
    to.add("node_amazonefa_info", Type::kGauge, "1 for each device", {{"device", device}}, 1);
    failed += collect_folder(view, kClass / device / "hw_counters", {{"device", device}}, to);
    const auto ports = view.list(kClass / device / "ports");
    if (!ports) {
      ++failed;
      continue;
    }
    for (const std::string& port : *ports) {
      failed += collect_folder(view, kClass / device / "ports" / port / "hw_counters",
                               {{"device", device}, {"port", port}}, to);
    }
  }
  to.add("muster_collector_unreadable", Type::kGauge, "Files that a collector could not read",
         {{"collector", "efa"}}, failed);
}

}  // namespace muster::metrics
