#include "lock/pins.h"

#include <gtest/gtest.h>

namespace muster::lock {
namespace {

std::vector<std::string> keys(const std::string& text, const std::string& name) {
  std::vector<std::string> keys;
  for (const Pin& pin : pins_of(text, name))
    keys.push_back(std::string(to_string(pin.kind)) + " " + pin.key());
  return keys;
}

using Keys = std::vector<std::string>;

TEST(PinsTest, OfADockerfile) {
  EXPECT_EQ(
      keys("ARG TAG=26.02\n"
           "FROM nvcr.io/nvidia/nemo:${TAG} AS base\n"
           "ARG NCCL_VERSION=v2.30.4-1\n"
           "RUN git clone --depth 1 --branch \"${NCCL_VERSION}\" "
           "https://github.com/NVIDIA/nccl.git /tmp/n \\\n"
           "    && pip3 install --no-cache-dir --extra-index-url https://x.example/whl "
           "'Flash_Attn[a]==2.8 ; x' b==1.*\n"
           "RUN git clone https://github.com/a/b.git && git -C b checkout 0dc87eb3b40c\n"
           "RUN python3 -m pip install \"d @ git+https://github.com/a/d.git@v3\" ./local e==$E\n"
           "FROM base\n"
           "COPY --from=ubuntu:24.04 /a /a\n"
           "COPY --from=base /a /a\n",
           "Dockerfile"),
      (Keys{"image nvcr.io/nvidia/nemo:26.02",
            "repository https://github.com/NVIDIA/nccl.git@v2.30.4-1", "package flash-attn==2.8",
            "repository https://github.com/a/d.git@v3", "image ubuntu:24.04"}));
  const auto pins =
      pins_of("FROM a.example/b:1\nRUN pip install --extra-index-url https://x.example c==1\n",
              "Dockerfile");
  ASSERT_EQ(pins.size(), 2U);
  EXPECT_EQ(pins[1].indexes, (Keys{"https://x.example"}));
  EXPECT_EQ(pins[1].where.line, 2);
}

TEST(PinsTest, OfManifestsAndRequirements) {
  EXPECT_EQ(keys("image: {base: 'nvcr.io/a:1', uri: '${REGISTRY}/x:1', dockerfile: Dockerfile}\n"
                 "steps: [{name: s, image: 'b.example/c:2'}]\n"
                 "profiles: {smoke: {image: null}}\n",
                 "case.yaml"),
            (Keys{"image nvcr.io/a:1", "image b.example/c:2"}));
  EXPECT_EQ(
      keys("# comment\n--extra-index-url https://x.example/whl\ntorch==2.15.0  # why\nnumpy>=2\n",
           "requirements.txt"),
      (Keys{"package torch==2.15.0"}));
  EXPECT_EQ(
      pins_of("--extra-index-url https://x.example/whl\ntorch==2.15.0\n", "requirements.txt")[0]
          .indexes,
      (Keys{"https://x.example/whl"}));
  EXPECT_TRUE(keys("FROM scratch\nFROM a@sha256:00\n", "Dockerfile").empty());
  EXPECT_TRUE(keys("torch==1\n", "README.md").empty());
}

TEST(PinsTest, EachOnceOverAllFiles) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.write("/t/b/requirements.txt", "torch==2\n"));
  ASSERT_TRUE(files.write("/t/a/Dockerfile",
                          "FROM x.example/y:1\nRUN pip install -i https://i torch==2\n"));
  ASSERT_TRUE(files.write("/t/a/notes.txt", "torch==3\n"));
  const auto pins = collect_pins(files, "/t");
  ASSERT_TRUE(pins.ok());
  ASSERT_EQ(pins->size(), 2U);
  EXPECT_EQ((*pins)[1].key(), "torch==2");
  EXPECT_EQ((*pins)[1].where.file, "/t/a/Dockerfile");
  EXPECT_EQ((*pins)[1].indexes, (Keys{"https://i"}));
}

}  // namespace
}  // namespace muster::lock
