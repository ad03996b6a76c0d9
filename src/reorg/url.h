// URLs of a GitHub repository and of what lies in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::reorg {

/// A piece of a text.
struct Span {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

inline std::string_view slice(std::string_view text, Span span) {
  return text.substr(span.begin, span.size());
}

/// Offsets are into the text that was given.
struct GithubUrl {
  Span repository;  ///< owner/name, without ".git"
  bool dot_git = false;
  bool in_tree = false;   ///< leads to a file or directory: blob, tree, raw, contents, …
  Span ref_and_path;      ///< in_tree: the ref and what follows it, or, of `contents`, the path
  Span query_ref;         ///< `?ref=…` of contents; empty: the default branch
  bool contents = false;  ///< the contents API: the path has no ref before it
  std::size_t end = 0;    ///< of the URL without fragment and query
};

/// Where a URL that starts at `begin` (its scheme or "github.com") ends in running text.
std::size_t url_end(std::string_view text, std::size_t begin);

/// The URL in text[begin, end); nothing when it is no GitHub repository's.
std::optional<GithubUrl> parse_github_url(std::string_view text, Span url);

/// %XX undone; what is no escape stays.
std::string percent_decoded(std::string_view text);
/// Spaces, parentheses and what else a link's destination can't hold as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace muster::reorg
