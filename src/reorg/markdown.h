// Markdown as spans of its source: where links lead, what is code, what is a heading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reorg/url.h"

namespace muster::reorg {

struct MarkdownLink {
  Span destination;  ///< as written, without < >
  bool image = false;
  std::vector<Span> label;  ///< the pieces of its text
};

struct Heading {
  std::string text;          ///< without markup
  std::vector<Span> pieces;  ///< where it stands
};

struct MarkdownRegion {
  enum class Kind { kFence, kCode, kHtml, kHeading };
  Span span;
  Kind kind;
};

struct Markdown {
  std::vector<MarkdownLink> links;      ///< by destination
  std::vector<Heading> headings;        ///< in order
  std::vector<MarkdownRegion> regions;  ///< by place; what is in none is prose
};

/// GitHub's dialect.
Markdown read_markdown(std::string_view text);

/// The anchors that GitHub gives headings: "1arch", "setup-1" for a second "Setup".
std::vector<std::string> heading_anchors(const std::vector<Heading>& headings);

}  // namespace muster::reorg
