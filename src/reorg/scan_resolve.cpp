// What a text in running text resolves to, from which base, and how it is then written.
#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

/// Escaped as `raw` was: a character that stands in it without a backslash needs none.
std::string with_escapes(std::string_view text, std::string_view raw) {
  std::string plain;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\') {
      ++i;
    } else {
      plain += raw[i];
    }
  }
  std::string result;
  for (const char c : text) {
    const bool special = std::string_view(" ()'&;\"$").find(c) != std::string_view::npos;
    if (special && plain.find(c) == std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

bool distinctive(std::string_view name) {
  std::size_t digits = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
  return digits > 0 && digits <= 2 && digits + 1 < name.size() &&
         (name[digits] == '.' || name[digits] == '_') &&
         !(name[digits + 1] >= '0' && name[digits + 1] <= '9');
}

const char* Scan::kind_here(std::size_t offset) const {
  if (kind_ != FileKind::kMarkdown) return to_string(kind_);
  while (region_ > 0 && regions_[region_ - 1].span.end > offset) --region_;
  while (region_ < regions_.size() && regions_[region_].span.end <= offset) ++region_;
  if (region_ == regions_.size() || regions_[region_].span.begin > offset) return "prose";
  switch (regions_[region_].kind) {
    case MarkdownRegion::Kind::kFence:
      return "fence";
    case MarkdownRegion::Kind::kCode:
      return "inline-code";
    case MarkdownRegion::Kind::kHtml:
      return "html";
    case MarkdownRegion::Kind::kHeading:
      return "heading";
  }
  return "prose";
}

std::optional<Found> Scan::resolve_under(const Base& base, std::string_view text) const {
  auto place = resolve(base.before, text);
  if (base.above > 0 || place.above > 0) return std::nullopt;
  auto target = world_.target(base.side, place.path);
  if (!target) return std::nullopt;
  return Found{base, std::move(*target), text.size()};
}

/// Whether the first name of a text exists: most that look like paths end here.
bool Scan::may_hold(const Base& base, std::string_view text) const {
  std::size_t begin = 0, end = 0;
  for (; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (!part.empty() && part != "." && part != "..") break;
  }
  if (begin >= text.size() || text.find("..", end) != std::string_view::npos) return true;
  const auto place = resolve(base.before, text.substr(0, end));
  return place.above > 0 || world_.has_been(base.side, place.path);
}

std::optional<Found> Scan::resolve_partly(const Base& base, std::string_view text,
                                          bool trusted) const {
  // No path is as deep; what climbs out of the repository has no part that stays in it.
  constexpr std::size_t kDeepest = 64;
  if (!may_hold(base, text)) return std::nullopt;
  if (components(text).size() > kDeepest || resolve(base.before, text).above > 0)
    return std::nullopt;
  std::string_view part = text;
  while (!part.empty()) {
    while (!part.empty() && part.back() == '/') part.remove_suffix(1);
    const std::size_t slash = part.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    part = part.substr(0, slash);
    auto found = resolve_under(base, part);
    if (!found) continue;
    const auto parts = components(part);
    if (parts.empty() || parts.back() == ".." || parts.back() == "." ||
        found->target.before.empty())
      return std::nullopt;
    const auto named = std::count_if(parts.begin(), parts.end(), [](std::string_view each) {
      return each != ".." && each != ".";
    });
    const bool clear = trusted || named >= 2 || distinctive(parts.back());
    if (!clear) return std::nullopt;
    found->length = part.size();
    return found;
  }
  return std::nullopt;
}

Scan::Bases Scan::bases() const {
  Bases result;
  const auto add = [&](const Base& base) { result.list[result.count++] = &base; };
  if (cwd_) add(*cwd_);
  const bool from_root = kind_ == FileKind::kWorkflow;
  add(from_root ? root_ : directory_);
  add(from_root ? directory_ : root_);
  if (mentions_) add(first_root_);
  return result;
}

bool Scan::quoted(Span span) const {
  if (span.begin == 0 || span.end >= content_.size()) return false;
  const char c = content_[span.begin - 1];
  return (c == '"' || c == '\'' || c == '`') && content_[span.end] == c;
}

void Scan::resolved(Span span, std::string_view text, const Found& found, Confidence confidence) {
  const bool escaped = slice(content_, span).find('\\') != std::string_view::npos;
  const std::string_view named = text.substr(0, found.length);
  Span named_span = span;
  if (!escaped) named_span.end = span.begin + found.length;
  Reference& reference =
      add(named_span, kind_here(span.begin), found.target.side, found.target.before);
  reference.confidence = confidence;
  if (!found.target.after) {
    reference.confidence = Confidence::kUnsure;
    reference.reason = "its target is dropped";
    return;
  }
  std::string fresh = world_.rewritten(found.base, named, found.target);
  if (fresh == named) {
    reference.confidence = Confidence::kLikely;  // there is nothing to decide
    return;
  }
  if (escaped) {
    fresh += text.substr(found.length);
    fresh = with_escapes(fresh, slice(content_, span));
  }
  reference.replacement = fresh;
  reference.reason = found.base.before.empty() ? "resolved from the root"
                     : found.base.before == directory_.before
                         ? "resolved from the file's directory"
                         : fmt::format("resolved from {}", quoted_path(found.base.before));
  if (found.target.split) {
    reference.reason = fmt::format("SPLIT: {} went to several places", found.target.before);
    if (found.target.after->empty()) reference.confidence = Confidence::kUnsure;
  }
  const bool breaks = !escaped && fresh.find_first_of(" ()&;'\"$") != std::string::npos &&
                      named.find_first_of(" ()&;'\"$") == std::string_view::npos && !quoted(span);
  if (breaks) {
    reference.confidence = Confidence::kUnsure;
    reference.reason = "the new name needs quotes here";
  }
}

}  // namespace muster::reorg
