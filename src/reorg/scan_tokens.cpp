// Paths in running text: commands, code, configuration, prose. A text counts when it resolves from
// the place that its surroundings give: the working directory of a script, a variable, the file's
// directory, the root, a clone.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

constexpr std::array<bool, 256> path_table() {
  std::array<bool, 256> table{};
  for (int c = 0; c < 256; ++c) {
    table[static_cast<std::size_t>(c)] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                         (c >= '0' && c <= '9') || c == '/' || c == '.' ||
                                         c == '_' || c == '-' || c == '+' || c == '@' || c == '~' ||
                                         c == '*' || c == '%';
  }
  return table;
}
constexpr std::array<bool, 256> kPathTable = path_table();

bool in_path(char c) {
  return kPathTable[static_cast<unsigned char>(c)];
}

bool word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A name that hardly anything else is called: it starts with a number and a separator.
bool distinctive(std::string_view name) {
  std::size_t digits = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') ++digits;
  return digits > 0 && digits <= 2 && digits + 1 < name.size() &&
         (name[digits] == '.' || name[digits] == '_') &&
         !(name[digits + 1] >= '0' && name[digits + 1] <= '9');
}

std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    result += text[i];
  }
  return result;
}

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

bool Scan::in_code(std::size_t offset) const {
  if (kind_ != FileKind::kMarkdown) return kind_ != FileKind::kText && kind_ != FileKind::kHtml;
  const std::string_view kind = kind_here(offset);
  return kind == "fence" || kind == "inline-code";
}

std::optional<Found> Scan::resolve_under(const Base& base, std::string_view text) const {
  auto place = resolve(base.before, text);
  if (base.above > 0 || place.above > 0) return std::nullopt;
  auto target = world_.target(base.side, place.path);
  if (!target) return std::nullopt;
  return Found{base, std::move(*target), text.size()};
}

std::optional<Found> Scan::resolve_partly(const Base& base, std::string_view text,
                                          bool trusted) const {
  // No path is as deep; what climbs out of the repository has no part that stays in it.
  constexpr std::size_t kDeepest = 64;
  const auto whole = components(text);
  if (whole.size() > kDeepest || resolve(base.before, text).above > 0) return std::nullopt;
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

std::vector<Base> Scan::bases() const {
  const Base root = world_.root(file_.side);
  std::vector<Base> result;
  if (cwd_) result.push_back(*cwd_);
  if (kind_ == FileKind::kWorkflow) {
    result.push_back(root);
    result.push_back(directory_);
  } else {
    result.push_back(directory_);
    result.push_back(root);
  }
  if (mentions_) result.push_back(world_.root(0));
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
  if (fresh == named) return;
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

bool Scan::cloned(Span span, std::string_view text) {
  // What a clone was put at by this text, the longest first.
  for (auto clone = clones_.rbegin(); clone != clones_.rend(); ++clone) {
    if (!is_under(text, clone->first)) continue;
    const std::size_t from = std::min(clone->first.size() + 1, text.size());
    const std::string_view rest = text.substr(from);
    if (clone->second.pinned) return true;
    if (rest.empty()) {
      working_directory(world_.root(clone->second.side));
      return true;
    }
    const Base root = world_.root(clone->second.side);
    auto found = resolve_under(root, rest);
    if (!found) found = resolve_partly(root, rest, true);
    if (!found) {
      clone_lost_ = clone_lost_ || clone->second.side != 0;
      return false;
    }
    const std::size_t before = out_.size();
    resolved({span.begin + from, span.end}, rest, *found, Confidence::kLikely);
    if (out_.size() > before && clone->second.side != 0) clone_edits_.push_back(before);
    working_directory(world_.directory(found->target.side, found->target.before));
    return true;
  }
  // A directory that is called as the repository is.
  std::size_t at = 0;
  for (const std::string_view part : components(text)) {
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    at = begin + part.size();
    const auto side = world_.side_cloned_as(part);
    if (!side) continue;
    const std::string_view rest = at < text.size() ? text.substr(at + 1) : std::string_view();
    const Base root = world_.root(*side);
    const bool renames = *side != 0 && world_.clone_name_after(*side, part) != part;
    if (rest.empty()) {
      if (word_ != Word::kCd) return false;
      working_directory(root);
    }
    auto found = rest.empty() ? std::nullopt : resolve_under(root, rest);
    if (!found && !rest.empty()) found = resolve_partly(root, rest, true);
    if (!found && !rest.empty()) continue;
    if (found) {
      resolved({span.begin + at + 1, span.end}, rest, *found, Confidence::kLikely);
      working_directory(world_.directory(found->target.side, found->target.before));
      if (renames) clone_edits_.push_back(out_.size() - 1);
    }
    if (renames) {
      Reference& name =
          add({span.begin + begin, span.begin + at}, kind_here(span.begin), *side, "");
      name.replacement = world_.clone_name_after(*side, part);
      name.confidence = Confidence::kLikely;
      name.reason = "the clone of a merged repository";
      clone_edits_.push_back(out_.size() - 1);
    }
    return true;
  }
  return false;
}

void Scan::after_variable(Span span) {
  // "$NAME/…", "${NAME}/…", "${{ … }}/…", "$(…)/…": the text is what follows the slash.
  std::string name;
  std::size_t begin = span.begin;
  const char before = content_[span.begin - 1];
  const std::string_view line = line_around(span.begin);
  const auto line_begin = static_cast<std::size_t>(line.data() - content_.data());
  if (before == '$') {
    while (begin < span.end && word_character(content_[begin])) ++begin;
    name = content_.substr(span.begin, begin - span.begin);
  } else if (before == '}') {
    const std::size_t open = content_.rfind("${", span.begin);
    if (open != std::string_view::npos && open >= line_begin)
      name = content_.substr(open + 2, span.begin - open - 3);
  }
  if (begin >= span.end || content_[begin] != '/') return;
  const std::string_view text = content_.substr(begin + 1, span.end - begin - 1);
  const Span rest{begin + 1, span.end};
  if (text.empty()) return;
  if (text.find('*') != std::string_view::npos) return glob(rest, text);
  const auto known = variables_.find(name);
  std::optional<Base> base;
  if (known != variables_.end()) {
    base = known->second;
  } else if (line.substr(0, span.begin - line_begin).find("dirname") != std::string_view::npos &&
             (before == ')' || before == '"')) {
    base = directory_;
  }
  if (base) {
    auto found = resolve_under(*base, text);
    if (!found) found = resolve_partly(*base, text, true);
    if (found) {
      resolved(rest, text, *found, Confidence::kLikely);
      working_directory(world_.directory(found->target.side, found->target.before));
    }
    return;
  }
  if (cloned(rest, text)) return;
  const bool climbs = text.substr(0, 2) == "..";
  for (const Base& each : {directory_, world_.root(file_.side)}) {
    auto found = resolve_under(each, text);
    if (!found && text.find('/') != std::string_view::npos)
      found = resolve_partly(each, text, false);
    if (!found) continue;
    if (text.find('/') == std::string_view::npos && !distinctive(text) &&
        !found->target.entry.directory && each.before.empty()) {
      continue;  // $HOME/README.md
    }
    const std::size_t count = out_.size();
    const bool own_name = text.find('/') == std::string_view::npos && !distinctive(text);
    resolved(rest, text, *found, climbs || own_name ? Confidence::kUnsure : Confidence::kLikely);
    if (out_.size() > count && out_.back().confidence == Confidence::kUnsure &&
        out_.back().reason.rfind("resolved", 0) == 0)
      out_.back().reason = fmt::format("what ${{{}}} holds is not known here", name);
    return;
  }
}

void Scan::glob(Span span, std::string_view text) {
  const std::size_t star = text.find('*');
  const std::size_t slash = text.substr(0, star).rfind('/');
  if (slash == std::string_view::npos || slash == 0) return;
  const std::string_view fixed = text.substr(0, slash);
  const std::string_view tail = text.substr(slash);
  for (const Base& base : bases()) {
    auto found = resolve_under(base, fixed);
    if (!found) found = resolve_partly(base, fixed, false);
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
      fresh.append(world_.rewritten(base, fixed, to)).append(tail);
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
  for (const Base& base : bases()) {
    const auto found = resolve_under(base, text);
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
  for (const Base& base : bases()) {
    const bool lone = text.find('/') == std::string_view::npos && !climbs && !distinctive(text);
    if (lone && !(cwd_ && base.before == cwd_->before)) continue;
    if (auto found = resolve_under(base, text)) {
      const bool parameter = base.side != file_.side && mentions_ && !cwd_;
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
  for (const Base& base : bases()) {
    if (auto found = resolve_partly(base, text, false))
      return resolved(span, text, *found, Confidence::kLikely);
  }
  if (text.find('%') == std::string_view::npos) return;
  const std::string decoded = percent_decoded(text);
  for (const Base& base : bases()) {
    auto found = resolve_under(base, decoded);
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

std::size_t Scan::extended(std::size_t begin, std::size_t end, std::size_t limit) const {
  // Names that hold spaces or brackets: the token goes on where such a name goes on.
  const auto& odd = world_.odd_names();
  if (odd.empty()) return end;
  for (;;) {
    std::size_t name = end;
    while (name > begin && content_[name - 1] != '/') --name;
    const auto names = odd.find(std::string(content_.substr(name, end - name)));
    if (names == odd.end()) return end;
    std::size_t longer = 0;
    for (const std::string& each : names->second) {
      const std::size_t stop = name + each.size();
      if (stop > limit || content_.compare(name, each.size(), each) != 0) continue;
      if (stop < limit && in_path(content_[stop]) && content_[stop] != '/' && content_[stop] != '.')
        continue;
      longer = stop;
      break;
    }
    if (longer == 0) return end;
    end = longer;
    while (end < limit && in_path(content_[end])) ++end;
  }
}

void Scan::line(std::size_t begin, std::size_t end) {
  word_ = Word::kNone;
  cloning_.reset();
  pinned_line_ = false;
  if (scripted_) variables(begin, end);
  const bool json = kind_ == FileKind::kJson || kind_ == FileKind::kNotebook;
  std::size_t i = begin;
  while (i < end) {
    const char c = content_[i];
    if (!in_path(c)) {
      if (scripted_ && (c == ';' || c == '&' || c == '|')) {
        if (word_ == Word::kCd && (i == begin || content_[i - 1] != '2')) word_ = Word::kNone;
        if (word_ != Word::kNone) command_word("");
      }
      if (json && c == '\\') {
        if (i + 1 < end && content_[i + 1] == 'n' && scripted_) command_word("");
        i += i + 1 < end && content_[i + 1] == 'u' ? 6 : 2;
        continue;
      }
      // A name may begin with such a character: it continues a path or stands in quotes.
      const bool starts_name = !world_.odd_names().empty() && i > begin &&
                               (content_[i - 1] == '/' || content_[i - 1] == '"' ||
                                content_[i - 1] == '\'' || content_[i - 1] == '`');
      const std::size_t odd_end = starts_name ? extended(i, i, end) : i;
      if (odd_end > i && !taken({i, odd_end})) {
        token({i, odd_end});
        i = odd_end;
        continue;
      }
      ++i;
      continue;
    }
    const std::size_t from = i;
    bool slash = false;
    while (i < end) {
      const char at = content_[i];
      if (in_path(at)) {
        slash = slash || at == '/';
        ++i;
      } else if (at == '\\' && !json && i + 1 < end && content_[i + 1] == ' ') {
        i += 2;
      } else {
        break;
      }
    }
    const std::size_t plain = i;
    i = extended(from, i, end);
    slash = slash ||
            (i > plain && content_.substr(plain, i - plain).find('/') != std::string_view::npos);
    const Span span{from, i};
    const std::string_view text = slice(content_, span);
    if (content_.substr(i, 3) == "://") {
      if (text == "file") {
        i += 3;
        continue;
      }
      const std::size_t stop = std::min(url_end(content_, from), end);
      if (!taken({from, stop})) url({from, stop}, "url");
      if (scripted_ && word_ == Word::kClone) command_word(content_.substr(from, stop - from));
      i = std::max(stop, i + 3);
      continue;
    }
    const bool host = slash && (text.rfind("github.com/", 0) == 0 ||
                                text.rfind("raw.githubusercontent.com/", 0) == 0);
    const bool by_ssh = content_.substr(i, 1) == ":" && text == "git@github.com";
    if (host || by_ssh) {
      const std::size_t stop = std::min(url_end(content_, from), end);
      if (!taken({from, stop})) url({from, stop}, "url");
      if (scripted_ && word_ == Word::kClone) command_word(content_.substr(from, stop - from));
      i = std::max(stop, i);
      continue;
    }
    const bool in_braces = from > 1 && content_[from - 1] == '{' && content_[from - 2] == '$';
    const bool variable = in_braces || (from > 0 && content_[from - 1] == '$' && !slash);
    if (variable) {
      if (word_ == Word::kCd && content_.substr(i, 2) != "}/") {
        const auto known = variables_.find(text);
        working_directory(known == variables_.end() ? std::nullopt
                                                    : std::optional<Base>(known->second));
        word_ = Word::kNone;
      }
      continue;
    }
    const char first = text.front();
    const bool candidate = slash || (first >= '0' && first <= '9') || word_ == Word::kCd ||
                           word_ == Word::kCloned || i > plain || text == "..";
    if (word_ == Word::kCloned && text.front() != '-') {
      command_word(text);
      continue;
    }
    if (candidate && !taken(span)) {
      token(span);
      if (word_ == Word::kCd) word_ = Word::kNone;
    }
    if (scripted_) command_word(text);
  }
  if (scripted_ && (word_ == Word::kCloned || word_ == Word::kClone)) command_word("");
}

void Scan::tokens(const Markdown& page) {
  regions_ = page.regions;
  // The owner, name, ref and path of a URL may be parameters of their own.
  mentions_ = world_.is_foreign(file_.side) &&
              std::any_of(world_.names(0).names.begin(), world_.names(0).names.end(),
                          [&](const std::string& name) {
                            return content_.find(name_of(name)) != std::string_view::npos;
                          });
  // Reading commands costs time: only where there are any.
  scripted_ = content_.find("cd ") != std::string_view::npos ||
              content_.find("clone ") != std::string_view::npos ||
              content_.find("dirname") != std::string_view::npos ||
              content_.find("--show-toplevel") != std::string_view::npos;
  for (std::size_t begin = 0; begin < content_.size();) {
    const std::size_t end = std::min(content_.find('\n', begin), content_.size());
    line(begin, end);
    begin = end + 1;
  }
}

}  // namespace muster::reorg
