#include "runs/run_database.h"

#include <array>

#include <fmt/format.h>
#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace muster::runs {
namespace {

// Entry n brings a database from user_version n to n + 1. Entries are only ever added.
constexpr std::array kMigrations{
    "CREATE TABLE runs ("
    "  id TEXT PRIMARY KEY, case_name TEXT NOT NULL, target TEXT NOT NULL, profile TEXT NOT NULL,"
    "  state TEXT NOT NULL, outcome TEXT, created TEXT NOT NULL, ended TEXT, directory TEXT NOT "
    "NULL,"
    "  record TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX runs_created ON runs (created);",
    "ALTER TABLE runs ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0;",
};

/// A prepared statement that is finalised at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* handle, const char* sql) {
    sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::string text(int column) const {
    const auto* data = sqlite3_column_text(statement_, column);
    return data == nullptr ? std::string() : reinterpret_cast<const char*>(data);
  }
  int integer(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

bool damaged(int code) {
  return (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT;
}

/// Moves a damaged database and its journals out of the way, never over an earlier one.
Result<void> set_aside(const std::filesystem::path& file) {
  std::filesystem::path aside;
  for (int n = 1; std::filesystem::exists(aside = fmt::format("{}.damaged-{}", file.string(), n));
       ++n) {
  }
  std::error_code error;
  std::filesystem::rename(file, aside, error);
  for (const char* suffix : {"-wal", "-shm"}) {
    std::error_code none;  // they need not be there
    std::filesystem::rename(file.string() + suffix, aside.string() + suffix, none);
  }
  if (error) {
    return failure("runs-database", fmt::format("{} is damaged and can't be set aside: {}",
                                                file.string(), error.message()));
  }
  return {};
}

}  // namespace

Failure RunDatabase::error(const std::string& what) const {
  return failure("runs-database",
                 fmt::format("{}: can't {}: {}", file_.string(), what, sqlite3_errmsg(handle_)));
}

Result<RunDatabase::Opened> RunDatabase::open(const std::filesystem::path& file) {
  for (int attempt = 0;; ++attempt) {
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    std::shared_ptr<RunDatabase> database(new RunDatabase(handle, file));
    if (code != SQLITE_OK) {
      return database->error("open the run store");
    }
    sqlite3_busy_timeout(handle, 5000);
    // WAL is refused on some network file systems; the default journal works there, so the answer
    // does not matter.
    int state = sqlite3_exec(handle, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", nullptr,
                             nullptr, nullptr);
    if (!damaged(state)) {
      Statement check(handle, "PRAGMA quick_check(1)");
      state = check.step();
      if (state == SQLITE_ROW) {
        state = check.text(0) == "ok" ? SQLITE_OK : SQLITE_CORRUPT;
      }
    }
    if (damaged(state) && attempt == 0) {
      database.reset();
      if (auto moved = set_aside(file); !moved) {
        return moved.error();
      }
      continue;
    }
    auto fresh = database->migrate();
    if (!fresh) {
      return fresh.error();
    }
    return Opened{std::move(database), *fresh};
  }
}

RunDatabase::~RunDatabase() {
  sqlite3_close(handle_);
}

Result<bool> RunDatabase::migrate() {
  // One transaction that excludes other writers: two processes that start at once migrate once.
  if (sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error("open the run store for writing");
  }
  int version = 0;
  {
    Statement ask(handle_, "PRAGMA user_version");
    if (ask.step() == SQLITE_ROW) {
      version = ask.integer(0);
    }
  }
  const auto give_up = [this](Failure why) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    return why;
  };
  if (version > static_cast<int>(kMigrations.size())) {
    return give_up(failure("runs-database-newer",
                           fmt::format("{} has schema version {}, this muster knows {}",
                                       file_.string(), version, kMigrations.size()),
                           "use the newer muster that wrote it"));
  }
  for (std::size_t next = static_cast<std::size_t>(version); next < kMigrations.size(); ++next) {
    if (sqlite3_exec(handle_, kMigrations[next], nullptr, nullptr, nullptr) != SQLITE_OK) {
      return give_up(error(fmt::format("migrate the run store to version {}", next + 1)));
    }
  }
  const std::string stamp = fmt::format("PRAGMA user_version = {}; COMMIT", kMigrations.size());
  if (sqlite3_exec(handle_, stamp.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return give_up(error("migrate the run store"));
  }
  return version == 0;
}

Result<void> RunDatabase::put(const RunRecord& record) {
  Statement put(handle_,
                "INSERT INTO runs (id, case_name, target, profile, state, outcome, created, ended, "
                "directory, record)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                " ON CONFLICT (id) DO UPDATE SET case_name=?2, target=?3, profile=?4, state=?5, "
                "outcome=?6, created=?7,"
                " ended=?8, directory=?9, record=?10");
  put.bind(1, record.id);
  put.bind(2, record.case_name);
  put.bind(3, record.target);
  put.bind(4, record.profile);
  put.bind(5, to_string(record.state));
  if (record.outcome) {
    put.bind(6, to_string(*record.outcome));
  }
  put.bind(7, to_rfc3339(record.created));
  if (record.ended) {
    put.bind(8, to_rfc3339(*record.ended));
  }
  put.bind(9, record.directory.string());
  put.bind(10, to_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (put.step() != SQLITE_DONE) {
    return error("write the row of run " + record.id);
  }
  return {};
}

Result<void> RunDatabase::remove(const std::string& id) {
  Statement remove(handle_, "DELETE FROM runs WHERE id = ?1");
  remove.bind(1, id);
  if (remove.step() != SQLITE_DONE) {
    return error("remove the row of run " + id);
  }
  return {};
}

Result<void> RunDatabase::remove_all() {
  Statement remove(handle_, "DELETE FROM runs");
  if (remove.step() != SQLITE_DONE) {
    return error("empty the run store");
  }
  return {};
}

Result<void> RunDatabase::request_cancel(const std::string& id) {
  Statement request(handle_, "UPDATE runs SET cancel_requested = 1 WHERE id = ?1");
  request.bind(1, id);
  if (request.step() != SQLITE_DONE) {
    return error("ask run " + id + " to stop");
  }
  return {};
}

Result<bool> RunDatabase::cancel_requested(const std::string& id) {
  Statement ask(handle_, "SELECT cancel_requested FROM runs WHERE id = ?1");
  ask.bind(1, id);
  const int code = ask.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return error("read the row of run " + id);
  }
  return code == SQLITE_ROW && ask.integer(0) != 0;
}

Result<std::vector<RunRecord>> RunDatabase::all() {
  Statement ask(handle_,
                "SELECT id, record, cancel_requested FROM runs ORDER BY created DESC, id DESC");
  std::vector<RunRecord> records;
  int code = SQLITE_DONE;
  while ((code = ask.step()) == SQLITE_ROW) {
    auto record =
        parse_run_record(ask.text(1), fmt::format("{} (row {})", file_.string(), ask.text(0)));
    if (!record) {
      continue;
    }
    record->cancel_requested = ask.integer(2) != 0;
    records.push_back(std::move(*record));
  }
  if (code != SQLITE_DONE) {
    return error("read the run store");
  }
  return records;
}

}  // namespace muster::runs
