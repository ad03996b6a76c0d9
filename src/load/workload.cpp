#include "load/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/words.h"

namespace muster::load {
namespace {

// Words that byte-pair vocabularies trained on English hold as one token with the blank before.
constexpr std::array<std::string_view, 96> kCommonWords = {
    "the",   "of",   "and",     "to",    "in",    "is",    "that",  "for",   "it",     "as",
    "was",   "with", "be",      "by",    "on",    "not",   "he",    "his",   "but",    "at",
    "are",   "this", "have",    "from",  "or",    "had",   "an",    "they",  "which",  "one",
    "you",   "were", "all",     "her",   "she",   "there", "would", "their", "we",     "him",
    "been",  "has",  "when",    "who",   "will",  "no",    "more",  "if",    "out",    "so",
    "up",    "said", "what",    "its",   "about", "than",  "into",  "them",  "can",    "only",
    "other", "time", "new",     "some",  "could", "these", "two",   "may",   "first",  "then",
    "do",    "any",  "like",    "my",    "now",   "over",  "such",  "our",   "man",    "me",
    "even",  "most", "made",    "after", "also",  "well",  "did",   "many",  "before", "must",
    "years", "back", "through", "much",  "where", "way"};

constexpr int kLongest = 1'000'000;

/// A seed for one purpose of one conversation, so that none depends on how many others were drawn.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t number, std::uint64_t purpose) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(number),
                         static_cast<std::uint32_t>(number >> 32),
                         static_cast<std::uint32_t>(purpose)};
  std::array<std::uint32_t, 2> out{};
  sequence.generate(out.begin(), out.end());
  return (std::uint64_t{out[0]} << 32) | out[1];
}

std::string drawn_words(std::mt19937_64& random, int count) {
  std::string text;
  text.reserve(static_cast<std::size_t>(count) * 5);
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kCommonWords[random() % kCommonWords.size()];
  }
  return text;
}

/// Both numbers of "A,B" or "A-B".
std::optional<std::pair<double, double>> two_numbers(std::string_view text, char between) {
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = finite(text.substr(0, at)), second = finite(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

}  // namespace

int Lengths::draw(std::mt19937_64& random, int least) const {
  double value = first;
  switch (kind) {
    case Kind::kFixed:
      break;
    case Kind::kUniform:
      value = static_cast<double>(std::uniform_int_distribution<int>(
          static_cast<int>(first), static_cast<int>(second))(random));
      break;
    case Kind::kNormal:
      value = std::normal_distribution<double>(first, second)(random);
      break;
    case Kind::kLogNormal:
      value = std::lognormal_distribution<double>(std::log(first), second)(random);
      break;
  }
  return static_cast<int>(std::clamp<double>(std::round(value), least, kLongest));
}

double Lengths::typical() const {
  return kind == Kind::kUniform ? (first + second) / 2 : first;
}

Result<Lengths> parse_lengths(const std::string& text, const std::string& option) {
  const auto bad = [&]() -> Failure {
    return failure("load-lengths", fmt::format("{}: \"{}\" is not a length", option, text),
                   "128, 64-256, normal:512,64 or lognormal:512,0.6; at most 1000000");
  };
  Lengths lengths;
  std::optional<std::pair<double, double>> pair;
  if (const auto fixed = whole(text)) {
    pair = std::pair(static_cast<double>(*fixed), 0.0);
  } else if (text.starts_with("normal:")) {
    lengths.kind = Lengths::Kind::kNormal;
    pair = two_numbers(std::string_view(text).substr(7), ',');
  } else if (text.starts_with("lognormal:")) {
    lengths.kind = Lengths::Kind::kLogNormal;
    pair = two_numbers(std::string_view(text).substr(10), ',');
  } else {
    lengths.kind = Lengths::Kind::kUniform;
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos || !whole(std::string_view(text).substr(0, dash)) ||
        !whole(std::string_view(text).substr(dash + 1)))
      return bad();
    pair = two_numbers(text, '-');
    if (pair && pair->second < pair->first) return bad();
  }
  if (!pair || !(pair->first >= 1) || pair->first > kLongest || pair->second < 0 ||
      pair->second > kLongest)
    return bad();
  lengths.first = pair->first;
  lengths.second = pair->second;
  return lengths;
}

Result<std::vector<GivenPrompt>> parse_prompts(const std::string& text, const std::string& file) {
  std::vector<GivenPrompt> prompts;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view content = trimmed(line);
    if (content.empty()) continue;
    if (content.front() != '{') {
      prompts.push_back({std::string(content), {}});
      continue;
    }
    const auto value = nlohmann::json::parse(content, nullptr, false);
    const auto prompt = value.is_object() ? value.find("prompt") : value.end();
    const auto limit = value.is_object() ? value.find("max_tokens") : value.end();
    const bool right =
        value.is_object() && prompt != value.end() && prompt->is_string() &&
        (limit == value.end() || (limit->is_number_integer() && *limit > 0 && *limit <= kLongest));
    if (!right) {
      return Failure(error_at({file, number, 1}, "load-prompts",
                              "a prompt that starts with { has to be a JSON object with \"prompt\"",
                              "{\"prompt\": \"Why is the sky blue?\", \"max_tokens\": 64}"));
    }
    GivenPrompt given{prompt->get<std::string>(), {}};
    if (limit != value.end()) given.output = limit->get<int>();
    prompts.push_back(std::move(given));
  }
  if (prompts.empty())
    return Failure(error_at({file, 1, 1}, "load-prompts", "no prompt in the file"));
  return prompts;
}

Conversation Workload::conversation(std::uint64_t number, const Arrival& arrival) const {
  Conversation conversation;
  conversation.number = number;
  if (shared_prefix > 0) {
    const std::uint64_t group = number % static_cast<std::uint64_t>(std::max(1, prefix_groups));
    std::mt19937_64 random(mixed(seed, group, 1));
    conversation.system = drawn_words(random, shared_prefix);
  }
  std::mt19937_64 random(mixed(seed, number, 2));
  for (int i = 0; i < std::max(1, turns); ++i) {
    Turn turn;
    turn.output = output.draw(random, 1);
    if (arrival.output) turn.output = std::max(1, *arrival.output);
    if (prompts.empty()) {
      int words = input.draw(random, 1);
      if (arrival.input) words = std::max(1, *arrival.input);
      // The shared prefix is part of the first turn's length.
      if (i == 0) words = std::max(1, words - shared_prefix);
      turn.prompt = drawn_words(random, words);
      turn.input = words + (i == 0 ? shared_prefix : 0);
    } else {
      const std::uint64_t at =
          number * static_cast<std::uint64_t>(std::max(1, turns)) + static_cast<std::uint64_t>(i);
      const GivenPrompt& given = prompts[at % prompts.size()];
      turn.prompt = given.text;
      turn.input = static_cast<int>(words_of(given.text).size());
      if (given.output) turn.output = *given.output;
    }
    conversation.turns.push_back(std::move(turn));
  }
  return conversation;
}

}  // namespace muster::load
