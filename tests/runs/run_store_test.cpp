#include "runs/run_store.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runs/evidence.h"
#include "testing.h"

namespace muster::runs {
namespace {

namespace fs = std::filesystem;
using muster::testing::TemporaryDirectory;

RunSpec spec(const std::string& name = "training/native/llama/tiny") {
  RunSpec made;
  made.case_name = name;
  made.target = "local";
  made.profile = "smoke";
  made.world = 2;
  made.command = {"muster", "run", name};
  return made;
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void sql(const fs::path& database, const std::string& text) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &handle), SQLITE_OK);
  char* why = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, text.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
  sqlite3_free(why);
  sqlite3_close(handle);
}

class Store : public ::testing::Test {
 protected:
  fs::path root() const { return directory_.path() / "runs"; }
  RunStore open() {
    auto store = RunStore::open(root(), clock_);
    EXPECT_TRUE(store.ok()) << to_string(store.findings().front());
    return *store;
  }
  std::vector<RunRecord> list() {
    auto store = open();
    auto rows = store.list();
    EXPECT_TRUE(rows.ok());
    return rows ? *rows : std::vector<RunRecord>();
  }
  /// A finished run, made a second after the one before.
  std::string passed(const RunSpec& what = spec()) {
    auto store = open();
    auto run = store.create(what);
    EXPECT_TRUE(run.ok()) << to_string(run.findings().front());
    Verdict verdict;
    verdict.add("completed", Outcome::kPass, "yes");
    EXPECT_TRUE(run->finish(verdict, 0).ok());
    clock_.advance(std::chrono::seconds(1));
    return run->id();
  }

  TemporaryDirectory directory_;
  ManualClock clock_{TimePoint(std::chrono::seconds(1796000000))};
};

TEST(RunId, SaysWhenAndWhat) {
  const TimePoint when(std::chrono::seconds(1796032080));
  EXPECT_EQ(make_run_id(when, "training/native/llama/tiny", 0xabc0f),
            "20261130-094800-llama-tiny-bc0f");
  EXPECT_EQ(make_run_id(when, "tiny", 1), "20261130-094800-tiny-0001");
  EXPECT_EQ(make_run_id(when, "a/b c/../\xc3\xa4", 0), "20261130-094800-..----0000");
  EXPECT_EQ(make_run_id(when, "", 0), "20261130-094800-0000");
}

TEST(RunStates, NamesReadBack) {
  for (const RunState state :
       {RunState::kSubmitted, RunState::kRunning, RunState::kPassed, RunState::kFailed,
        RunState::kUnknown, RunState::kCancelled, RunState::kInterrupted, RunState::kTimedOut}) {
    EXPECT_EQ(parse_run_state(to_string(state)), state);
  }
  EXPECT_FALSE(parse_run_state("done"));
}

TEST_F(Store, ARunIsADirectoryAndARow) {
  auto store = open();
  auto run = store.create(spec());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->directory(), root() / run->id());
  EXPECT_TRUE(fs::exists(run->directory() / "run.json"));
  const auto rows = list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].case_name, "training/native/llama/tiny");
  EXPECT_EQ(rows[0].state, RunState::kSubmitted);
  EXPECT_EQ(rows[0].created, clock_.now());

  clock_.advance(std::chrono::seconds(5));
  LauncherIds ids = ids_of_process(::getpid());
  EXPECT_TRUE(process_alive(ids));
  ids.slurm_job_id = "4711";
  ASSERT_TRUE(run->set_launcher(ids).ok());
  ASSERT_TRUE(run->set_state(RunState::kRunning).ok());
  EXPECT_EQ(list()[0].state, RunState::kRunning);
  EXPECT_EQ(list()[0].launcher.slurm_job_id, "4711");
  EXPECT_EQ(list()[0].launcher.start_ticks, ids.start_ticks);
  EXPECT_EQ(list()[0].started, clock_.now());

  Verdict verdict;
  verdict.add("finite", Outcome::kFail, "NaN at step 3");
  ASSERT_TRUE(run->finish(verdict, 3).ok());
  const auto record = list()[0];
  EXPECT_EQ(record.state, RunState::kFailed);
  EXPECT_EQ(record.outcome, Outcome::kFail);
  EXPECT_EQ(record.exit_code, 3);
  const auto document = nlohmann::json::parse(slurp(record.directory / "verdict.json"));
  EXPECT_EQ(document["checks"][0]["name"], "finite");
  const auto changed = verify(record.directory);
  ASSERT_TRUE(changed.ok());
  EXPECT_TRUE(changed->empty());
}

TEST_F(Store, TheStateSaysMoreThanTheOutcome) {
  auto store = open();
  auto run = store.create(spec());
  Verdict verdict;
  verdict.add("completed", Outcome::kUnknown, "cancelled");
  ASSERT_TRUE(run->finish(verdict, 143, RunState::kCancelled, "by scancel").ok());
  EXPECT_EQ(list()[0].state, RunState::kCancelled);
  EXPECT_EQ(list()[0].note, "by scancel");
}

TEST_F(Store, SecretsAreNotKept) {
  ASSERT_EQ(setenv("PLANTED_TOKEN", "correct-horse-battery", 1), 0);
  auto store = open();
  auto what = spec();
  what.command = {"muster",  "run", "--token", "another-horse", "--env", "X_API_KEY=third-horse",
                  "--steps", "3"};
  auto run = store.create(what);
  ASSERT_TRUE(run->set_state(RunState::kRunning, "said correct-horse-battery").ok());
  Verdict verdict;
  verdict.add("completed", Outcome::kFail, "log: correct-horse-battery");
  ASSERT_TRUE(run->finish(verdict, 1).ok());
  unsetenv("PLANTED_TOKEN");
  std::string everything;
  for (const auto& entry : fs::recursive_directory_iterator(root())) {
    if (entry.is_regular_file()) {
      everything += slurp(entry.path());
    }
  }
  EXPECT_EQ(everything.find("-horse"), std::string::npos);
  EXPECT_NE(everything.find("--steps"), std::string::npos);
}

TEST_F(Store, ASecondRunInOneDirectoryIsRefusedByTheFirstsPid) {
  auto what = spec();
  what.directory = directory_.path() / "here";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t first = fork();
  if (first == 0) {
    auto store = RunStore::open(root(), clock_);
    auto run = store->create(what);
    const char ok = run.ok() ? '1' : '0';
    [[maybe_unused]] auto told = ::write(ready[1], &ok, 1);
    ::pause();
    _exit(0);
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ASSERT_EQ(ok, '1');

  auto store = open();
  const auto second = store.create(what);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.findings()[0].message.find("process " + std::to_string(first)),
            std::string::npos)
      << second.findings()[0].message;
  const auto again = store.reopen("last");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.findings()[0].message.find(std::to_string(first)), std::string::npos);
  EXPECT_EQ(DirectoryLock::holder(what.directory)->pid, first);

  // Its death frees the directory, whatever kills it; the run that is there stays.
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  EXPECT_FALSE(DirectoryLock::holder(what.directory));
  const auto third = store.create(what);
  ASSERT_FALSE(third.ok());
  EXPECT_NE(third.findings()[0].message.find("holds run"), std::string::npos);
  EXPECT_TRUE(store.reopen("last").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 2)
      << "nothing half made is left";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Store, ADirectoryWithOtherThingsInItIsRefused) {
  auto what = spec();
  what.directory = directory_.path() / "full";
  fs::create_directory(what.directory);
  std::ofstream(what.directory / "mine") << "x";
  auto store = open();
  EXPECT_FALSE(store.create(what).ok());
  EXPECT_EQ(slurp(what.directory / "mine"), "x");
  fs::remove(what.directory / "mine");
  EXPECT_TRUE(store.create(what).ok()) << "an empty one is fine";
}

TEST_F(Store, ARunWhoseMusterWasKilledIsUnknown) {
  const pid_t child = fork();
  if (child == 0) {
    auto store = RunStore::open(root(), clock_);
    auto run = store->create(spec());
    const bool done = run->set_state(RunState::kRunning).ok();
    ::kill(::getpid(), done ? SIGKILL : SIGABRT);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  const auto rows = list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, RunState::kUnknown);
  EXPECT_NE(rows[0].note.find("before it had judged"), std::string::npos);
}

TEST_F(Store, ADetachedSlurmRunStaysAsItIs) {
  {
    auto store = open();
    auto what = spec();
    what.target = "slurm";
    auto run = store.create(what);
    LauncherIds ids;
    ids.slurm_job_id = "12";
    ASSERT_TRUE(run->set_launcher(ids).ok());
    ASSERT_TRUE(run->set_state(RunState::kRunning).ok());
  }
  EXPECT_EQ(list()[0].state, RunState::kRunning);
  auto store = open();
  ASSERT_TRUE(store.set_state("last", RunState::kCancelled, "scancel").ok());
  EXPECT_EQ(list()[0].state, RunState::kCancelled);
}

TEST_F(Store, ACancelReachesTheFollower) {
  auto follower = open();
  auto run = follower.create(spec());
  EXPECT_FALSE(run->cancel_requested());
  auto other = open();
  ASSERT_TRUE(other.request_cancel(run->id()).ok());
  EXPECT_TRUE(run->cancel_requested());
  ASSERT_TRUE(run->set_state(RunState::kRunning).ok());
  EXPECT_TRUE(run->cancel_requested()) << "a change of state does not take it back";
  EXPECT_FALSE(other.set_state(run->id(), RunState::kCancelled).ok())
      << "the follower has the lock";
}

TEST_F(Store, FindsByIdPrefixDirectoryAndLast) {
  const std::string first = passed();
  const std::string second = passed(spec("training/native/llama/smollm2-135m"));
  auto store = open();
  EXPECT_EQ(store.find(first)->id, first);
  EXPECT_EQ(store.find(second.substr(0, second.size() - 2))->id, second);
  EXPECT_EQ(store.find((root() / first).string())->id, first);
  EXPECT_EQ(store.find("last")->id, second);
  EXPECT_EQ(list()[0].id, second) << "newest first";

  const auto ambiguous = store.find("2026");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_NE(to_string(ambiguous.findings()[0]).find(first), std::string::npos);
  std::string typo = first;
  typo.back() = typo.back() == 'x' ? 'y' : 'x';
  const auto unknown = store.find(typo);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.findings()[0].hint.find("did you mean " + first), std::string::npos)
      << unknown.findings()[0].hint;
  EXPECT_FALSE(store.find("").ok());
}

TEST_F(Store, RowsAreRemadeWhenTheDatabaseIsLost) {
  const std::string first = passed();
  const std::string second = passed();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::remove(root() / (std::string("runs.db") + suffix));
  }
  const auto rows = list();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].id, second);
  EXPECT_EQ(rows[1].id, first);
  EXPECT_EQ(rows[0].state, RunState::kPassed);
}

TEST_F(Store, ADamagedDatabaseIsSetAsideAndRemade) {
  const std::string id = passed();
  for (const std::string& rubbish :
       {std::string(5000, 'x'), slurp(root() / "runs.db").substr(0, 2000)}) {
    for (const char* suffix : {"-wal", "-shm"}) {
      fs::remove(root() / (std::string("runs.db") + suffix));
    }
    std::ofstream(root() / "runs.db", std::ios::binary | std::ios::trunc) << rubbish;
    const auto rows = list();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].id, id);
  }
  EXPECT_TRUE(fs::exists(root() / "runs.db.damaged-1"));
  EXPECT_TRUE(fs::exists(root() / "runs.db.damaged-2"));
}

TEST_F(Store, AnOlderSchemaIsMigratedANewerOneRefused) {
  const std::string id = passed();
  sql(root() / "runs.db", "ALTER TABLE runs DROP COLUMN cancel_requested; PRAGMA user_version = 1");
  {
    auto store = open();
    EXPECT_EQ(store.find(id)->id, id);
    EXPECT_TRUE(store.request_cancel(id).ok());
  }
  sql(root() / "runs.db", "PRAGMA user_version = 99");
  const auto newer = RunStore::open(root(), clock_);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.findings()[0].rule, "runs-database-newer");
}

TEST_F(Store, ADirectoryThatIsGoneTakesItsRowWithIt) {
  const std::string gone = passed();
  const std::string stays = passed();
  fs::remove_all(root() / gone);
  const auto rows = list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, stays);
}

TEST_F(Store, ARecordThatCantBeReadHidesNoOther) {
  const std::string good = passed();
  const std::string bad = passed();
  std::ofstream(root() / bad / "run.json", std::ios::trunc) << "{";
  auto store = open();
  ASSERT_TRUE(store.rebuild().ok());
  const auto rows = list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, good);
}

TEST_F(Store, RebuildKeepsRunsThatLieElsewhere) {
  auto what = spec();
  what.directory = directory_.path() / "elsewhere";
  const std::string id = passed(what);
  auto store = open();
  EXPECT_EQ(*store.rebuild(), 1);
  EXPECT_EQ(store.find(id)->directory, what.directory);
}

TEST_F(Store, ManyAtOnceAllGetARunOfTheirOwn) {
  constexpr int kThreads = 4;
  constexpr int kEach = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      auto store = RunStore::open(root(), clock_);
      for (int n = 0; n < kEach; ++n) {
        ASSERT_TRUE(store->create(spec()).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::string> ids;
  for (const RunRecord& record : list()) {
    ids.insert(record.id);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kThreads * kEach));
}

TEST(RunRecord, BadOnesAreLocated) {
  for (const std::string text : {"", "[]", "{}", R"({"schema_version":2})",
                                 R"({"schema_version":1,"id":3,"case":"c","state":"passed"})",
                                 R"({"schema_version":1,"id":"i","case":"c","state":"done"})"}) {
    const auto record = parse_run_record(text, "run.json");
    ASSERT_FALSE(record.ok()) << text;
    EXPECT_EQ(record.findings()[0].where.file, "run.json");
  }
}

TEST(ProcessAlive, TellsARecycledPidApart) {
  LauncherIds ids = ids_of_process(::getpid());
  ++ids.start_ticks;
  EXPECT_FALSE(process_alive(ids));
  const pid_t child = fork();
  if (child == 0) {
    ::pause();
  }
  ids = ids_of_process(child);
  EXPECT_TRUE(process_alive(ids));
  ::kill(child, SIGKILL);
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(process_alive(ids)) << "it only waits to be reaped";
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace muster::runs
