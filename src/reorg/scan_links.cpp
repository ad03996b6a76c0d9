// Links, URLs and symlinks: references whose base is certain.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reorg/paths.h"
#include "reorg/scan_state.h"

namespace muster::reorg {
namespace {

bool looks_like_commit(std::string_view text) {
  return text.size() >= 7 && text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// The longest of `names` that `text` begins with, followed by '/' or its end.
std::optional<std::size_t> starting_ref(std::string_view text,
                                        const std::vector<std::string>& names) {
  std::optional<std::size_t> best;
  for (const std::string& name : names) {
    if (is_under(text, name) && !name.empty() && (!best || name.size() > *best)) best = name.size();
  }
  return best;
}

bool templated(std::string_view text) {
  return text.find("{{") != std::string_view::npos || text.find("${") != std::string_view::npos ||
         text.find('<') != std::string_view::npos;
}

}  // namespace

void Scan::link(Span span, const char* kind) {
  std::string_view text = slice(content_, span);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) {
    text.remove_prefix(1);
    ++span.begin;
  }
  const std::size_t colon = text.find(':');
  if (text.empty() || templated(text)) return;
  if (text.find("://") != std::string_view::npos) return url(span, kind);
  if (text.substr(0, 2) == "//" || (colon != std::string_view::npos && colon < text.find('/')))
    return;  // another host, mailto:, data:
  const std::size_t tail = std::min(text.find_first_of("#?"), text.size());
  const std::string_view written = text.substr(0, tail);
  const std::size_t hash = text.find('#');
  const std::string fragment(hash == std::string_view::npos ? std::string_view()
                                                            : text.substr(hash + 1));
  const Span path_span{span.begin, span.begin + tail};
  if (written.empty()) {  // within the page
    Reference& self =
        add(path_span, kind, file_.side, world_.tree(file_.side).files()[file_.file].path);
    self.fragment = fragment;
    self.fragment_offset = span.begin + hash + 1;
    return;
  }
  std::string path(written);
  const Base base = path.front() == '/' ? world_.root(file_.side) : directory_;
  auto place = resolve(base.before, path);
  auto target = place.above == 0 ? world_.target(file_.side, place.path) : std::nullopt;
  bool encoded = false;
  if (!target && written.find('%') != std::string_view::npos) {
    path = percent_decoded(written);
    encoded = true;
    place = resolve(base.before, path);
    if (place.above == 0) target = world_.target(file_.side, place.path);
  }
  Reference& found = add(path_span, kind, file_.side, place.path);
  found.fragment = fragment;
  found.fragment_offset = fragment.empty() ? 0 : span.begin + hash + 1;
  if (!target) {
    const bool healed = world_.leads_after(base, path);
    found.standing = healed ? Standing::kHealed : Standing::kDead;
    found.reason = healed            ? "leads somewhere once the move is made"
                   : place.above > 0 ? "leads out of the repository"
                                     : "leads nowhere";
    return;
  }
  if (!target->after) {
    found.confidence = Confidence::kUnsure;
    found.reason = "its target is dropped";
    return;
  }
  const bool absolute = path.front() == '/';
  std::string fresh = world_.rewritten(base, absolute ? path.substr(1) : path, *target);
  if (absolute) fresh = fresh == "." ? "/" : "/" + fresh;
  const bool in_angles = path_span.begin > 0 && content_[path_span.begin - 1] == '<';
  const bool odd = fresh.find_first_of(" ()") != std::string::npos;
  if (fresh == path) return;
  if (encoded || (odd && !in_angles && path.find_first_of("()") == std::string::npos))
    fresh = percent_encoded(fresh);
  found.replacement = fresh;
  found.reason = target->split ? fmt::format("SPLIT: {} went to several places", target->before)
                               : "resolved from the file's directory";
  if (target->split && target->after->empty()) found.confidence = Confidence::kUnsure;
}

void Scan::url(Span span, const char* kind) {
  const auto parsed = parse_github_url(content_, span);
  if (!parsed) return;
  const auto side = world_.side_named(slice(content_, parsed->repository));
  if (!side) return;
  if (parsed->in_tree) return tree_url(*parsed, *side, span, kind);
  if (word_ == Word::kClone) cloning_ = *side;
  const std::string_view rest =
      content_.substr(parsed->repository.end, parsed->end - parsed->repository.end);
  const bool of_repository = rest.empty() || rest == ".git" || rest == "/";
  if (*side == 0 || !of_repository || world_.names(0).names.empty()) return;
  // A merged repository lives on in this one.
  Reference& found = add(parsed->repository, word_ == Word::kClone ? "clone" : kind, *side, "");
  found.replacement = world_.names(0).names.front();
  found.reason = "the repository is merged";
  if (word_ == Word::kClone) clone_edits_.push_back(out_.size() - 1);
}

void Scan::tree_url(const GithubUrl& url, std::size_t side, Span span, const char* kind) {
  const std::string_view rest = slice(content_, url.ref_and_path);
  const SideNames& names = world_.names(side);
  const auto whole = [&](Standing standing, std::string reason) {
    Reference& found = add({span.begin, url.end}, kind, side, std::string(rest));
    found.standing = standing;
    found.reason = std::move(reason);
  };
  std::size_t path_at = 0;
  if (url.contents) {
    const std::string ref(slice(content_, url.query_ref));
    if (!ref.empty() &&
        std::find(names.branches.begin(), names.branches.end(), ref) == names.branches.end()) {
      return whole(Standing::kPinned, fmt::format("names the ref \"{}\"", ref));
    }
  } else {
    constexpr std::string_view kHeads = "refs/heads/";
    const bool full = rest.substr(0, kHeads.size()) == kHeads;
    const std::string_view after = full ? rest.substr(kHeads.size()) : rest;
    const auto branch = starting_ref(after, names.branches);
    const auto other = starting_ref(after, names.other);
    const std::string_view first = after.substr(0, after.find('/'));
    if (!branch || (other && *other > *branch)) {
      if (other || rest.substr(0, 10) == "refs/tags/" || looks_like_commit(first))
        return whole(Standing::kPinned, fmt::format("names the ref \"{}\"", first));
      const std::string decoded = percent_decoded(rest);
      if (!full && world_.tree(side).has(resolve("", decoded).path) && !decoded.empty())
        return whole(Standing::kUnclear, "the URL has no ref before the path");
      return whole(Standing::kDead, fmt::format("no ref \"{}\" is known", first));
    }
    path_at = (full ? kHeads.size() : 0) + *branch;
    if (path_at < rest.size()) ++path_at;
  }
  const std::string_view written = rest.substr(path_at);
  std::string path(written);
  while (!path.empty() && path.back() == '/') path.pop_back();
  auto target = world_.target(side, path);
  const bool encoded = !target && path.find('%') != std::string::npos;
  if (encoded) {
    path = percent_decoded(path);
    target = world_.target(side, path);
  }
  const std::size_t path_begin = url.ref_and_path.begin + path_at;
  if (!target) {
    Reference& found = add({path_begin, url.end}, kind, side, path);
    const bool healed = side == 0 && world_.layout().after.has(path);
    found.standing = healed ? Standing::kHealed : Standing::kDead;
    found.reason = healed ? "leads somewhere once the move is made" : "leads nowhere";
    return;
  }
  if (side == 0 && target->after && !target->moves()) {
    add({path_begin, url.end}, kind, side, path);
    return;
  }
  const bool renamed = side != 0 && !world_.names(0).names.empty();
  const Span whole_span{renamed ? url.repository.begin : path_begin, url.end};
  Reference& found = add(whole_span, kind, side, path);
  if (!target->after) {
    found.confidence = Confidence::kUnsure;
    found.reason = "its target is dropped";
    return;
  }
  std::string fresh = *target->after;
  if (encoded || fresh.find_first_of(" ()") != std::string::npos) fresh = percent_encoded(fresh);
  if (!written.empty() && written.back() == '/') fresh += '/';
  if (renamed) {
    fresh = world_.names(0).names.front() +
            std::string(content_.substr(url.repository.end, path_begin - url.repository.end)) +
            fresh;
  }
  found.replacement = fresh;
  found.reason = target->split ? fmt::format("SPLIT: {} went to several places", target->before)
                 : renamed     ? "the repository is merged"
                               : "an own URL on a branch that moves";
  if (target->split && target->after->empty()) found.confidence = Confidence::kUnsure;
}

void Scan::html_attributes(Span span) {
  constexpr std::array<std::string_view, 5> kAttributes = {"src", "href", "poster", "data",
                                                           "srcset"};
  for (std::size_t at = span.begin; at < span.end; ++at) {
    at = std::min(content_.find('=', at), span.end);
    if (at >= span.end || at + 1 >= span.end) return;
    const char quote = content_[at + 1];
    if (quote != '"' && quote != '\'') continue;
    std::size_t name = at;
    while (name > span.begin && content_[name - 1] >= 'A' && content_[name - 1] <= 'z') --name;
    const std::string attribute = lower(content_.substr(name, at - name));
    const std::size_t end = content_.find(quote, at + 2);
    if (end == std::string_view::npos) return;
    if (std::find(kAttributes.begin(), kAttributes.end(), attribute) != kAttributes.end()) {
      link({at + 2, end}, "html");
      taken_.push_back({at + 2, end});
    }
    at = end;
  }
}

void Scan::label(const MarkdownLink& link) {
  if (link.label.size() != 1 || out_.empty()) return;
  const Reference& target = out_.back();
  if (!target.replacement || target.confidence == Confidence::kUnsure ||
      target.standing != Standing::kAlive) {
    return;
  }
  // A text that is the end of the path it leads to.
  std::string_view text = slice(content_, link.label.front());
  const bool slash = !text.empty() && text.back() == '/';
  if (slash) text.remove_suffix(1);
  const bool tail =
      !text.empty() && !target.target.empty() &&
      (text == target.target ||
       (target.target.size() > text.size() &&
        target.target.compare(target.target.size() - text.size(), text.size(), text) == 0 &&
        target.target[target.target.size() - text.size() - 1] == '/'));
  if (!tail) return;
  const auto found = world_.target(target.side, target.target);
  if (!found || !found->after) return;
  const auto fresh = components(*found->after);
  const std::size_t count = std::min(components(text).size(), fresh.size());
  std::string replacement;
  for (std::size_t i = fresh.size() - count; i < fresh.size(); ++i)
    replacement = joined(replacement, fresh[i]);
  if (slash) replacement += '/';
  const Span span = link.label.front();
  taken_.push_back(span);
  Reference& label = add(span, "link-text", found->side, found->before);
  if (replacement == slice(content_, span)) return;
  label.replacement = replacement;
  label.confidence = Confidence::kLikely;
  label.reason = "the text of a link is the path that it leads to";
}

void Scan::markdown_links(const Markdown& page) {
  for (const MarkdownLink& each : page.links) {
    const std::size_t before = out_.size();
    link(each.destination, each.image ? "image" : "link");
    taken_.push_back(each.destination);
    if (out_.size() > before) label(each);
  }
  for (const MarkdownRegion& region : page.regions) {
    if (region.kind == MarkdownRegion::Kind::kHtml) html_attributes(region.span);
  }
}

void Scan::symlink() {
  if (content_.empty() || content_.front() == '/') return;
  const auto place = resolve(directory_.before, content_);
  const auto target = place.above == 0 ? world_.target(file_.side, place.path) : std::nullopt;
  Reference& found = add({0, content_.size()}, "symlink", file_.side, place.path);
  if (!target) {
    const bool healed = world_.leads_after(directory_, content_);
    found.standing = healed ? Standing::kHealed : Standing::kDead;
    found.reason = healed ? "leads somewhere once the move is made" : "leads nowhere";
    return;
  }
  if (!target->after) {
    found.confidence = Confidence::kUnsure;
    found.reason = "its target is dropped";
    return;
  }
  const std::string fresh = world_.rewritten(directory_, content_, *target);
  if (fresh == content_) return;
  found.replacement = fresh;
  found.reason = "a symlink from the file's directory";
}

}  // namespace muster::reorg
