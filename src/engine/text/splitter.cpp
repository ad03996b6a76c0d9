#include "engine/text/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace muster::text {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// Unicode's White_Space. PCRE2's own \s also takes U+180E, which no longer is one.
const char* const kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// Spells \s and \S out. (\S within a class stays PCRE2's: it can't be spelled there.)
std::string spell_out_space(const std::string& regex) {
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      const char next = regex[++i];
      if (next == 's') {
        result += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
      } else if (next == 'S' && !in_class) {
        result += fmt::format("[^{}]", kWhiteSpace);
      } else {
        result += c;
        result += next;
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    result += c;
  }
  return result;
}

std::string quoted(const std::string& literal) {
  std::string regex;
  for (const char c : literal) {
    if (std::string_view(R"(\^$.|?*+()[]{}-)").find(c) != std::string_view::npos) regex += '\\';
    regex += c;
  }
  return regex;
}

/// End of the valid UTF-8 that starts at `from`.
std::size_t end_of_utf8(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    if (static_cast<unsigned char>(text[from]) < 0x80) {
      ++from;
      continue;
    }
    const std::size_t length = utf8_length(text, from);
    if (length == 0) break;
    from += length;
  }
  return from;
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* code;
};

Result<Pattern> Pattern::compile(const std::string& regex) {
  const std::string spelled = spell_out_space(regex);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (compiled == nullptr) {
    char message[256] = {};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
    return failure("tokenizer-pattern",
                   fmt::format("the pattern '{}' is wrong: {}", regex, message));
  }
  Pattern pattern;
  pattern.code_ = std::make_shared<const Code>(compiled);
  return pattern;
}

void Pattern::for_each(std::string_view text,
                       const std::function<void(std::size_t, std::size_t)>& match) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(pcre2_match_data_create(1, nullptr));
  for (std::size_t start = 0; start < text.size();) {
    // Each stretch of valid UTF-8 by itself; checked once here, not at every match.
    const std::size_t stop = end_of_utf8(text, start);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + start);
    for (std::size_t at = 0; at < stop - start;) {
      const std::uint32_t options = PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK;
      int found = pcre2_match(code_->code, subject, stop - start, at, options, data.get(), nullptr);
      if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(code_->code, subject, stop - start, at, options | PCRE2_NO_JIT,
                            data.get(), nullptr);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0)
        throw std::runtime_error(
            fmt::format("a tokenizer's pattern ended with PCRE2 error {}", found));
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
      if (range[0] < at || range[1] <= range[0])
        throw std::runtime_error("a tokenizer's pattern does not advance");
      match(start + range[0], start + range[1]);
      at = range[1];
    }
    start = stop < text.size() ? stop + 1 : stop;
  }
}

namespace {

/// Matches and what lies between them, as pieces; or only one of the two.
void cut(const Pattern& pattern, std::string_view text, bool keep_matches, bool keep_between,
         std::vector<std::string_view>& pieces) {
  std::size_t reached = 0;
  pattern.for_each(text, [&](std::size_t begin, std::size_t end) {
    if (keep_between && begin > reached) pieces.push_back(text.substr(reached, begin - reached));
    if (keep_matches) pieces.push_back(text.substr(begin, end - begin));
    reached = end;
  });
  if (keep_between && reached < text.size()) pieces.push_back(text.substr(reached));
}

}  // namespace

Result<Splitter> Splitter::make(std::vector<SplitStep> steps) {
  Splitter splitter;
  for (const SplitStep& step : steps) {
    std::string regex;
    switch (step.kind) {
      case SplitStep::Kind::kSplit:
        regex = step.literal ? quoted(step.regex) : step.regex;
        break;
      case SplitStep::Kind::kDigits:
        regex = step.individual ? R"(\p{N})" : R"(\p{N}+)";
        break;
      case SplitStep::Kind::kByteLevel:
        regex = kGpt2Pattern;
        break;
    }
    auto pattern = Pattern::compile(regex);
    if (!pattern) return pattern.error();
    splitter.patterns_.push_back(std::move(pattern).value());
  }
  splitter.steps_ = std::move(steps);
  return splitter;
}

Pieces Splitter::split(std::string_view text) const {
  Pieces pieces;
  if (!text.empty()) pieces.views.push_back(text);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const SplitStep& step = steps_[i];
    const bool byte_level = step.kind == SplitStep::Kind::kByteLevel;
    std::vector<std::string_view> next;
    for (std::string_view piece : pieces.views) {
      if (byte_level && step.add_prefix_space && piece.front() != ' ')
        piece = pieces.made.emplace_back(fmt::format(" {}", piece));
      if (byte_level && !step.use_regex) {
        next.push_back(piece);
        continue;
      }
      // Inverted, the roles of matches and of what lies between them are exchanged.
      const bool removed =
          step.kind == SplitStep::Kind::kSplit && step.behavior == SplitStep::Behavior::kRemoved;
      cut(patterns_[i], piece, !removed || step.invert, !removed || !step.invert, next);
    }
    pieces.views = std::move(next);
  }
  return pieces;
}

}  // namespace muster::text
