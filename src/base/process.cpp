#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>

#include "base/process_tree.h"

extern char** environ;

namespace muster {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

volatile sig_atomic_t interrupt_count = 0;

void count_interrupt(int) {
  interrupt_count = interrupt_count + 1;
}

Failure start_failure(const std::string& program, int error) {
  return failure("process-start",
                 "can't start '" + program + "': " + std::generic_category().message(error));
}

/// A file descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

/// Standard input as a file in memory: nothing to feed, no broken pipe to handle.
Fd input_file(const std::string& input) {
  if (input.empty()) return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file.valid() && written < input.size()) {
    const ssize_t count = ::write(file.get(), input.data() + written, input.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fd();
    written += static_cast<std::size_t>(count);
  }
  if (file.valid()) ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// One output stream: the end that the child writes, and where what it wrote is kept.
class Capture {
 public:
  /// 0, or the error.
  int open(const std::filesystem::path& path) {
    if (!path.empty()) {
      child_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
      return child_.valid() ? 0 : errno;
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    read_ = Fd(ends[0]);
    child_ = Fd(ends[1]);
    ::fcntl(read_.get(), F_SETFL, O_NONBLOCK);
    return 0;
  }

  int child() const { return child_.get(); }
  int descriptor() const {
    return read_.get();
  }  // -1 when there is nothing to read (any more); poll ignores it
  void started() { child_.reset(); }

  /// Reads what is there without waiting.
  void drain(std::string& into, bool& truncated) {
    std::array<char, 65536> buffer;
    while (read_.valid()) {
      const ssize_t count = ::read(read_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        read_.reset();
        return;
      }
      const std::size_t room = kMaxKeptOutput - std::min(kMaxKeptOutput, into.size());
      const std::size_t kept = std::min(room, static_cast<std::size_t>(count));
      into.append(buffer.data(), kept);
      truncated = truncated || kept < static_cast<std::size_t>(count);
    }
  }

 private:
  Fd read_;
  Fd child_;
};

std::vector<std::string> child_environment(const Command& command) {
  std::set<std::string> replaced(command.unset.begin(), command.unset.end());
  for (const auto& [name, value] : command.env) replaced.insert(name);
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (replaced.count(text.substr(0, text.find('='))) == 0) result.push_back(text);
  }
  for (const auto& [name, value] : command.env) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::optional<std::string> value_of(const std::vector<std::string>& environment,
                                    const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::optional<std::string> find_in(const std::string& program, const std::string& search_path) {
  const auto runnable = [](const std::string& path) {
    std::error_code error;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error);
  };
  if (program.empty()) return std::nullopt;
  if (program.find('/') != std::string::npos) {
    std::error_code error;
    const std::string path = std::filesystem::absolute(program, error).string();
    if (!error && runnable(path)) return path;
    return std::nullopt;
  }
  for (std::size_t start = 0; start <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', start), search_path.size());
    if (end > start) {
      std::string path = fmt::format("{}/{}", search_path.substr(start, end - start), program);
      if (runnable(path)) return path;
    }
    start = end + 1;
  }
  return std::nullopt;
}

/// A started child in a process group of its own.
class Child {
 public:
  Child(const Command& command, const ProcessRunner::Watcher& watcher)
      : command_(command), watcher_(watcher) {}

  /// 0, or the error.
  int start(const std::string& path, std::vector<std::string> environment) {
    const Fd input = input_file(command_.input);
    if (!input.valid()) return errno;
    if (const int error = out_.open(command_.stdout_file)) return error;
    if (const int error = err_.open(command_.stderr_file)) return error;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out_.child(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_.child(), STDERR_FILENO);
    if (!command_.directory.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions, command_.directory.c_str());
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
      sigaddset(&signals, number);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> arguments = command_.argv;
    started_at_ = Steady::now();
    const int error = posix_spawn(&pid_, path.c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    out_.started();
    err_.started();
    if (error == 0) exit_event_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    return error;
  }

  ProcessResult wait() {
    auto next_watch = started_at_ + kWatchInterval;
    while (!leader_ended()) {
      const auto now = Steady::now();
      if (command_.time_limit && now - started_at_ >= *command_.time_limit) {
        result_.timed_out = true;
        end_all();
        break;
      }
      bool stop = interrupted();
      if (!stop && watcher_ && now >= next_watch) {
        stop = !watcher_();
        next_watch = Steady::now() + kWatchInterval;
      }
      if (stop) {
        result_.interrupted = true;
        end_all();
        break;
      }
      wait_a_little(next_watch);
    }
    end_group();
    drain();
    result_.elapsed = std::chrono::duration_cast<Milliseconds>(Steady::now() - started_at_);
    return std::move(result_);
  }

 private:
  static constexpr Milliseconds kWatchInterval{100};

  /// Until there is output, the child ends, or it is time to look again.
  void wait_a_little(Steady::time_point next_watch) {
    auto until = next_watch;
    if (command_.time_limit) until = std::min(until, started_at_ + *command_.time_limit);
    const auto left = std::chrono::duration_cast<Milliseconds>(until - Steady::now()).count() + 1;
    // Without a descriptor for the child's end (old kernels, some sandboxes) look more often.
    const auto longest = exit_event_.valid() ? kWatchInterval.count() : 10;
    poll_outputs(static_cast<int>(std::clamp<decltype(left)>(left, 1, longest)));
  }

  void poll_outputs(int timeout_ms) {
    std::array<pollfd, 3> watched{{{out_.descriptor(), POLLIN, 0},
                                   {err_.descriptor(), POLLIN, 0},
                                   {exit_event_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), timeout_ms);
    drain();
  }

  void drain() {
    out_.drain(result_.out, result_.truncated);
    err_.drain(result_.err, result_.truncated);
  }

  /// Reaps the leader when it has ended.
  bool leader_ended() {
    if (reaped_) return true;
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    reaped_ = true;
    exit_event_.reset();
    if (got == pid_ && WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
    if (got == pid_ && WIFSIGNALED(status)) {
      result_.signal = WTERMSIG(status);
      result_.exit_code = 128 + result_.signal;
    }
    return true;
  }

  bool group_lives() const { return ::kill(-pid_, 0) == 0 || errno == EPERM; }

  static bool any_runs(const std::vector<ProcessId>& processes) {
    return std::any_of(processes.begin(), processes.end(), still_runs);
  }

  /// Asks everything to end, and ends it after the grace. Launchers such as mpirun put their
  /// children into groups of their own and end them when asked to; where they do not, the children
  /// are ended one by one.
  void end_all() {
    std::vector<ProcessId> family = descendants_of(pid_);
    const auto ended = [&] { return leader_ended() && !group_lives() && !any_runs(family); };
    if (command_.children_first && !family.empty()) {
      for (const ProcessId& process : family) {
        if (!still_runs(process)) continue;
        ::kill(process.pid, SIGTERM);
        ::kill(process.pid, SIGCONT);  // a stopped process handles no signal
      }
    } else {
      ::kill(-pid_, SIGTERM);
      ::kill(-pid_, SIGCONT);
    }
    wait_for_end(ended);
    for (const ProcessId& process : descendants_of(pid_)) family.push_back(process);
    if (!leader_ended() || group_lives()) ::kill(-pid_, SIGKILL);
    for (const ProcessId& process : family) {
      if (still_runs(process)) ::kill(process.pid, SIGKILL);
    }
    while (!leader_ended()) poll_outputs(10);  // SIGKILL can't be refused
  }

  /// Ends what a leader that is gone left behind in its group.
  void end_group() {
    if (!group_lives()) return;
    ::kill(-pid_, SIGTERM);
    ::kill(-pid_, SIGCONT);
    wait_for_end([&] { return !group_lives(); });
    if (group_lives()) ::kill(-pid_, SIGKILL);
  }

  /// Until `ended`, at most the grace; a second interrupt of the user cuts it short.
  template <typename Predicate>
  void wait_for_end(Predicate ended) {
    const auto until = Steady::now() + command_.grace;
    const sig_atomic_t before = interrupt_count;
    while (!ended() && Steady::now() < until && interrupt_count == before) poll_outputs(5);
  }

  const Command& command_;
  const ProcessRunner::Watcher& watcher_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  Fd exit_event_;
  Capture out_;
  Capture err_;
  Steady::time_point started_at_;
  ProcessResult result_;
};

class RealProcessRunner : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Watcher& watcher) override {
    if (command.argv.empty()) return start_failure("", EINVAL);
    const std::string& program = command.argv[0];
    std::vector<std::string> environment = child_environment(command);
    const auto path = find_in(program, value_of(environment, "PATH").value_or(kDefaultPath));
    if (!path) {
      const bool named = program.find('/') != std::string::npos;
      std::error_code error;
      return start_failure(program,
                           named && std::filesystem::exists(program, error) ? EACCES : ENOENT);
    }
    std::error_code error;
    if (!command.directory.empty() && !std::filesystem::is_directory(command.directory, error)) {
      return failure("process-start", "can't start '" + program + "' in " +
                                          command.directory.string() + ": not a directory");
    }
    Child child(command, watcher);
    if (const int error_number = child.start(*path, std::move(environment))) {
      return start_failure(program, error_number);
    }
    return child.wait();
  }

  std::optional<std::string> find(const std::string& program) const override {
    const char* path = std::getenv("PATH");
    return find_in(program, path != nullptr ? path : kDefaultPath);
  }

 private:
  static constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
};

}  // namespace

ProcessRunner& real_process_runner() {
  static RealProcessRunner runner;
  return runner;
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);  // nohup stays in force
}

bool interrupted() {
  return interrupt_count > 0;
}

void forget_interrupts() {
  interrupt_count = 0;
}

}  // namespace muster
