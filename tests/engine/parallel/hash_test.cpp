#include "engine/parallel/parameter_hash.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::parallel {
namespace {

std::string hash_of(const std::string& name, const std::vector<float>& values) {
  PartialHash sum{};
  add_to_hash(sum, name, values.data(), 0, static_cast<std::int64_t>(values.size()));
  return to_string(sum);
}

RC_GTEST_PROP(ParameterHash, DoesNotDependOnHowItIsCut, (const std::vector<float>& values)) {
  const std::size_t cut = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
  PartialHash back{};
  add_to_hash(back, "w", values.data() + cut, static_cast<std::int64_t>(cut),
              static_cast<std::int64_t>(values.size() - cut));
  PartialHash front{};
  add_to_hash(front, "w", values.data(), 0, static_cast<std::int64_t>(cut));
  const PartialHash sum = {front[0] + back[0], front[1] + back[1]};
  RC_ASSERT(to_string(sum) == hash_of("w", values));
}

RC_GTEST_PROP(ParameterHash, ChangesWithAnyBit, (std::vector<std::uint32_t> bits)) {
  RC_PRE(!bits.empty());
  const auto floats = [](const std::vector<std::uint32_t>& from) {
    std::vector<float> to(from.size());
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    return to;
  };
  const std::string before = hash_of("w", floats(bits));
  bits[*rc::gen::inRange<std::size_t>(0, bits.size())] ^= 1U << *rc::gen::inRange(0, 32);
  RC_ASSERT(hash_of("w", floats(bits)) != before);
}

TEST(ParameterHash, ChangesWithTheNameAndThePlace) {
  EXPECT_NE(hash_of("a", {1, 2}), hash_of("b", {1, 2}));
  EXPECT_NE(hash_of("a", {1, 2}), hash_of("a", {2, 1}));
  EXPECT_NE(hash_of("a", {0.0F}), hash_of("a", {-0.0F}));
  EXPECT_EQ(hash_of("a", {1, 2}).size(), 32U);
}

}  // namespace
}  // namespace muster::parallel
