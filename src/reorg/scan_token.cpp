// One text that may be a path: as it stands, with escapes, with wildcards, with a final dot.
#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    result += text[i];
  }
  return result;
}

}  // namespace

void Scan::glob(Span span, std::string_view text) {
  const std::size_t star = text.find('*');
  const std::size_t slash = text.substr(0, star).rfind('/');
  if (slash == std::string_view::npos || slash == 0) return;
  const std::string_view fixed = text.substr(0, slash);
  const std::string_view tail = text.substr(slash);
  for (const Base* base : bases()) {
    auto found = resolve_under(*base, fixed);
    if (!found) found = resolve_partly(*base, fixed, false);
    if (!found || !found->target.entry.directory) continue;
    const bool climbs_only = found->target.before.empty();
    if (climbs_only) return;
    const bool whole = tail == "/**" || tail == "/*" || tail == "/**/*";
    if (!found->target.split || (whole && !found->target.after->empty()) ||
        found->length < fixed.size()) {
      return resolved({span.begin, span.begin + slash}, fixed, *found, Confidence::kLikely);
    }
    // One text for each place that the matched files went to.
    std::vector<std::string> places;
    const Side& side = world_.layout().sides[found->target.side];
    const auto& directory = side.tree.directories()[found->target.entry.index];
    const std::size_t depth = components(tail).size();
    for (std::size_t i = directory.first; i < directory.last; ++i) {
      if (!side.images[i]) continue;
      const auto below_it = components(below(side.tree.files()[i].path, directory.path));
      if (tail.find("**") == std::string_view::npos && below_it.size() != depth) continue;
      std::string_view place = *side.images[i];
      for (std::size_t up = 0; up < below_it.size(); ++up) place = parent_of(place);
      if (std::find(places.begin(), places.end(), place) == places.end())
        places.emplace_back(place);
    }
    const std::string_view line = line_around(span.begin);
    std::size_t open = span.begin;
    if (open > 0 && content_[open - 1] == '!') --open;
    const bool listed =
        quoted({open, span.end}) && open == span.begin && line.find('[') != std::string_view::npos;
    Reference& reference =
        add(span, kind_here(span.begin), found->target.side, found->target.before);
    reference.reason =
        fmt::format("SPLIT: {} went to {} places", found->target.before, places.size());
    std::string fresh;
    for (const std::string& place : places) {
      Target to = found->target;
      to.after = place;
      const char quote = quoted(span) ? content_[span.begin - 1] : ' ';
      if (!fresh.empty()) fresh.append(1, quote).append(", ").append(1, quote);
      fresh.append(world_.rewritten(*base, fixed, to)).append(tail);
    }
    reference.replacement = fresh;
    reference.confidence = places.size() <= 1 || listed ? Confidence::kLikely : Confidence::kUnsure;
    return;
  }
}

void Scan::bare(Span span, std::string_view text) {
  const bool odd = text.find_first_of(" ()[]") != std::string_view::npos;
  if (!distinctive(text) && !(odd && quoted(span))) return;
  if (odd && !quoted(span)) return;
  for (const Base* base : bases()) {
    const auto found = resolve_under(*base, text);
    if (!found) continue;
    // "1. Setup", "2.vpc" of a list: a number alone does not make a path.
    return resolved(span, text, *found, Confidence::kLikely);
  }
}

void Scan::token(Span span) {
  std::string_view raw = slice(content_, span);
  if (raw.front() == '@' && raw.size() > 1) {
    raw.remove_prefix(1);
    ++span.begin;
  }
  const char before = span.begin > 0 ? content_[span.begin - 1] : ' ';
  const bool glued = before == '$' || before == '}' || before == ')' ||
                     (before == '>' && raw.front() == '/') ||
                     (before == '"' && raw.front() == '/' && span.begin > 1 &&
                      (content_[span.begin - 2] == ')' || content_[span.begin - 2] == '}'));
  std::string unescaped;
  std::string_view text = raw;
  if (raw.find('\\') != std::string_view::npos) {
    unescaped = without_escapes(raw);
    text = unescaped;
  }
  if (glued && before != ')' && text.find('/') != std::string_view::npos)
    return after_variable(span);
  if (before == ')' && raw.front() == '/') return after_variable(span);
  if (before == ')' || glued) return;
  const auto trimmed = [&] {  // the end of a sentence
    std::size_t size = text.size();
    while (size > 1 && text[size - 1] == '.' && text[size - 2] != '.' && text[size - 2] != '/')
      --size;
    return size;
  };
  const std::size_t dots = text.size() - trimmed();
  if (dots > 0 && text.data() == raw.data()) {
    span.end -= dots;
    text.remove_suffix(dots);
  }
  if (text.find('*') != std::string_view::npos) return glob(span, text);
  if (text.front() == '/' || text.front() == '~') {
    const bool link_like = span.begin > 1 && content_.substr(span.begin - 2, 2) == "](";
    if (link_like) return link(span, to_string(kind_));
    if (!cloned(span, text) && word_ == Word::kCd) working_directory(std::nullopt);
    return;
  }
  const bool climbs = text == ".." || text.substr(0, 3) == "../";
  if (word_ == Word::kCd && cwd_ && climbs) {
    // Out of what was entered: the pair must agree, above the root as well.
    const auto place = resolve(cwd_->before, text);
    const int above = cwd_->above + place.above;
    if (above > 0 && place.path.empty()) {
      std::string fresh;
      const std::size_t ups = components(cwd_->after).size() + static_cast<std::size_t>(above);
      for (std::size_t i = 0; i < ups; ++i) fresh += i == 0 ? ".." : "/..";
      if (!text.empty() && text.back() == '/') fresh += '/';
      Reference& out = add(span, kind_here(span.begin), cwd_->side, "");
      out.confidence = Confidence::kLikely;
      if (fresh != text) {
        out.replacement = fresh;
        out.reason = "leaves the clone that was entered above";
      }
      cwd_.reset();
      return;
    }
  }
  if (text.find('/') == std::string_view::npos && word_ != Word::kCd && !climbs)
    return bare(span, text);
  if (climbs && from_working_directory(span, text)) return;
  for (const Base* base : bases()) {
    const bool lone = text.find('/') == std::string_view::npos && !climbs && !distinctive(text);
    if (lone && !(cwd_ && base->before == cwd_->before)) continue;
    if (auto found = resolve_under(*base, text)) {
      const bool parameter = base->side != file_.side && mentions_ && !cwd_;
      if (parameter && components(text).size() < 2 && !distinctive(text)) continue;
      if (word_ == Word::kCd) {
        working_directory(world_.directory(found->target.side, found->target.before));
        if (lone && found->target.before == directory_.before) return;
      }
      resolved(span, text, *found, Confidence::kLikely);
      if (parameter) out_.back().kind = "parameter";
      return;
    }
  }
  if (cloned(span, text)) return;
  if (word_ == Word::kCd) working_directory(std::nullopt);
  if (text.find('/') == std::string_view::npos) return;
  for (const Base* base : bases()) {
    if (auto found = resolve_partly(*base, text, false))
      return resolved(span, text, *found, Confidence::kLikely);
  }
  if (text.find('%') == std::string_view::npos) return;
  const std::string decoded = percent_decoded(text);
  for (const Base* base : bases()) {
    auto found = resolve_under(*base, decoded);
    if (!found) continue;
    const std::size_t count = out_.size();
    found->length = decoded.size();
    Reference& reference =
        add(span, kind_here(span.begin), found->target.side, found->target.before);
    const std::string fresh = world_.rewritten(found->base, decoded, found->target);
    if (fresh != decoded) {
      reference.replacement = percent_encoded(fresh);
      reference.confidence = Confidence::kLikely;
      reference.reason = "resolved with its escapes undone";
    }
    out_.resize(count + 1);
    return;
  }
}

}  // namespace muster::reorg
