#include "launch/run_fixture.h"

#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/process.h"
#include "launch/run_processes.h"

namespace muster::testing {

namespace fs = std::filesystem;

RunFixture::RunFixture(const fs::path& libexec, std::vector<Program> programs)
    : muster_(libexec, directory_.path() / "runs"),
      text_(directory_.path() / "text"),
      programs_(std::move(programs)) {
  write_text("In the beginning\n");
}

void RunFixture::SetUp() {
  for (const auto& [program, package] : programs_) {
    ASSERT_TRUE(real_process_runner().find(program))
        << program << " is missing; it is in the Debian package " << package;
  }
}

void RunFixture::write_text(const std::string& content) const {
  std::ofstream(text_, std::ios::binary) << content;
}

std::vector<std::string> RunFixture::arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> words = {
      "run",   "training/native/llama/tiny",  "--profile", "smoke", "--set", "data.name=null",
      "--set", "data.path=" + text_.string(), "-o",        "json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::unique_ptr<Background> RunFixture::start(const std::vector<std::string>& more, int steps,
                                              std::chrono::seconds limit) const {
  auto background = std::make_unique<Background>(muster_, arguments(more));
  const bool started = eventually(
      [&] {
        const fs::path run = muster_.only_run();
        return steps_of(run, 0) > steps && steps_of(run, 1) > steps &&
               fs::exists(run / "logs/job.pid");
      },
      limit);
  if (started) return background;
  background->signal(SIGINT);
  throw std::runtime_error("did not start: " + background->finish(std::chrono::seconds(20)).err);
}

std::string RunFixture::state() const {
  return nlohmann::json::parse(text_of(muster_.only_run() / "run.json")).value("state", "");
}

void RunFixture::expect_nothing_left() const {
  EXPECT_TRUE(launch::processes_of_run(muster_.only_run().filename().string()).empty());
}

std::string RunFixture::host() {
  const std::string name = text_of("/proc/sys/kernel/hostname");
  return name.substr(0, name.find('\n'));
}

}  // namespace muster::testing
