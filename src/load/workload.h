// What the conversations of a load are: how long, what they share, how many turns. Prompts are made
// of common English words, about one token each; what a server counts itself is what the results
// use. Pure: same seed, same conversations.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/arrivals.h"

namespace muster::load {

/// Numbers of tokens: "128", "64-256" (uniform), "normal:512,64", "lognormal:512,0.6" (median and
/// sigma of the logarithm).
struct Lengths {
  enum class Kind { kFixed, kUniform, kNormal, kLogNormal };
  Kind kind = Kind::kFixed;
  double first = 0, second = 0;

  /// At least `least`, at most a million.
  int draw(std::mt19937_64& random, int least) const;
  double typical() const;  ///< mean of a uniform and a normal one, median of a lognormal one
};
Result<Lengths> parse_lengths(const std::string& text, const std::string& option);

/// One turn: what the user says, and how long the answer may be.
struct Turn {
  std::string prompt;
  int input = 0;   ///< words drawn, with the shared prefix
  int output = 0;  ///< tokens asked for
};

struct Conversation {
  std::uint64_t number = 0;
  std::string system;  ///< the shared prefix; empty: none
  std::vector<Turn> turns;
};

/// A prompt that a file gives.
struct GivenPrompt {
  std::string text;
  std::optional<int> output;
};

/// JSON lines with "prompt" and, if wanted, "max_tokens"; or one prompt a line.
Result<std::vector<GivenPrompt>> parse_prompts(const std::string& text, const std::string& file);

struct Workload {
  Lengths input{Lengths::Kind::kFixed, 128, 0}, output{Lengths::Kind::kFixed, 64, 0};
  std::vector<GivenPrompt> prompts;  ///< in turn, instead of drawn words; empty: drawn
  int shared_prefix = 0;             ///< words
  int prefix_groups = 1;             ///< how many different prefixes
  int turns = 1;
  std::uint64_t seed = 1;

  /// The `number`-th conversation, whatever was drawn before. A length that the arrival states
  /// goes before the drawn one.
  Conversation conversation(std::uint64_t number, const Arrival& arrival) const;
};

}  // namespace muster::load
