#include "engine/train/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "engine/train/random_layout.h"
#include "engine/train/temporary.h"

namespace muster::train {
namespace {

namespace fs = std::filesystem;

// The value that a state of an element has in these tests.
float value_of(int parameter, std::int64_t element, int state) {
  return static_cast<float>(parameter * 1000 + element) + 0.25F * static_cast<float>(state);
}

// What a rank keeps: [unit][state] -> its shard's elements.
using Shards = std::vector<std::array<std::vector<float>, kStateCount>>;

Shards make_shards(const std::vector<ParameterPlace>& places, const std::vector<Range>& owned) {
  Shards shards(owned.size());
  for (std::size_t unit = 0; unit < owned.size(); ++unit) {
    for (auto& state : shards[unit])
      state.assign(static_cast<std::size_t>(owned[unit].second - owned[unit].first), 0.0F);
  }
  for (const Piece& piece : pieces_of(places, owned)) {
    for (int state = 0; state < kStateCount; ++state) {
      for (std::int64_t i = 0; i < piece.elements(); ++i) {
        shards[static_cast<std::size_t>(piece.unit)][static_cast<std::size_t>(state)]
              [static_cast<std::size_t>(piece.in_shard + i)] =
                  value_of(piece.parameter, piece.begin + i, state);
      }
    }
  }
  return shards;
}

Manifest sample_manifest(std::int64_t step) {
  Manifest manifest;
  manifest.step = step;
  manifest.parameter_hash = "abc";
  manifest.model_config = R"({"model_type":"llama"})";
  manifest.precision = "fp32";
  manifest.strategy = "full_shard";
  manifest.data = {"d", 0xfedcba9876543210ULL, 64, 8, 2, 2, 1000};
  manifest.optimizer = {3e-4, 3e-5, 0.1, 0.9, 0.95, 1.0, 10, 100};
  return manifest;
}

Result<fs::path> save(const CheckpointStore& store, std::int64_t step,
                      const std::vector<ParameterPlace>& places,
                      const std::vector<std::vector<Range>>& owned) {
  auto directory = store.begin(step);
  if (!directory) return directory;
  Manifest manifest = sample_manifest(step);
  const auto written = share_writing(places, owned);
  for (std::size_t rank = 0; rank < owned.size(); ++rank) {
    const Shards shards = make_shards(places, owned[rank]);
    const StateReader read = [&](int piece, int state) {
      const Piece& what = written[rank][static_cast<std::size_t>(piece)];
      return shards[static_cast<std::size_t>(what.unit)][static_cast<std::size_t>(state)].data() +
             what.in_shard;
    };
    auto file =
        write_shard(*directory, shard_name(static_cast<int>(rank), static_cast<int>(owned.size())),
                    places, written[rank], read);
    if (!file) return file.error();
    manifest.files.push_back(*file);
  }
  manifest.tensors = index_tensors(places, written);
  return store.commit(manifest);
}

Result<fs::path> save(const CheckpointStore& store, std::int64_t step) {
  const std::vector<ParameterPlace> places = {{"a.weight", {300, 300}, 0, 0, 90000},
                                              {"b.weight", {7}, 0, 90000, 7},
                                              {"c.weight", {100, 900}, 1, 0, 90000}};
  return save(store, step, places, split_units(places, 2, 1));
}

// Everything that a resume reads, or why it can't.
std::string reading(const fs::path& path) {
  auto checkpoint = Checkpoint::open(path);
  if (!checkpoint) return to_text(checkpoint.findings());
  return to_text(checkpoint->verify().findings());
}

RC_GTEST_PROP(Checkpoint, SavedByAnyNumberOfRanksItLoadsAtAnyOther, ()) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  const auto places = random_places();
  RC_ASSERT(
      save(store, 5, places, split_units(places, *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 3)))
          .ok());
  auto checkpoint = Checkpoint::open(store.path(5));
  RC_ASSERT(checkpoint.ok());
  RC_ASSERT(checkpoint->verify().ok());
  for (const auto& owned : split_units(places, *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 3))) {
    const Shards expected = make_shards(places, owned);
    Shards shards = expected;
    for (auto& unit : shards) {
      for (auto& state : unit) std::fill(state.begin(), state.end(), 0.0F);
    }
    for (const Piece& piece : pieces_of(places, owned)) {
      const auto tensor = checkpoint->find(places[static_cast<std::size_t>(piece.parameter)].name);
      RC_ASSERT(tensor.has_value());
      for (int state = 0; state < kStateCount; ++state) {
        checkpoint->read(
            *tensor, state, piece.begin, piece.end,
            shards[static_cast<std::size_t>(piece.unit)][static_cast<std::size_t>(state)].data() +
                piece.in_shard);
      }
    }
    RC_ASSERT(shards == expected);
  }
}

TEST(Checkpoint, TheManifestReadsBackAsItWasWritten) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 50).ok());
  auto checkpoint = Checkpoint::open(store.path(50));
  ASSERT_TRUE(checkpoint.ok()) << to_text(checkpoint.findings());
  Manifest expected = sample_manifest(50);
  expected.files = checkpoint->manifest().files;
  expected.tensors = checkpoint->manifest().tensors;
  EXPECT_EQ(checkpoint->manifest(), expected);
  EXPECT_EQ(write_manifest(checkpoint->manifest()), slurp(store.path(50) / "manifest.json"));
  EXPECT_EQ(expected.files.size(), 2U);
  EXPECT_EQ(expected.tensors.size(), 3U);
}

// The shards are ordinary safetensors: a header of JSON whose tensors fill the rest without holes.
TEST(Checkpoint, ShardsAreSafetensors) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 1).ok());
  for (int rank = 0; rank < 2; ++rank) {
    const std::string content = slurp(store.path(1) / shard_name(rank, 2));
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), sizeof length);
    const auto header = nlohmann::json::parse(content.substr(8, length));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__")
        spans.emplace_back(entry.at("data_offsets").at(0), entry.at("data_offsets").at(1));
    }
    std::sort(spans.begin(), spans.end());
    std::uint64_t at = 0;
    for (const auto& [begin, end] : spans) {
      EXPECT_EQ(begin, at);
      at = end;
    }
    EXPECT_EQ(8 + length + at, content.size());
  }
}

TEST(Checkpoint, AnyFlippedBitAndAnyCutIsFoundAndLocated) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 50).ok());
  ASSERT_EQ(reading(store.path(50)), "");
  for (const auto& entry : fs::directory_iterator(store.path(50))) {
    const fs::path path = entry.path();
    const auto size = static_cast<std::size_t>(fs::file_size(path));
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = i < 12 ? static_cast<std::size_t>(i)
                                    : (i < 24 ? size - static_cast<std::size_t>(i - 11)
                                              : size * static_cast<std::size_t>(i - 24) / 16);
      {
        const FlippedBit damage(path, at, i % 8);
        const std::string message = reading(store.path(50));
        ASSERT_NE(message.find(directory.path().string()), std::string::npos)
            << path << " flip at " << at << ": " << message;
        if (path.extension() == ".safetensors") {
          ASSERT_NE(message.find(path.string()), std::string::npos);
          ASSERT_NE(message.find("byte offset"), std::string::npos);
        }
      }
      {
        const CutFile damage(path, at);
        const std::string message = reading(store.path(50));
        ASSERT_NE(message.find(store.path(50).string()), std::string::npos)
            << path << " cut at " << at << ": " << message;
      }
    }
    fs::rename(path, path.string() + ".away");
    EXPECT_NE(reading(store.path(50)), "");
    fs::rename(path.string() + ".away", path);
  }
  ASSERT_EQ(reading(store.path(50)), "");
}

TEST(Checkpoint, DamageIsLocatedToItsBlock) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  const std::vector<ParameterPlace> places = {{"a.weight", {500000}, 0, 0, 500000}};
  ASSERT_TRUE(save(store, 1, places, split_units(places, 1, 1)).ok());
  const FlippedBit damage(store.path(1) / shard_name(0, 1), (3U << 20) + 17);
  EXPECT_NE(reading(store.path(1)).find("byte offset 3145728"), std::string::npos)
      << reading(store.path(1));
}

// A manifest whose checksum was made anew must still make sense.
TEST(Checkpoint, AManifestThatLiesIsRefused) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 1).ok());
  const std::string text = slurp(store.path(1) / "manifest.json");
  const auto with = [&](const std::function<void(nlohmann::json&)>& change) {
    auto document = nlohmann::json::parse(text);
    change(document);
    const auto parsed = parse_manifest(document.dump(), "manifest.json");
    return parsed.ok() ? std::string() : to_text(parsed.findings());
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_NE(with([](auto& m) { m["version"] = 2; }).find("version 2"), std::string::npos);
  EXPECT_NE(with([](auto& m) { m["format"] = "other"; }), "");
  EXPECT_NE(with([](auto& m) { m.erase("data"); }).find("data"), std::string::npos);
  EXPECT_NE(with([](auto& m) { m["step"] = "one"; }), "");
  EXPECT_NE(
      with([](auto& m) { m["files"][0]["name"] = "../../etc/passwd"; }).find("plain file name"),
      std::string::npos);
  EXPECT_NE(with([](auto& m) { m["tensors"][0]["slices"][0]["file"] = 9; }), "");
  EXPECT_NE(with([](auto& m) {
              m["tensors"][0]["slices"][0]["offsets"][1] = 1ULL << 60;
            }).find("beyond the end"),
            std::string::npos);
  EXPECT_NE(with([](auto& m) { m["tensors"][0]["slices"].erase(0); }).find("a.weight"),
            std::string::npos);
  EXPECT_NE(with([](auto& m) {
              m["tensors"][0]["shape"] = {1ULL << 40, 1ULL << 40};
            }).find("impossible"),
            std::string::npos);
}

TEST(CheckpointStore, KeepsTheNewestAndRemovesWhatDeadAttemptsLeft) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  for (const int step : {10, 20, 30, 40}) ASSERT_TRUE(save(store, step).ok());
  fs::create_directories(directory.path() / "step-00000035.tmp");
  fs::create_directories(directory.path() / "notes.tmp");
  spill(directory.path() / "README", "mine");
  ASSERT_TRUE(store.prune(40, 2).ok());
  EXPECT_EQ(store.steps(), (std::vector<std::int64_t>{40, 30}));
  EXPECT_FALSE(fs::exists(directory.path() / "step-00000035.tmp"));
  EXPECT_TRUE(fs::exists(directory.path() / "notes.tmp"));
  EXPECT_TRUE(fs::exists(directory.path() / "README"));
  ASSERT_TRUE(
      store.prune(30, 1).ok());  // a run resumed from 30: what lies beyond is not its to remove
  EXPECT_EQ(store.steps(), (std::vector<std::int64_t>{40, 30}));
}

TEST(CheckpointStore, ReplacesACheckpointOfTheSameStep) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 10).ok());
  spill(store.path(10) / "manifest.json", "damaged");
  ASSERT_TRUE(save(store, 10).ok());
  EXPECT_EQ(reading(store.path(10)), "");
  EXPECT_FALSE(fs::exists(store.path(10).string() + ".tmp"));
}

// A disk that fills up after any number of bytes: the attempt fails as such, what was there stays
// whole.
TEST(CheckpointStore, ALimitOnFileSizeAtAnyPlaceLeavesThePreviousCheckpointWhole) {
  const TemporaryDirectory directory;
  const CheckpointStore store(directory.path());
  ASSERT_TRUE(save(store, 1).ok());
  const auto whole = fs::file_size(store.path(1) / shard_name(0, 2));
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (const std::uint64_t limit :
       {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{5000},
        static_cast<std::uint64_t>(whole) / 2, static_cast<std::uint64_t>(whole) - 1}) {
    rlimit now = before;
    now.rlim_cur = limit;
    ::setrlimit(RLIMIT_FSIZE, &now);
    const auto saved = save(store, 2);
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(saved.ok()) << limit;
    EXPECT_EQ(exit_code_for(saved.findings()), 75);
    EXPECT_FALSE(fs::exists(store.path(2)));
    EXPECT_EQ(reading(store.path(1)), "");
  }
  ::signal(SIGXFSZ, old_handler);
  store.discard(2);
  EXPECT_FALSE(fs::exists(store.path(2).string() + ".tmp"));
}

// A real file system of limited size, and one that is read-only; needs the right to mount.
class MountedStore : public ::testing::Test {
 protected:
  void mount(const std::string& options) {
    ASSERT_EQ(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options.c_str()), 0)
        << "these tests need the right to mount: run them as root";
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

TEST_F(MountedStore, AFullDiskLeavesThePreviousCheckpointWhole) {
  ASSERT_NO_FATAL_FAILURE(mount("size=4m"));
  const CheckpointStore store(directory_.path());
  ASSERT_TRUE(save(store, 1).ok());  // 2.1 MB
  const auto saved = save(store, 2);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(exit_code_for(saved.findings()), 75);
  EXPECT_NE(to_text(saved.findings()).find("No space left"), std::string::npos);
  store.discard(2);
  EXPECT_EQ(reading(store.path(1)), "");
  EXPECT_EQ(store.steps(), (std::vector<std::int64_t>{1}));
}

TEST_F(MountedStore, AReadOnlyDirectoryIsSaidAndLeavesThePreviousCheckpointWhole) {
  ASSERT_NO_FATAL_FAILURE(mount("size=16m"));
  const CheckpointStore store(directory_.path());
  ASSERT_TRUE(save(store, 1).ok());
  ASSERT_EQ(::mount(nullptr, directory_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr),
            0);
  const auto saved = save(store, 2);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(exit_code_for(saved.findings()), 75);
  EXPECT_NE(to_text(saved.findings()).find("Read-only"), std::string::npos);
  EXPECT_EQ(reading(store.path(1)), "");
}

TEST(DataState, TheNumberOfRanksMayChangeWithTheSameGlobalBatchOnly) {
  const DataState saved{"hash", 1, 64, 8, 2, 2, 100};
  DataState now = saved;
  now.world = 4;
  now.micro_batch = 1;
  EXPECT_TRUE(check_data_state(saved, now, "c").empty());
  now.global_batch = 16;
  const Findings findings = check_data_state(saved, now, "c");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].message.find("2 ranks of micro-batch 2"), std::string::npos);
  EXPECT_NE(findings[0].message.find("4 ranks of micro-batch 1"), std::string::npos);
  EXPECT_NE(findings[0].hint.find("--global-batch 8"), std::string::npos);
  now = saved;
  now.seq_len = 128;
  now.seed = 2;
  now.hash = "other";
  EXPECT_EQ(check_data_state(saved, now, "c").size(), 3U);
}

}  // namespace
}  // namespace muster::train
