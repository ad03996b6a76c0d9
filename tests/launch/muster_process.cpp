#include "launch/muster_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/process.h"
#include "testing.h"

namespace muster::testing {

namespace fs = std::filesystem;
using nlohmann::json;

json check(const json& run, const std::string& name) {
  for (const json& check : run.at("verdict").at("checks")) {
    if (check.at("name") == name) return check;
  }
  return {{"outcome", "absent"}, {"evidence", ""}};
}

Muster::Muster(fs::path libexec, fs::path runs)
    : program(binary_dir() / "bin/muster"), runs_(std::move(runs)) {
  environment["MUSTER_LIBEXEC"] = libexec.string();
  environment["MUSTER_PROJECT"] = source_dir().string();
  environment["MUSTER_RUNS_DIR"] = runs_.string();
  environment["HOME"] = runs_.string();  // no settings of the user
}

std::vector<std::string> Muster::words(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Finished Muster::run(const std::vector<std::string>& arguments, std::chrono::seconds limit) const {
  Command command;
  command.argv = words(arguments);
  command.env.assign(environment.begin(), environment.end());
  command.unset = unset;
  command.time_limit = limit;
  const auto result = real_process_runner().run(command);
  if (!result) throw std::runtime_error(to_string(result.findings().front()));
  return {result->timed_out ? -1 : result->exit_code, result->out, result->err};
}

fs::path Muster::only_run() const {
  fs::path found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runs_, error)) {
    if (!fs::exists(entry.path() / "run.json")) continue;
    if (!found.empty()) throw std::runtime_error("more than one run");
    found = entry.path();
  }
  return found;
}

Background::Background(const Muster& muster, const std::vector<std::string>& arguments) {
  std::string pattern = (fs::temp_directory_path() / "muster-background-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("can't make " + pattern);
  folder_ = pattern;
  std::vector<std::string> words = muster.words(arguments);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string out = (folder_ / "out").string();
  const std::string err = (folder_ / "err").string();
  pid_ = fork();
  if (pid_ != 0) return;
  for (const auto& [name, value] : muster.environment) setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : muster.unset) unsetenv(name.c_str());
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  execv(pointers[0], pointers.data());
  _exit(127);
}

Background::~Background() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    finish(std::chrono::seconds(20));
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Finished Background::finish(std::chrono::seconds limit) {
  Finished finished;
  int status = 0;
  const bool ended = eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, limit);
  if (!ended) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  } else {
    finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_ = -1;
  finished.out = text_of(folder_ / "out");
  finished.err = text_of(folder_ / "err");
  return finished;
}

namespace {

template <typename Visit>
void each_event(const fs::path& run, int rank, Visit visit) {
  if (run.empty()) return;
  char name[32];
  std::snprintf(name, sizeof name, "rank-%05d.jsonl", rank);
  std::istringstream lines(text_of(run / "metrics" / name));
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line, nullptr, false);
    if (event.is_object()) visit(event);
  }
}

}  // namespace

int steps_of(const fs::path& run, int rank) {
  int steps = 0;
  each_event(run, rank,
             [&](const json& event) { steps += event.value("event", "") == "step" ? 1 : 0; });
  return steps;
}

pid_t pid_of(const fs::path& run, int rank) {
  pid_t pid = 0;
  each_event(run, rank, [&](const json& event) {
    if (event.value("event", "") == "start") pid = event.value("pid", 0);
  });
  return pid;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void pause_shortly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace muster::testing
