// The exporter as a whole: files that hang, forms and encodings, a thousand clients at once, and
// that what it tells is what the table of metrics says.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/export.h"
#include "metrics/bounded.h"
#include "metrics/catalogue.h"
#include "metrics/collectors.h"
#include "metrics/exporter.h"
#include "metrics/runs.h"
#include "metrics/scraper.h"
#include "metrics/slurm.h"
#include "metrics/textfiles.h"
#include "readings.h"

namespace muster::metrics {
namespace {

namespace fs = std::filesystem;

class Tree : public ::testing::Test {
 protected:
  Tree() : root_(::testing::TempDir() + fmt::format("exporter_{}_{}", getpid(), next_++)) {
    fs::create_directories(root_);
  }
  ~Tree() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(real_file_system().write(root_ + path, text).ok());
  }

  static inline int next_ = 0;
  const std::string root_;
};

CollectorState efa_of(const FileView& view, Exposition& to) {
  CollectorState state;
  state.present = collect_efa(view, to, &state.unreadable);
  return state;
}

constexpr const char* kClass = "/sys/class/infiniband";

TEST_F(Tree, AFileThatHangsIsNamedAndEverythingElseIsRead) {
  put(std::string(kClass) + "/rdmap0/ports/1/hw_counters/rx_bytes", "1\n");
  put(std::string(kClass) + "/rdmap1/ports/1/hw_counters/rx_bytes", "2\n");
  // A pipe that nobody writes to hangs as a driver does.
  const std::string pipe = root_ + kClass + "/rdmap0/ports/1/hw_counters/tx_bytes";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  BoundedCollector::Limits limits;
  limits.file = std::chrono::milliseconds(150);
  limits.whole = std::chrono::milliseconds(60000);
  BoundedCollector collector(root_, efa_of, limits);
  for (int i = 0; i < 2; ++i) {
    Exposition metrics;
    const CollectorState state = collector.run(metrics);
    EXPECT_FALSE(state.success);
    EXPECT_EQ(state.stuck, std::vector<std::string>{pipe});
    const std::string text = metrics.text();
    EXPECT_NE(text.find("rx_bytes{device=\"rdmap0\",port=\"1\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("rx_bytes{device=\"rdmap1\",port=\"1\"} 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("muster_efa_unreadable{device=\"rdmap0\"} 1\n"), std::string::npos);
  }
  // It answers, and is read again.
  const int writer = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(write(writer, "3\n", 2), 2);
  close(writer);
  unlink(pipe.c_str());
  put(std::string(kClass) + "/rdmap0/ports/1/hw_counters/tx_bytes", "4\n");
  std::string text;
  for (int i = 0; i < 600 && text.find("tx_bytes") == std::string::npos; ++i) {
    usleep(100000);
    Exposition metrics;
    collector.run(metrics);
    text = metrics.text();
  }
  EXPECT_NE(text.find("tx_bytes{device=\"rdmap0\",port=\"1\"} 4\n"), std::string::npos) << text;
}

TEST_F(Tree, AFileThatChangesIsReplacedOrGoesIsSeen) {
  const std::string folder = std::string(kClass) + "/rdmap0/ports/1/hw_counters/";
  put(folder + "changed", "1\n");
  put(folder + "replaced", "1\n");
  put(folder + "gone", "1\n");
  BoundedCollector collector(root_, efa_of, {});
  const auto told = [&] {
    Exposition metrics;
    collector.run(metrics);
    return metrics.text();
  };
  EXPECT_NE(told().find("_gone{device=\"rdmap0\",port=\"1\"} 1\n"), std::string::npos);
  {
    const int file = open((root_ + folder + "changed").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    ASSERT_EQ(write(file, "22\n", 3), 3);
    close(file);
  }
  put(folder + "replaced", "3\n");  // beside it, and renamed
  fs::remove(root_ + folder + "gone");
  for (int i = 0; i < 3; ++i) {
    const std::string text = told();
    EXPECT_NE(text.find("_changed{device=\"rdmap0\",port=\"1\"} 22\n"), std::string::npos) << text;
    EXPECT_NE(text.find("_replaced{device=\"rdmap0\",port=\"1\"} 3\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("_gone{"), std::string::npos) << text;
  }
}

TEST_F(Tree, TooManyThatHangEndTheCollection) {
  for (int i = 0; i < 6; ++i) {
    put(fmt::format("{}/rdmap{}/ports/1/hw_counters/rx_bytes", kClass, i), "1\n");
    mkfifo((root_ + fmt::format("{}/rdmap{}/ports/1/hw_counters/a", kClass, i)).c_str(), 0600);
  }
  BoundedCollector::Limits limits;
  limits.file = std::chrono::milliseconds(20);
  limits.left_behind = 3;
  limits.whole = std::chrono::milliseconds(60000);
  BoundedCollector collector(root_, efa_of, limits);
  Exposition metrics;
  const CollectorState state = collector.run(metrics);
  EXPECT_FALSE(state.success);
  EXPECT_EQ(state.stuck.size(), 3U);
  EXPECT_EQ(metrics.samples(), 0U);
}

TEST_F(Tree, AFolderOfFilesIsOneExposition) {
  put("/a.prom",
      "# TYPE x gauge\nx{l=\"1\"} 1\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\n"
      "h_bucket{le=\"+Inf\"} 3\nh_sum 4\nh_count 3\n");
  put("/b.prom", "# TYPE x gauge\nx{l=\"2\"} 2\nuntyped_one 5\n");
  put("/timed.prom", "x 1 1700000000000\n");
  put("/other.txt", "not read\n");
  BoundedCollector collector(
      "", [&](const FileView& view, Exposition& to) { return collect_textfiles(view, root_, to); },
      {});
  Exposition metrics;
  const CollectorState state = collector.run(metrics);
  EXPECT_EQ(state.unreadable, 1);
  const std::string text = metrics.text();
  EXPECT_TRUE(check_exposition(text, "m").empty()) << text;
  EXPECT_NE(text.find("x{l=\"1\"} 1\nx{l=\"2\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("muster_textfile_error{file=\"timed.prom\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE untyped_one untyped\n"), std::string::npos);
}

TEST_F(Tree, ThePodsLastKnownStayWhileTheKubeletsFilesCannotBeRead) {
  put("/gpus", "gpus = 1\n");
  setenv("MUSTER_NVML_STUB", (root_ + "/gpus").c_str(), 1);
  const std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  put(checkpoint,
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"train","DeviceIDs":)"
      R"({"0":["GPU-00000000-0000-0000-0000-000000000000"]}}]},"Checksum":1})");
  put("/var/log/pods/ml_llama-0_u/log", "");
  GpuSourceOptions options;
  options.library = MUSTER_NVML_STUB_LIBRARY;
  options.root = root_;
  options.pods = true;
  options.limit = std::chrono::milliseconds(60000);
  const auto source = gpu_source(options);
  Exposition first, second;
  EXPECT_TRUE(source(first).success);
  fs::remove(root_ + checkpoint);
  EXPECT_FALSE(source(second).success) << "it is said that they could not be read";
  const std::string labels = "container=\"train\",namespace=\"ml\",pod=\"llama-0\"} 35\n";
  EXPECT_NE(first.text().find(labels), std::string::npos) << first.text();
  EXPECT_NE(second.text().find(labels), std::string::npos) << second.text();
}

TEST_F(Tree, AHostWithoutTheDriverHasNoGpuSeries) {
  GpuSourceOptions options;
  options.library = root_ + "/none.so";
  Exposition metrics;
  const CollectorState state = gpu_source(options)(metrics);
  EXPECT_FALSE(state.present);
  EXPECT_TRUE(state.success) << "nothing is wrong with it";
  EXPECT_EQ(metrics.samples(), 0U);
}

TEST(SlurmSource, ACommandThatFailsIsToldAndTheOthersAreAsked) {
  FakeProcessRunner processes;
  const auto says = [](const std::string& text, int code = 0) {
    ProcessResult result;
    result.exit_code = code;
    result.out = text;
    return result;
  };
  processes.answer("scontrol --oneliner", says("NodeName=n State=IDLE CPUTot=4 Partitions=p\n"));
  processes.answer("scontrol --version", says("slurm 22.05.8\n"));
  processes.answer("squeue", says("", 1));
  processes.answer("sdiag", says("Server thread count: 3\n"));
  Exposition metrics;
  const CollectorState state = slurm_source(processes, std::chrono::milliseconds(1000))(metrics);
  EXPECT_TRUE(state.present);
  EXPECT_FALSE(state.success);
  EXPECT_EQ(state.unreadable, 1);
  EXPECT_TRUE(metrics.has("slurm_nodes_idle"));
  EXPECT_FALSE(metrics.has("slurm_jobs_total"));
  EXPECT_TRUE(metrics.has("slurm_scheduler_threads"));
  EXPECT_TRUE(metrics.has("slurm_info"));
}

TEST(SlurmSource, AControllerThatDoesNotAnswerIsAskedOnce) {
  FakeProcessRunner processes;
  ProcessResult late;
  late.timed_out = true;
  late.exit_code = 124;
  processes.answer("scontrol", late);
  Exposition metrics;
  const CollectorState state = slurm_source(processes, std::chrono::milliseconds(1000))(metrics);
  EXPECT_TRUE(state.present);
  EXPECT_FALSE(state.success);
  EXPECT_EQ(metrics.samples(), 0U);
  EXPECT_EQ(processes.asked().size(), 1U);
}

TEST(Forms, AreChosenByTheHeader) {
  EXPECT_EQ(negotiated_form(""), Form::kText);
  EXPECT_EQ(negotiated_form("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), Form::kText);
  EXPECT_EQ(negotiated_form("application/openmetrics-text;version=1.0.0,"
                            "application/openmetrics-text;version=0.0.1;q=0.75,"
                            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            Form::kOpenMetrics);
  EXPECT_EQ(negotiated_form("application/openmetrics-text;q=0.2,text/plain"), Form::kText);
  EXPECT_EQ(negotiated_form("application/openmetrics-text;q=0"), Form::kText);
  EXPECT_TRUE(allows_gzip("deflate, GZIP;q=0.5"));
  EXPECT_FALSE(allows_gzip("gzip;q=0, br"));
  EXPECT_FALSE(allows_gzip(""));
}

TEST(Forms, ASeriesHasOneNameInBoth) {
  Exposition metrics;
  metrics.add("a_total", Type::kCounter, "ends in \"total\"", {}, 1);
  metrics.add("node_amazonefa_tx_bytes", Type::kCounter, "x", {}, 2);
  EXPECT_EQ(metrics.text(Form::kOpenMetrics),
            "# HELP a ends in \\\"total\\\"\n# TYPE a counter\na_total 1\n"
            "# HELP node_amazonefa_tx_bytes x\n# TYPE node_amazonefa_tx_bytes unknown\n"
            "node_amazonefa_tx_bytes 2\n");
}

/// An exchange without a network.
class Asked : public server::Exchange {
 public:
  explicit Asked(std::string path, std::map<std::string, std::string> headers = {}) {
    request_.method = "GET";
    request_.path = std::move(path);
    request_.headers = std::move(headers);
  }
  const server::Request& request() const override { return request_; }
  void answer(server::Answer answer) override {
    const std::lock_guard lock(mutex_);
    if (!answer_) answer_ = std::move(answer);
    changed_.notify_all();
  }
  server::Answer wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return answer_.has_value(); });
    return answer_.value_or(server::Answer::text(0, "no answer came"));
  }

 private:
  server::Request request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<server::Answer> answer_;
};

TEST(Pages, AThousandAtOnceShareTheCollections) {
  std::atomic<int> scrapes = 0;
  std::mutex first;
  first.lock();
  ExporterPages pages(
      [&](Form) {
        ++scrapes;
        const std::lock_guard wait(first);
        return std::string("x 1\n");
      },
      {}, {{"X-Own", "yes"}});
  std::vector<std::shared_ptr<Asked>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_shared<Asked>("/metrics"));
    pages.answer(clients.back());
  }
  first.unlock();
  for (const auto& client : clients) {
    const server::Answer answer = client->wait();
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(*answer.body, "x 1\n");
    EXPECT_EQ(answer.headers.back().first, "X-Own");
  }
  EXPECT_LE(scrapes, 2);
}

TEST(Pages, EveryPathHasItsAnswer) {
  ExporterPages pages([](Form) { return std::string("x 1\n"); }, {}, {});
  const auto status = [&](const std::string& path) {
    const auto asked = std::make_shared<Asked>(path);
    pages.answer(asked);
    return asked->wait().status;
  };
  EXPECT_EQ(status("/"), 200);
  EXPECT_EQ(status("/health"), 200);
  EXPECT_EQ(status("/metrics"), 200);
  EXPECT_EQ(status("/metric"), 404);
  const auto packed = std::make_shared<Asked>(
      "/metrics", std::map<std::string, std::string>{{"accept-encoding", "gzip"},
                                                     {"accept", "application/openmetrics-text"}});
  pages.answer(packed);
  const server::Answer answer = packed->wait();
  EXPECT_EQ(answer.body->substr(0, 2), "\x1f\x8b");
  EXPECT_NE(answer.headers.front().second.find("openmetrics"), std::string::npos);
}

TEST(Pages, AskForAPasswordWhenThereAreUsers) {
  ExporterPages pages([](Form) { return std::string("x 1\n"); },
                      {{"alice", "$2b$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC"}},
                      {});
  const auto status = [&](const std::string& path, const std::string& authorization) {
    const auto asked = std::make_shared<Asked>(
        path, std::map<std::string, std::string>{{"authorization", authorization}});
    pages.answer(asked);
    return asked->wait().status;
  };
  EXPECT_EQ(status("/metrics", ""), 401);
  EXPECT_EQ(status("/metrics", "Basic YWxpY2U6d3Jvbmc="), 401);
  EXPECT_EQ(status("/metrics", "Basic YWxpY2U6cmlnaHQ="), 200);
  EXPECT_EQ(status("/health", ""), 200) << "probes have no passwords";
}

// What every collector and writer can tell, all of it.
class Everything : public Tree {
 protected:
  std::string told() {
    for (const MetricRow& row : efa_rows()) {
      const std::string name = row.name;
      const std::string prefix = "node_amazonefa_";
      if (!name.starts_with(prefix) || name == prefix + "info") continue;
      const std::string counter = name == prefix + "*" ? "of_tomorrow" : name.substr(prefix.size());
      const bool port = std::string(row.labels).find("port") != std::string::npos;
      put(fmt::format("{}/rdmap0/{}hw_counters/{}", kClass, port ? "ports/1/" : "", counter),
          "1\n");
    }
    Exposition efa;
    BoundedCollector(root_, efa_of, {}).run(efa);
    all_.merge(efa);

    GpuHistory history;
    auto reading = full_reading(1);
    reading.xids = {{0, 79}};
    history.note(reading, {});
    GpuLabels labels;
    labels.pods = true;
    labels.jobs["0"] = {"7"};
    collect_gpu(reading, labels, history, all_);

    collect_slurm_version("slurm-wlm 22.05.8\n", all_);  // as Debian names it
    collect_slurm_nodes(
        "NodeName=n CPUAlloc=1 CPUTot=2 RealMemory=3 AllocMem=1 State=IDLE+DRAIN "
        "Partitions=p CfgTRES=gres/gpu=2 AllocTRES=gres/gpu=1\n",
        all_);
    collect_slurm_jobs(fmt::format("{:<64}{:<20}{:<12}{:<64}{:<64}{:<64}\n", "p", "PENDING", 1, "a",
                                   "u", "Resources"),
                       all_);
    std::string diagnosis;
    for (const char* line :
         {"Server thread count: 1", "Agent queue size: 1", "DBD Agent queue size: 1",
          "Jobs submitted: 1", "Jobs started: 1", "Jobs completed: 1", "Jobs canceled: 1",
          "Jobs failed: 1", "Main schedule statistics (microseconds):", "Last cycle: 1",
          "Mean cycle: 1", "Cycles per minute: 1", "Backfilling stats",
          "Total backfilled jobs (since last slurm start): 1",
          "Total backfilled jobs (since last stats cycle start): 1",
          "Total backfilled heterogeneous job components: 1", "Last cycle: 1", "Mean cycle: 1",
          "Depth Mean: 1"})
      diagnosis += std::string(line) + "\n";
    collect_slurm_scheduler(diagnosis, all_);

    health::CheckResult check("gpu");
    check.add(health::Health::kOk, "r", "", "x");
    collect_health({check}, 1, all_);

    RunResult run;
    run.record.id = "r1";
    run.record.case_name = "training/native/llama/tiny";
    run.record.target = "local";
    run.record.ended = run.record.created;
    run.record.outcome = Outcome::kPass;
    run.verdict.add("loss", Outcome::kPass, "it fell");
    run.figures = {{"steps", 3},       {"last_loss", 1.5},
                   {"eval_loss", 1.6}, {"tokens_per_second", 1000.0},
                   {"mfu", 0.5},       {"start_to_first_step_seconds", 2.0}};
    collect_runs({run}, all_);

    bench::Log log;
    bench::Record record;
    record.tool = "nccl-tests";
    record.time = record.algbw = record.busbw = record.wrong = 1;
    log.runs.emplace_back().records.push_back(record);
    all_.merge(parse_exposition(bench::prometheus_text({log}), "bench").value());

    put("/prom/x.prom", "x 1\n");
    Exposition texts;
    BoundedCollector("",
                     [&](const FileView& view, Exposition& to) {
                       return collect_textfiles(view, root_ + "/prom", to);
                     },
                     {})
        .run(texts);
    all_.merge(texts);

    // What the exporter says of itself, with one file that hangs.
    mkfifo((root_ + kClass + "/rdmap0/hw_counters/hangs").c_str(), 0600);
    ScrapeOptions options;
    options.root = root_;
    options.slurm = options.textfile = false;
    options.gpus.library = "/nonexistent";
    options.files.file = std::chrono::milliseconds(100);
    options.files.whole = std::chrono::milliseconds(60000);
    FakeProcessRunner none;
    Scraper scraper(options, none);
    scraper.wait_for_first(std::chrono::seconds(60));
    server::Counts counts;
    counts.answers[200] = 1;
    const std::string text = scraper.scrape(Form::kText, &counts);
    auto self = parse_exposition(text, "self");
    EXPECT_TRUE(self.ok()) << (self.ok() ? "" : to_string(self.findings().front())) << text;
    all_.merge(*self);
    return all_.text();
  }

  Exposition all_;
};

TEST_F(Everything, IsInTheTableAndTheTableHasNothingElse) {
  const std::string text = told();
  EXPECT_TRUE(check_exposition(text, "m").empty());
  std::set<std::string> missing;
  for (const MetricRow& row : catalogue()) missing.insert(row.name);
  for (const std::string& name : all_.names()) {
    if (name == "x") continue;  // somebody's own, of the folder
    const MetricRow* row = find_metric(name);
    ASSERT_NE(row, nullptr) << name << " is not in the table";
    missing.erase(row->name);
    EXPECT_NE(text.find(fmt::format("# TYPE {} {}\n", name, to_string(row->type))),
              std::string::npos)
        << name;
    EXPECT_NE(text.find(fmt::format("# HELP {} {}\n", name, row->help)), std::string::npos)
        << name << " has another help";
  }
  EXPECT_TRUE(missing.empty()) << "nothing tells " << fmt::format("{}", *missing.begin());
}

TEST_F(Everything, HasTheLabelsOfTheTable) {
  told();
  for (const MetricRow& row : catalogue()) {
    if (row.name[std::string_view(row.name).size() - 1] == '*') continue;  // no one's own name
    const std::vector<std::string> allowed = label_names(row);
    std::set<std::string> seen;
    const std::string text = all_.text();
    const std::string start = std::string(row.name) + "{";
    for (std::size_t at = text.find("\n" + start); at != std::string::npos;
         at = text.find("\n" + start, at + 1)) {
      const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
      const auto sample = parse_exposition(line + "\n", "m");
      ASSERT_TRUE(sample.ok()) << line;
      for (const std::string& label : allowed) {
        if (line.find(label + "=\"") != std::string::npos) seen.insert(label);
      }
      std::size_t labels = 0;
      for (std::size_t quote = 0; (quote = line.find("=\"", quote)) != std::string::npos; ++quote)
        ++labels;
      EXPECT_LE(labels, allowed.size()) << line;
    }
    const std::string written = row.labels;
    for (const std::string& label : allowed) {
      if (written.find("[" + label + "]") != std::string::npos) continue;
      EXPECT_EQ(seen.count(label), 1U) << row.name << " has no label " << label;
    }
  }
}

}  // namespace
}  // namespace muster::metrics
