#include "runs/run_store.h"

#include <unistd.h>
#include <sstream>

#include <algorithm>
#include <map>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/file_system.h"
#include "base/redact.h"
#include "runs/evidence.h"
#include "runs/judge.h"
#include "runs/run_database.h"

namespace muster::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordFile = "run.json";

template <typename Json>
Result<void> write_json(const fs::path& path, const Json& value) {
  return real_file_system().write(path,
                                  value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<RunRecord> read_record(const fs::path& directory) {
  const auto path = directory / kRecordFile;
  const auto text = real_file_system().read(path);
  if (!text) {
    return text.error();
  }
  auto record = parse_run_record(*text, path.string());
  if (record) {
    record->directory = directory;  // the directory may have been moved or copied since
  }
  return record;
}

/// Arguments as they may be kept: a secret may stand alone behind its flag (--token hf_…).
std::vector<std::string> redacted(std::vector<std::string> arguments) {
  const Redactor redactor = environment_redactor();
  bool secret_follows = false;
  for (std::string& argument : arguments) {
    const bool flag = argument.starts_with("--") && argument.find('=') == std::string::npos;
    const bool names_secret = flag && is_secret_name(std::string_view(argument).substr(2));
    argument = secret_follows && !flag ? std::string(kRedacted)
                                       : redactor.redact(std::string_view(argument));
    secret_follows = names_secret;
  }
  return arguments;
}

/// Why a directory be taken: the run that it holds, and who works there.
Failure occupied(const fs::path& directory, const std::string& run) {
  std::string message = fmt::format("{} holds run {} already", directory.string(), run);
  if (const auto holder = DirectoryLock::holder(directory)) {
    message += fmt::format(", in use by process {} on {}", holder->pid, holder->host);
  }
  return failure("directory-in-use", std::move(message),
                 "choose another directory, or resume that run");
}

/// The process of a local run's job, which writes "PID START_TICKS" into RUN/logs/job.pid before
/// anything else: so it is known even if muster was killed before it could record it.
LauncherIds job_of(const RunRecord& record) {
  LauncherIds ids;
  ids.host = record.launcher.host;
  if (const auto text = real_file_system().read(record.directory / "logs/job.pid")) {
    std::istringstream(*text) >> ids.pid >> ids.start_ticks;
  }
  return ids;
}

/// A run of this machine that says it goes on, while nobody is at work on it.
bool abandoned(const RunRecord& record) {
  return !is_final(record.state) && record.target == "local" &&
         record.launcher.slurm_job_id.empty() &&
         record.launcher.host == ids_of_process(::getpid()).host &&
         !process_alive(record.launcher) && !process_alive(job_of(record)) &&
         !DirectoryLock::holder(record.directory);
}

unsigned random_number() {
  static std::random_device device;
  return device();
}

}  // namespace

std::string make_run_id(TimePoint when, const std::string& case_name, unsigned random) {
  std::vector<std::string> parts{""};
  for (const char c : case_name) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_';
      parts.back() += plain ? c : '-';
    }
  }
  std::erase(parts, "");
  std::string name;
  for (std::size_t i = parts.size() - std::min<std::size_t>(parts.size(), 2); i < parts.size();
       ++i) {
    name += parts[i] + "-";
  }
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(when);
  return fmt::format("{:%Y%m%d-%H%M%S}-{}{:04x}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), name,
                     random & 0xffffU);
}

Run::Run(RunRecord record, DirectoryLock lock, std::shared_ptr<RunDatabase> database, Clock& clock)
    : record_(std::move(record)),
      lock_(std::move(lock)),
      database_(std::move(database)),
      clock_(&clock) {}

Result<void> Run::save() {
  if (auto written = write_json(record_.directory / kRecordFile, to_json(record_)); !written) {
    return written;
  }
  return database_->put(record_);
}

Result<void> Run::set_state(RunState state, const std::string& note) {
  if (state == RunState::kRunning && !record_.started) {
    record_.started = clock_->now();
  }
  if (is_final(state)) {
    record_.ended = clock_->now();
  } else {
    record_.ended.reset();
    record_.outcome.reset();
    record_.exit_code.reset();
  }
  record_.state = state;
  record_.note = environment_redactor().redact(std::string_view(note));
  return save();
}

Result<void> Run::set_launcher(const LauncherIds& ids) {
  record_.launcher = ids;
  return save();
}

Result<void> Run::finish(const Verdict& verdict, std::optional<int> launcher_exit,
                         std::optional<RunState> state, const std::string& note) {
  const Redactor redactor = environment_redactor();
  Verdict clean;
  for (const Check& check : verdict.checks()) {
    clean.add(check.name, check.outcome, redactor.redact(std::string_view(check.evidence)));
  }
  if (auto written = write_json(record_.directory / "verdict.json", verdict_document(clean));
      !written) {
    return written;
  }
  record_.outcome = verdict.outcome();
  record_.exit_code = launcher_exit;
  record_.state = state.value_or(state_of(verdict.outcome()));
  record_.note = redactor.redact(std::string_view(note));
  record_.ended = clock_->now();
  if (auto saved = save(); !saved) {
    return saved;
  }
  return write_checksums(record_.directory);
}

bool Run::cancel_requested() const {
  const auto asked = database_->cancel_requested(record_.id);
  return asked.ok() && *asked;
}

RunStore::RunStore(fs::path root, std::shared_ptr<RunDatabase> database, Clock& clock)
    : root_(std::move(root)), database_(std::move(database)), clock_(&clock) {}

Result<RunStore> RunStore::open(const fs::path& root, Clock& clock) {
  const fs::path absolute = fs::absolute(root).lexically_normal();
  if (auto made = real_file_system().make_directories(absolute); !made) {
    return made.error();
  }
  auto opened = RunDatabase::open(absolute / "runs.db");
  if (!opened) {
    return opened.error();
  }
  RunStore store(absolute, std::move(opened->database), clock);
  if (opened->fresh) {
    if (auto rebuilt = store.rebuild(); !rebuilt) {
      return rebuilt.error();
    }
  }
  return store;
}

Result<Run> RunStore::create(const RunSpec& spec) {
  RunRecord record;
  record.case_name = spec.case_name;
  record.target = spec.target;
  record.profile = spec.profile;
  record.nodes = spec.nodes;
  record.world = spec.world;
  record.command = redacted(spec.command);
  record.created = clock_->now();
  record.launcher = ids_of_process(::getpid());

  for (int attempt = 0; attempt < 100; ++attempt) {
    record.id = make_run_id(record.created, spec.case_name, random_number());
    record.directory = spec.directory.empty() ? root_ / record.id
                                              : fs::absolute(spec.directory).lexically_normal();

    // Made beside its place with everything in it, locked, then moved there: nobody sees it half
    // made or unlocked.
    const fs::path parent = record.directory.parent_path();
    const fs::path fresh = parent / fmt::format(".new-{}", record.id);
    if (auto made = real_file_system().make_directories(parent); !made) {
      return made.error();
    }
    std::error_code error;
    if (!fs::create_directory(fresh, error)) {
      if (!error) {
        continue;  // the same four digits in the same second
      }
      return failure("run-directory",
                     fmt::format("can't make {}: {}", fresh.string(), error.message()));
    }
    const auto give_up = [&](Failure why) {
      std::error_code ignored;
      fs::remove_all(fresh, ignored);
      return why;
    };
    auto lock = DirectoryLock::acquire(fresh);
    if (!lock) {
      return give_up(lock.error());
    }
    if (auto written = write_json(fresh / kRecordFile, to_json(record)); !written) {
      return give_up(written.error());
    }
    fs::rename(fresh, record.directory, error);  // replaces an empty directory, nothing else
    if (error) {
      if (const auto there = read_record(record.directory)) {
        return give_up(occupied(record.directory, there->id));
      }
      if (spec.directory.empty() &&
          (error == std::errc::directory_not_empty || error == std::errc::file_exists)) {
        give_up(failure("", ""));
        continue;
      }
      return give_up(failure("run-directory",
                             fmt::format("can't make the run directory {}: {}",
                                         record.directory.string(), error.message()),
                             "a directory that is empty or not there yet"));
    }
    if (auto put = database_->put(record); !put) {
      return put.error();
    }
    return Run(std::move(record), std::move(*lock), database_, *clock_);
  }
  return failure("run-directory", fmt::format("no free run id in {}", root_.string()));
}

Result<Run> RunStore::reopen(const std::string& id_or_prefix) {
  auto record = find(id_or_prefix);
  if (!record) {
    return record.error();
  }
  auto lock = DirectoryLock::acquire(record->directory);
  if (!lock) {
    return lock.error();
  }
  // Read again under the lock: its last holder may have changed it since.
  auto current = read_record(record->directory);
  if (!current) {
    return current.error();
  }
  return Run(std::move(*current), std::move(*lock), database_, *clock_);
}

Result<std::vector<RunRecord>> RunStore::list() {
  if (auto done = reconcile(); !done) {
    return done.error();
  }
  return database_->all();
}

Result<RunRecord> RunStore::find(const std::string& id_or_prefix) {
  auto all = list();
  if (!all) {
    return all.error();
  }
  if (all->empty()) {
    return failure(
        "run-unknown",
        fmt::format("there is no run \"{}\": {} holds none", id_or_prefix, root_.string()),
        "muster run CASE makes one");
  }
  if (id_or_prefix == "last") {
    return all->front();
  }
  const fs::path as_path = (fs::current_path() / id_or_prefix).lexically_normal();
  std::vector<const RunRecord*> matches;
  std::vector<std::string> ids;
  for (const RunRecord& record : *all) {
    if (record.id == id_or_prefix || record.directory == as_path ||
        record.directory / "" == as_path) {
      return record;
    }
    ids.push_back(record.id);
    if (!id_or_prefix.empty() && record.id.starts_with(id_or_prefix)) {
      matches.push_back(&record);
    }
  }
  if (matches.size() == 1) {
    return *matches.front();
  }
  if (matches.size() > 1) {
    std::string candidates;
    for (std::size_t i = 0; i < std::min<std::size_t>(matches.size(), 5); ++i) {
      candidates += (i == 0 ? "" : ", ") + matches[i]->id;
    }
    return failure("run-ambiguous",
                   fmt::format("\"{}\" is the start of {} runs", id_or_prefix, matches.size()),
                   (matches.size() > 5 ? "for example " : "one of ") + candidates);
  }
  const auto close = did_you_mean(id_or_prefix, ids);
  return failure("run-unknown", fmt::format("there is no run \"{}\"", id_or_prefix),
                 close ? fmt::format("did you mean {}?", *close) : "muster list runs shows them");
}

Result<void> RunStore::request_cancel(const std::string& id) {
  const auto record = find(id);
  if (!record) {
    return record.error();
  }
  return database_->request_cancel(record->id);
}

Result<void> RunStore::set_state(const std::string& id, RunState state, const std::string& note) {
  auto run = reopen(id);
  if (!run) {
    return run.error();
  }
  return run->set_state(state, note);
}

Result<int> RunStore::rebuild() {
  // Runs outside the root are known from their rows alone: read those before they go.
  auto known = database_->all();
  if (!known) {
    return known.error();
  }
  if (auto emptied = database_->remove_all(); !emptied) {
    return emptied.error();
  }
  for (const RunRecord& row : *known) {
    if (row.directory.parent_path() == root_) {
      continue;
    }
    if (const auto record = read_record(row.directory)) {
      if (auto put = database_->put(*record); !put) {
        return put.error();
      }
    }
  }
  auto rows = list();
  if (!rows) {
    return rows.error();
  }
  return static_cast<int>(rows->size());
}

Result<void> RunStore::reconcile() {
  auto rows = database_->all();
  if (!rows) {
    return rows.error();
  }
  std::map<std::string, RunRecord> by_id;
  for (RunRecord& row : *rows) {
    by_id.emplace(row.id, std::move(row));
  }
  auto names = real_file_system().list(root_);
  if (!names) {
    return names.error();
  }
  for (const std::string& name : *names) {
    if (name.starts_with('.') || by_id.contains(name) ||
        !real_file_system().exists(root_ / name / kRecordFile)) {
      continue;
    }
    // A record that can't be read is no run; the others must not suffer for it.
    if (const auto record = read_record(root_ / name); record && !by_id.contains(record->id)) {
      if (auto put = database_->put(*record); !put) {
        return put;
      }
      by_id.emplace(record->id, *record);
    }
  }
  for (auto& [id, row] : by_id) {
    if (!real_file_system().exists(row.directory / kRecordFile)) {
      if (auto removed = database_->remove(id); !removed) {
        return removed;
      }
    } else if (!is_final(row.state)) {
      const auto record = read_record(row.directory);
      if (record && record->id == id && record->state != row.state) {
        if (auto put = database_->put(*record); !put) {
          return put;
        }
      } else if (record && record->id == id && abandoned(*record)) {
        auto lock = DirectoryLock::acquire(record->directory);
        if (lock) {
          Run run(*record, std::move(*lock), database_, *clock_);
          if (auto set =
                  run.set_state(RunState::kUnknown, "muster ended before it had judged this run");
              !set) {
            return set;
          }
        }
      }
    }
  }
  return {};
}

}  // namespace muster::runs
