#include "engine/model/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/file_system.h"

namespace muster::model {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "muster-safetensors-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  fs::path put(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return bytes + header + data;
}

Result<SafetensorsHeader> parse(const std::string& bytes) {
  return parse_safetensors(bytes, bytes.size(), "w.safetensors");
}

const char* const kTwo =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}})";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Safetensors, ReadsAHeader) {
  const auto header = parse(file_of(kTwo, std::string(12, 'x')));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->tensors.at("b").shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(header->tensors.at("b").begin, 8U);
}

struct Fault {
  const char* header;
  std::size_t data;
  const char* message;
};

class HeaderFault : public testing::TestWithParam<Fault> {};

TEST_P(HeaderFault, IsExplained) {
  const auto header = parse(file_of(GetParam().header, std::string(GetParam().data, 'x')));
  ASSERT_FALSE(header.ok());
  const auto& first = header.findings().front();
  EXPECT_NE(to_string(first).find(GetParam().message), std::string::npos) << to_string(first);
  EXPECT_EQ(first.where.file, "w.safetensors");
}

INSTANTIATE_TEST_SUITE_P(
    Faults, HeaderFault,
    testing::Values(
        Fault{"", 0, "does not start with"}, Fault{"[]", 0, "does not start with"},
        Fault{R"({"a":3})", 0, "described by"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7, "ends at byte 8"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9,
              "belong to no tensor"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "hole"},
        Fault{
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12, "overlap"},
        Fault{
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
            16, "a"},
        Fault{R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8, "no known dtype"},
        Fault{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
              "shape and dtype need 12"},
        Fault{R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "impossible shape"},
        Fault{
            R"({"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,8]}})",
            8, "impossible shape"},
        Fault{R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, "no shape"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "data_offsets"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "data_offsets"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,"8"]}})", 8, "data_offsets"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999999]}})", 8,
              "data_offsets"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8,
              "unknown field 'x'"},
        Fault{R"({"__metadata__":{"a":1}})", 0, "__metadata__"},
        Fault{R"({"__metadata__":[]})", 0, "__metadata__"}));

TEST(Safetensors, RefusesImpossibleLengths) {
  std::string bytes = file_of(kTwo, std::string(12, 'x'));
  bytes[7] = '\x7f';
  EXPECT_FALSE(parse(bytes).ok());
  bytes[7] = '\0';
  bytes[1] = '\x10';
  EXPECT_FALSE(parse(bytes).ok());
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = file_of(kTwo, std::string(12, 'x'));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse(bytes.substr(0, length)).ok()) << length;
}

TEST(Safetensors, EveryBitFlipOfTheHeaderIsRefusedOrStaysWithinTheFile) {
  const std::string good = file_of(kTwo, std::string(12, 'x'));
  for (std::size_t bit = 0; bit < (good.size() - 12) * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto header = parse(bytes);
    if (!header.ok()) {
      EXPECT_EQ(header.findings().front().where.file, "w.safetensors");
      continue;
    }
    for (const auto& [name, entry] : header->tensors)
      EXPECT_LE(header->data_start + entry.end, bytes.size()) << name;
  }
}

RC_GTEST_PROP(SafetensorsProperty, NoBytesCrash,
              (const std::string& header, const std::string& data)) {
  // What is refused is refused with a reason.
  for (const std::string& bytes : {header, file_of("{" + header, data)}) {
    const auto parsed = parse(bytes);
    RC_ASSERT(parsed.ok() || !parsed.findings().empty());
  }
}

TEST(Safetensors, WritesWhatItReads) {
  const Folder folder;
  const std::string a = "0123456789abcdef";
  const std::string b = "wxyz";
  ASSERT_TRUE(
      write_safetensors(folder.path() / "w.safetensors", {{"half", {"BF16", {2}, bytes_of(b)}},
                                                          {"full", {"F32", {2, 2}, bytes_of(a)}},
                                                          {"none", {"F32", {0, 3}, {}}}})
          .ok());
  const auto file = SafetensorsFile::open(folder.path() / "w.safetensors");
  ASSERT_TRUE(file.ok()) << to_string(file.findings().front());
  EXPECT_EQ(file->header().data_start % 8, 0U);
  EXPECT_EQ(file->header().metadata.at("format"), "pt");
  EXPECT_TRUE(std::ranges::equal(file->view("full").bytes, bytes_of(a)));
  EXPECT_TRUE(std::ranges::equal(file->view("half").bytes, bytes_of(b)));
  EXPECT_EQ(file->view("none").shape, (std::vector<std::int64_t>{0, 3}));
  EXPECT_FALSE(fs::exists(folder.path() / "w.safetensors.partial"));
}

TEST(Safetensors, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const Folder folder;
  const fs::path target = folder.path() / "w.safetensors";
  fs::create_directory(target);  // a rename over a directory fails
  const auto written = write_safetensors(target, {});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.findings().front().where.file, target.string());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  const auto nowhere = write_safetensors(folder.path() / "no" / "w.safetensors", {});
  EXPECT_FALSE(nowhere.ok());
}

TEST(Safetensors, OpenNamesTheFileAndTheReason) {
  const Folder folder;
  const auto absent = SafetensorsFile::open(folder.path() / "none.safetensors");
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(to_string(absent.findings().front()).find("No such file"), std::string::npos);
  EXPECT_FALSE(SafetensorsFile::open(folder.path()).ok());
  EXPECT_FALSE(SafetensorsFile::open(folder.put("empty", "")).ok());
}

class Index : public testing::Test {
 protected:
  Index() {
    folder_.put("one.safetensors",
                file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "aa"));
    folder_.put("two.safetensors",
                file_of(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "bb"));
  }
  Result<WeightFiles> open(const std::string& index) {
    folder_.put("model.safetensors.index.json", index);
    return WeightFiles::open(folder_.path());
  }
  void expect_fault(const std::string& index, const std::string& message) {
    const auto files = open(index);
    ASSERT_FALSE(files.ok()) << index;
    EXPECT_NE(to_string(files.findings().front()).find(message), std::string::npos)
        << to_string(files.findings().front());
  }
  Folder folder_;
};

TEST_F(Index, FindsTensorsInTheirFiles) {
  const auto files = open(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  ASSERT_TRUE(files.ok()) << to_string(files.findings().front());
  EXPECT_EQ(files->names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(std::ranges::equal(files->find("b")->view.bytes, bytes_of("bb")));
  EXPECT_FALSE(files->find("c").has_value());
}

TEST_F(Index, ExplainsWhatDoesNotFit) {
  expect_fault("{}", "weight_map");
  expect_fault("{", "index.json:1");
  expect_fault(R"({"weight_map": {"a": "three.safetensors"}})", "index.json:1:");
  expect_fault(R"({"weight_map": {"a": "../one.safetensors"}})", "not the name of a file");
  expect_fault(R"({"weight_map": {"a": 3}})", "not the name of a file");
  expect_fault(R"({"weight_map": {"a": "two.safetensors"}})",
               "tensor 'a' is not in two.safetensors");
  expect_fault(R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})",
               "tensor 'b' is not in");
}

TEST_F(Index, ATensorInTwoFilesIsRefused) {
  folder_.put(
      "two.safetensors",
      file_of(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
          "aabb"));
  expect_fault(R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})",
               "tensor 'a' is here");
}

TEST(WeightFiles, SaysWhatAFolderShouldHold) {
  const Folder folder;
  const auto files = WeightFiles::open(folder.path());
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.findings().front().hint.find("model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace muster::model
