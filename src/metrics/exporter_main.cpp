// muster-exporter: what a host tells of itself, for Prometheus.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/schema.h"
#include "base/text.h"
#include "base/web_config.h"
#include "metrics/exporter.h"
#include "metrics/scraper.h"

namespace {

using namespace muster;           // NOLINT: the program itself
using namespace muster::metrics;  // NOLINT

constexpr int kOk = 0, kUsage = 1, kBadInput = 2;

struct Program {
  ScrapeOptions scrape;
  server::Options server;
  std::string web_config, host, host_label = "both", form = "text";
  std::string gpu_interval = "10s", slurm_interval = "30s", file_limit = "1s", textfiles, jobs;
  bool once = false, check = false;
};

int fail(const Findings& findings, int code) {
  for (const Finding& finding : findings) std::cerr << to_string(finding) << '\n';
  return code;
}

std::string own_host() {
  const auto name = real_file_system().read("/proc/sys/kernel/hostname");
  return name ? first_line(*name) : std::string("localhost");
}

void add_options(CLI::App& app, Program& program) {
  app.description("Tells Prometheus of this host: EFA, GPUs, Slurm, health and results");
  app.set_version_flag("-V,--version", "muster-exporter " MUSTER_VERSION);
  app.add_option("--web.listen-address", program.server.address, "Where to listen")
      ->capture_default_str()
      ->type_name("[HOST]:PORT");
  app.add_option("--web.config.file", program.web_config,
                 "TLS and users, in the form that Prometheus' exporters share")
      ->type_name("FILE");
  app.add_option("--web.max-connections", program.server.connections, "Connections at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  app.add_flag("--collector.efa,!--no-collector.efa", program.scrape.efa, "EFA's counters");
  app.add_flag("--collector.gpu,!--no-collector.gpu", program.scrape.gpu, "GPUs, through NVML");
  app.add_flag("--collector.slurm,!--no-collector.slurm", program.scrape.slurm,
               "Slurm, on a host with its commands");
  app.add_flag("--collector.textfile,!--no-collector.textfile", program.scrape.textfile,
               "Health and results, from files that other commands write");
  app.add_option("--textfile", program.textfiles, "Folder of *.prom files")
      ->default_str(program.scrape.textfiles.string())
      ->type_name("DIR");
  app.add_option("--root", program.scrape.root, "Where the host's /sys and /var are")
      ->type_name("DIR");
  app.add_option("--hostname", program.host, "Name in the labels of GPUs; default: the kernel's")
      ->type_name("NAME");
  app.add_option("--gpu.host-label", program.host_label,
                 "Label with the host's name: dcgm-exporter's was Hostname, and is hostname")
      ->capture_default_str()
      ->check(CLI::IsMember({"both", "Hostname", "hostname", "none"}));
  app.add_flag("--gpu.pods", program.scrape.gpus.pods,
               "Labels container, namespace and pod, from the kubelet's files");
  app.add_option("--gpu.jobs", program.jobs,
                 "Folder of files named by a GPU's index with ids of its jobs: label hpc_job")
      ->type_name("DIR");
  app.add_option("--gpu.library", program.scrape.gpus.library,
                 "NVML; default: $MUSTER_NVML, else libnvidia-ml.so.1")
      ->type_name("FILE");
  app.add_option("--gpu.interval", program.gpu_interval, "Between two readings of the GPUs")
      ->capture_default_str()
      ->type_name("TIME");
  app.add_option("--slurm.interval", program.slurm_interval, "Between two questions to Slurm")
      ->capture_default_str()
      ->type_name("TIME");
  app.add_option("--file-limit", program.file_limit,
                 "For one file to answer; then it is left out, and named, until it does")
      ->capture_default_str()
      ->type_name("TIME");
  app.add_flag("--once", program.once, "Print one exposition and exit");
  app.add_option("--form", program.form, "Form of --once")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "openmetrics"}));
  app.add_flag("--check", program.check, "Only say whether options and files are right");
}

/// What the options mean together; findings of those that are wrong.
Findings settle(Program& program) {
  Findings findings;
  const auto time = [&](const char* option, const std::string& text, auto& to) {
    const auto seconds = parse_duration(text);
    if (!seconds || *seconds <= 0) {
      findings.push_back(error_at({}, "duration",
                                  fmt::format("{}: \"{}\" is not a time", option, text),
                                  fmt::format("e.g. {}", kDuration.example)));
    } else {
      to = std::chrono::milliseconds(static_cast<long long>(*seconds * 1000));
    }
  };
  ScrapeOptions& scrape = program.scrape;
  time("--gpu.interval", program.gpu_interval, scrape.gpu_interval);
  time("--slurm.interval", program.slurm_interval, scrape.slurm_interval);
  time("--file-limit", program.file_limit, scrape.files.file);
  scrape.files.whole = std::max(scrape.files.whole, scrape.files.file * 4);
  if (!program.textfiles.empty()) scrape.textfiles = program.textfiles;
  while (scrape.root.ends_with('/')) scrape.root.pop_back();
  scrape.gpus.root = scrape.root;
  scrape.gpus.jobs = program.jobs;
  scrape.gpus.host = program.host.empty() ? own_host() : program.host;
  scrape.gpus.label = program.host_label == "both"       ? HostLabel::kBoth
                      : program.host_label == "Hostname" ? HostLabel::kUpper
                      : program.host_label == "hostname" ? HostLabel::kLower
                                                         : HostLabel::kNone;
  if (const auto address = server::parse_address(program.server.address); !address)
    findings.push_back(address.findings().front());
  return findings;
}

/// Until SIGTERM or SIGINT.
int serve(const Program& program, const server::WebConfig& web, const server::Tls* tls) {
  Scraper scraper(program.scrape, real_process_runner());
  constexpr std::chrono::seconds kFirst(5);
  scraper.wait_for_first(kFirst);
  std::mutex mutex;
  server::Server* counted = nullptr;  // not before it is there
  ExporterPages pages(
      [&](Form form) {
        const std::lock_guard lock(mutex);
        if (counted == nullptr) return scraper.scrape(form, nullptr);
        const server::Counts counts = counted->counts();
        return scraper.scrape(form, &counts);
      },
      web.users, web.headers);
  server::Options options = program.server;
  options.tls = tls;
  auto server = server::Server::start(
      options, [&](const std::shared_ptr<server::Exchange>& one) { pages.answer(one); });
  if (!server) return fail(server.findings(), kBadInput);
  {
    const std::lock_guard lock(mutex);
    counted = server->get();
  }
  const auto address = server::parse_address(options.address);
  std::cerr << fmt::format("muster-exporter {} listens on {}://{}:{}/metrics\n", MUSTER_VERSION,
                           tls != nullptr ? "https" : "http",
                           address->first.empty() ? "[::]" : address->first, (*server)->port());
  while (!interrupted()) poll(nullptr, 0, 200);
  {
    const std::lock_guard lock(mutex);
    counted = nullptr;
  }
  server->reset();
  return kOk;
}

int run(Program& program) {
  if (const Findings findings = settle(program); !findings.empty())
    return fail(findings, kBadInput);
  server::WebConfig web;
  std::optional<server::Tls> tls;
  if (!program.web_config.empty()) {
    const auto text = real_file_system().read(program.web_config);
    if (!text) return fail(text.findings(), kBadInput);
    auto read = server::parse_web_config(*text, program.web_config);
    if (!read) return fail(read.findings(), kBadInput);
    web = std::move(*read);
    if (web.tls) {
      auto loaded = server::load_tls(real_file_system(), *web.tls,
                                     std::filesystem::absolute(program.web_config).parent_path());
      if (!loaded) return fail(loaded.findings(), kBadInput);
      tls = std::move(*loaded);
    }
  }
  if (program.check) {
    std::cout << "options and files are right\n";
    return kOk;
  }
  catch_interrupts();
  if (program.once) {
    Scraper scraper(program.scrape, real_process_runner());
    constexpr std::chrono::seconds kFirst(60);
    scraper.wait_for_first(kFirst);
    std::cout << scraper.scrape(program.form == "text" ? Form::kText : Form::kOpenMetrics, nullptr);
    return std::cout.flush() ? kOk : kUsage;
  }
  // As many files as connections may be open.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  std::signal(SIGPIPE, SIG_IGN);
  return serve(program, web, tls ? &*tls : nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  Program program;
  program.server.address = ":9401";
  CLI::App app;
  app.name("muster-exporter");
  add_options(app, program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "muster-exporter: error: " << error.what() << "\nTry 'muster-exporter --help'.\n";
    const bool value = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ValidationError) ||
                       error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError);
    return value ? kBadInput : kUsage;
  }
  return run(program);
}
