// Pre-tokenisation: cutting a text into the pieces within which tokens are made.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::text {

/// GPT-2's pattern, which ByteLevel uses unless told otherwise.
extern const char* const kGpt2Pattern;
/// Llama 3's pattern.
extern const char* const kLlama3Pattern;

/// A compiled pattern (PCRE2, Unicode classes). `\s` and `\S` mean Unicode's White_Space, as in
/// Hugging Face's engine.
class Pattern {
 public:
  /// The failure says what is wrong with the pattern and at which offset; it has no position.
  static Result<Pattern> compile(const std::string& regex);

  /// Calls `match(begin, end)` for each non-empty match, from left to right. Bytes that are not
  /// UTF-8 match nothing. May be called from several threads at once.
  void for_each(std::string_view text,
                const std::function<void(std::size_t, std::size_t)>& match) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// One step of a pre-tokenizer.
struct SplitStep {
  enum class Kind {
    kSplit,      ///< by a pattern of the tokenizer's own
    kDigits,     ///< numeric characters apart from the rest
    kByteLevel,  ///< GPT-2's pattern, or only the leading space
  };
  enum class Behavior { kIsolated, kRemoved };
  Kind kind = Kind::kSplit;
  std::string regex;  ///< of kSplit
  bool literal =
      false;  ///< of kSplit: the JSON said {"String": …}; `regex` is that text, not a pattern
  bool invert = false;  ///< of kSplit: what lies between matches is the piece
  Behavior behavior =
      Behavior::kIsolated;        ///< of kSplit: matches become pieces of their own, or are dropped
  bool individual = false;        ///< of kDigits: each digit alone
  bool add_prefix_space = false;  ///< of kByteLevel: a piece that starts without a space gets one
  bool use_regex = true;          ///< of kByteLevel
};

/// Pieces of a text: views into it, or into `made` where a step made text of its own.
struct Pieces {
  std::vector<std::string_view> views;
  std::deque<std::string> made;
};

/// The steps of a pre-tokenizer, ready to run.
class Splitter {
 public:
  static Result<Splitter> make(std::vector<SplitStep> steps);

  /// The pieces of a text, in order. Without kRemoved or add_prefix_space steps they join to the
  /// text.
  Pieces split(std::string_view text) const;

  const std::vector<SplitStep>& steps() const { return steps_; }

 private:
  std::vector<SplitStep> steps_;
  std::vector<Pattern> patterns_;  // of each step; unused where a step needs none
};

}  // namespace muster::text
