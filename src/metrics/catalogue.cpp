#include "metrics/catalogue.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

namespace muster::metrics {
namespace {

constexpr char kPattern = '*';

bool fits(const MetricRow& row, std::string_view name) {
  const std::string_view own = row.name;
  return own.back() == kPattern ? name.starts_with(own.substr(0, own.size() - 1)) : own == name;
}

}  // namespace

const std::vector<MetricRow>& catalogue() {
  static const std::vector<MetricRow> kRows = [] {
    std::vector<MetricRow> rows;
    for (const auto& part :
         {efa_rows(), gpu_rows(), slurm_rows(), result_rows(), exporter_rows()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return kRows;
}

const MetricRow* find_metric(std::string_view name) {
  static const std::map<std::string_view, const MetricRow*> kByName = [] {
    std::map<std::string_view, const MetricRow*> rows;
    for (const MetricRow& row : catalogue()) rows[row.name] = &row;
    return rows;
  }();
  if (const auto found = kByName.find(name); found != kByName.end()) return found->second;
  const auto& rows = catalogue();
  const auto pattern =
      std::find_if(rows.begin(), rows.end(), [&](const MetricRow& row) { return fits(row, name); });
  return pattern == rows.end() ? nullptr : &*pattern;
}

const MetricRow& metric_row(std::string_view name) {
  const MetricRow* row = find_metric(name);
  if (row == nullptr) throw std::logic_error(fmt::format("no metric is called {}", name));
  return *row;
}

std::vector<std::string> label_names(const MetricRow& row) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : std::string_view(row.labels)) {
    if (c == ',') {
      names.push_back(std::move(name));
      name.clear();
    } else if (c != '[' && c != ']') {
      name += c;
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

std::vector<MetricRow> efa_rows() {
  const auto port = [](const char* name, const char* unit, const char* help) {
    return MetricRow{name, Type::kCounter, unit, "device,port", "efa", help};
  };
  const auto device = [](const char* name, const char* help) {
    return MetricRow{name, Type::kCounter, "", "device", "efa", help};
  };
  // Of EFA driver r3.1.0.
  return {
      {"node_amazonefa_info", Type::kGauge, "", "device", "efa", "1 for each device"},
      port("node_amazonefa_tx_bytes", "bytes", "Bytes sent"),
      port("node_amazonefa_rx_bytes", "bytes", "Bytes received"),
      port("node_amazonefa_tx_pkts", "", "Packets sent"),
      port("node_amazonefa_rx_pkts", "", "Packets received"),
      port("node_amazonefa_rx_drops", "", "Packets dropped on receipt"),
      port("node_amazonefa_send_bytes", "bytes", "Bytes of send work requests"),
      port("node_amazonefa_send_wrs", "", "Send work requests"),
      port("node_amazonefa_recv_bytes", "bytes", "Bytes of receive work requests"),
      port("node_amazonefa_recv_wrs", "", "Receive work requests"),
      port("node_amazonefa_rdma_read_wrs", "", "RDMA read work requests"),
      port("node_amazonefa_rdma_read_bytes", "bytes", "Bytes read by RDMA"),
      port("node_amazonefa_rdma_read_wr_err", "", "RDMA read work requests that failed"),
      port("node_amazonefa_rdma_read_resp_bytes", "bytes", "Bytes that peers read by RDMA"),
      port("node_amazonefa_rdma_write_wrs", "", "RDMA write work requests"),
      port("node_amazonefa_rdma_write_bytes", "bytes", "Bytes written by RDMA"),
      port("node_amazonefa_rdma_write_wr_err", "", "RDMA write work requests that failed"),
      port("node_amazonefa_rdma_write_recv_bytes", "bytes", "Bytes that peers wrote by RDMA"),
      port("node_amazonefa_retrans_bytes", "bytes", "Bytes sent again"),
      port("node_amazonefa_retrans_pkts", "", "Packets sent again"),
      port("node_amazonefa_retrans_timeout_events", "",
           "Times that a retransmission ran out of time"),
      port("node_amazonefa_unresponsive_remote_events", "", "Times that a peer did not answer"),
      port("node_amazonefa_impaired_remote_conn_events", "",
           "Times that the connection to a peer was impaired"),
      device("node_amazonefa_submitted_cmds", "Commands given to the device"),
      device("node_amazonefa_completed_cmds", "Commands that the device completed"),
      device("node_amazonefa_no_completion_cmds", "Commands that the device did not complete"),
      device("node_amazonefa_cmds_err", "Commands that failed"),
      device("node_amazonefa_keep_alive_rcvd", "Signs of life of the device"),
      device("node_amazonefa_alloc_pd_err", "Protection domains that could not be made"),
      device("node_amazonefa_create_qp_err", "Queue pairs that could not be made"),
      device("node_amazonefa_create_cq_err", "Completion queues that could not be made"),
      device("node_amazonefa_reg_mr_err", "Memory regions that could not be registered"),
      device("node_amazonefa_alloc_mr_err", "Memory regions that could not be made"),
      device("node_amazonefa_get_dma_mr_err", "Memory regions for DMA that could not be got"),
      device("node_amazonefa_alloc_ucontext_err", "User contexts that could not be made"),
      device("node_amazonefa_create_ah_err", "Address handles that could not be made"),
      device("node_amazonefa_mmap_err", "Mappings that failed"),
      {"node_amazonefa_*", Type::kCounter, "", "device,[port]", "efa",
       "A counter of the driver that this program does not know"},
      {"muster_efa_unreadable", Type::kGauge, "", "device", "efa",
       "Files of the device that could not be read"},
  };
}

std::vector<MetricRow> exporter_rows() {
  const auto gauge = [](const char* name, const char* unit, const char* labels, const char* help) {
    return MetricRow{name, Type::kGauge, unit, labels, "exporter", help};
  };
  return {
      gauge("muster_collector_success", "", "collector",
            "1 when the collector read all of its sources in time"),
      gauge("muster_collector_present", "", "collector",
            "1 when the host has what the collector reads: devices, a library, a scheduler"),
      gauge("muster_collector_duration_seconds", "seconds", "collector",
            "What the last collection took"),
      gauge("muster_collector_age_seconds", "seconds", "collector",
            "Age of the figures: of a collector that works between scrapes"),
      gauge("muster_collector_unreadable", "", "collector",
            "Files that a collector could not read"),
      gauge("muster_collector_stuck", "", "collector,file",
            "1 for a source that has not answered within its time: it is left out until it does"),
      gauge("node_scrape_collector_success", "", "collector",
            "muster_collector_success of EFA, by the name of the public exporter"),
      gauge("node_scrape_collector_duration_seconds", "seconds", "collector",
            "muster_collector_duration_seconds of EFA, by the name of the public exporter"),
      gauge("muster_exporter_info", "", "version", "1, with the version of the exporter"),
      gauge("muster_exporter_connections", "", "", "Connections that are open"),
      {"muster_exporter_requests_total", Type::kCounter, "", "code", "exporter",
       "Requests answered, by the code of the answer"},
      {"muster_exporter_dropped_total", Type::kCounter, "", "reason", "exporter",
       "Connections ended because a client was too slow or there were too many"},
      {"process_cpu_seconds_total", Type::kCounter, "seconds", "", "exporter",
       "Processor time of the exporter"},
      gauge("process_resident_memory_bytes", "bytes", "", "Memory of the exporter"),
      gauge("process_start_time_seconds", "seconds", "", "Start of the exporter since the epoch"),
      gauge("process_open_fds", "", "", "Files that the exporter has open"),
  };
}

std::vector<MetricRow> result_rows() {
  const auto row = [](const char* name, const char* unit, const char* labels, const char* collector,
                      const char* help) {
    return MetricRow{name, Type::kGauge, unit, labels, collector, help};
  };
  constexpr const char* kBench =
      "[tool],[operation],[type],[reduction],[placement],[variant],[ranks],[nodes],[size_bytes]";
  constexpr const char* kRun = "case,target,profile";
  return {
      row("muster_health", "", "check,outcome", "health", "1 for the outcome of a health check"),
      row("muster_health_findings", "", "check,outcome", "health",
          "Findings of a health check by outcome"),
      row("muster_health_timestamp_seconds", "seconds", "check", "health",
          "When the health check ended, since the epoch"),
      row("muster_bench_time_seconds", "seconds", kBench, "bench", "Time of one operation"),
      row("muster_bench_algbw_bytes_per_second", "bytes per second", kBench, "bench",
          "Size over time"),
      row("muster_bench_busbw_bytes_per_second", "bytes per second", kBench, "bench",
          "Rate of the busiest link, by nccl-tests' factors"),
      row("muster_bench_wrong_values", "", kBench, "bench",
          "Values that were wrong; absent when not checked"),
      row("muster_run_info", "", "case,target,profile,run", "runs",
          "1, with the id of a case's last run"),
      row("muster_run_outcome", "", "case,target,profile,outcome", "runs",
          "1 for the outcome of a case's last run: pass, fail or unknown"),
      row("muster_run_check", "", "case,target,profile,check,outcome", "runs",
          "1 for the outcome of a check of a case's last run"),
      row("muster_run_start_timestamp_seconds", "seconds", kRun, "runs",
          "When the last run was made, since the epoch"),
      row("muster_run_duration_seconds", "seconds", kRun, "runs", "What the last run took"),
      row("muster_run_nodes", "", kRun, "runs", "Nodes of the last run"),
      row("muster_run_ranks", "", kRun, "runs", "Ranks of the last run"),
      row("muster_run_steps", "", kRun, "runs", "Steps of the last run"),
      row("muster_run_loss", "", kRun, "runs", "Loss of the last step"),
      row("muster_run_eval_loss", "", kRun, "runs", "Loss of the last evaluation"),
      row("muster_run_tokens_per_second", "tokens per second", kRun, "runs",
          "Median rate of the whole world"),
      row("muster_run_mfu_ratio", "", kRun, "runs",
          "Share of the peak of matrix products that the run used, 0 to 1"),
      row("muster_run_start_to_first_step_seconds", "seconds", kRun, "runs",
          "From the start of the program to its first step"),
      row("muster_textfile_mtime_seconds", "seconds", "file", "textfile",
          "When a file of the folder was written, since the epoch"),
      row("muster_textfile_error", "", "file", "textfile",
          "1 for a file that is not in the format, and is left out"),
  };
}

}  // namespace muster::metrics
