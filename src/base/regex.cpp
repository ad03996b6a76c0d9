#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <utility>

#include <fmt/format.h>
#include <pcre2.h>

namespace muster {
namespace {

constexpr std::uint32_t kMostSteps = 200'000;

}  // namespace

struct Regex::State {
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  };
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_data, Free> match;
  std::unique_ptr<pcre2_match_context, Free> context;
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  auto state = std::make_unique<State>();
  state->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_DUPNAMES, &error, &at, nullptr));
  if (!state->code) {
    std::array<char, 256> message{};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
    return failure("regex", fmt::format("{} at character {}", message.data(), at + 1),
                   "a regular expression in Perl's syntax");
  }
  // Without the compiler to machine code it is slower, not wrong.
  (void)pcre2_jit_compile(state->code.get(), PCRE2_JIT_COMPLETE);
  state->match.reset(pcre2_match_data_create_from_pattern(state->code.get(), nullptr));
  state->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(state->context.get(), kMostSteps);

  std::uint32_t count = 0;
  std::uint32_t named = 0;
  std::uint32_t width = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(state->code.get(), PCRE2_INFO_CAPTURECOUNT, &count);
  pcre2_pattern_info(state->code.get(), PCRE2_INFO_NAMECOUNT, &named);
  pcre2_pattern_info(state->code.get(), PCRE2_INFO_NAMEENTRYSIZE, &width);
  pcre2_pattern_info(state->code.get(), PCRE2_INFO_NAMETABLE, &table);
  Regex regex(std::move(state));
  regex.groups_.resize(count + 1);
  for (std::uint32_t i = 0; i < named; ++i) {
    // Two bytes of the group's number, then its name with a zero.
    const PCRE2_SPTR entry = table + std::size_t{i} * width;
    regex.groups_[std::size_t{entry[0]} << 8 | entry[1]] = reinterpret_cast<const char*>(entry + 2);
  }
  return regex;
}

Regex::Found Regex::search(std::string_view text, std::size_t from, Match& match) const {
  const int found = pcre2_match(state_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                text.size(), from, 0, state_->match.get(), state_->context.get());
  if (found == PCRE2_ERROR_NOMATCH) return Found::kNo;
  if (found < 0) return Found::kGaveUp;
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state_->match.get());
  match.begin = ends[0];
  match.end = ends[1];
  match.groups.assign(groups_.size(), std::nullopt);
  for (std::size_t i = 0; i < groups_.size() && i < static_cast<std::size_t>(found); ++i) {
    if (ends[2 * i] != PCRE2_UNSET)
      match.groups[i] = text.substr(ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
  }
  return Found::kYes;
}

}  // namespace muster
