#include "reorg/markdown.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <md4c.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

/// Collects what md4c calls back with. Its texts and trivial attributes point into the source,
/// which is how they become spans.
class Collector {
 public:
  /// md4c 0.4.8 looks a little beyond the end of a text that breaks off: there are line ends.
  explicit Collector(std::string_view text) : copy_(text), text_(copy_) {
    constexpr std::size_t kLookedAhead = 16;
    copy_.append(kLookedAhead, '\n');
    text_ = std::string_view(copy_).substr(0, text.size());
  }

  Markdown parse() {
    MD_PARSER parser{};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<Collector*>(self)->enter_block(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
      return static_cast<Collector*>(self)->leave_block(type);
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<Collector*>(self)->enter_span(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
      return static_cast<Collector*>(self)->leave_span(type);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return static_cast<Collector*>(self)->text(type, text, size);
    };
    md_parse(text_.data(), static_cast<MD_SIZE>(text_.size()), &parser, this);
    std::stable_sort(result_.links.begin(), result_.links.end(), [](const auto& a, const auto& b) {
      return a.destination.begin < b.destination.begin;
    });
    // Several uses of one definition lead to one destination.
    result_.links.erase(std::unique(result_.links.begin(), result_.links.end(),
                                    [](const auto& a, const auto& b) {
                                      return a.destination.begin == b.destination.begin;
                                    }),
                        result_.links.end());
    std::stable_sort(result_.regions.begin(), result_.regions.end(),
                     [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
    return std::move(result_);
  }

 private:
  std::optional<Span> span_of(const MD_CHAR* text, std::size_t size) const {
    const std::less<> before;
    const char* end = text_.data() + text_.size();
    if (!text || before(text, text_.data()) || before(end, text + size)) return std::nullopt;
    const auto begin = static_cast<std::size_t>(text - text_.data());
    return Span{begin, begin + size};
  }

  int enter_block(MD_BLOCKTYPE type, void*) {
    if (type == MD_BLOCK_H) {
      result_.headings.emplace_back();
      in_heading_ = true;
    }
    in_code_ = in_code_ || type == MD_BLOCK_CODE;
    return 0;
  }

  int leave_block(MD_BLOCKTYPE type) {
    if (type == MD_BLOCK_H) in_heading_ = false;
    if (type == MD_BLOCK_CODE) in_code_ = false;
    return 0;
  }

  int enter_span(MD_SPANTYPE type, void* detail) {
    if (type != MD_SPAN_A && type != MD_SPAN_IMG) return 0;
    const MD_ATTRIBUTE& target = type == MD_SPAN_A ? static_cast<MD_SPAN_A_DETAIL*>(detail)->href
                                                   : static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src;
    MarkdownLink link;
    link.image = type == MD_SPAN_IMG;
    if (const auto span = span_of(target.text, target.size)) {
      link.destination = *span;
    } else if (target.size > 0) {
      link.destination = {std::string_view::npos, std::string_view::npos};
    }
    open_.push_back(std::move(link));
    return 0;
  }

  int leave_span(MD_SPANTYPE type) {
    if ((type != MD_SPAN_A && type != MD_SPAN_IMG) || open_.empty()) return 0;
    // A destination with a backslash or an ampersand was copied: it stands behind the label.
    if (open_.back().destination.begin == std::string_view::npos)
      open_.back().destination = behind_label(open_.back());
    if (open_.back().destination.size() > 0) result_.links.push_back(std::move(open_.back()));
    open_.pop_back();
    return 0;
  }

  Span behind_label(const MarkdownLink& link) const {
    constexpr std::size_t kMostMarkup = 16;  // between the label's last text and its bracket
    const std::size_t from = link.label.empty() ? last_ : link.label.back().end;
    const std::size_t bracket = text_.find("](", from);
    if (bracket == std::string_view::npos || bracket > from + kMostMarkup) return {};
    std::size_t begin = bracket + 2;
    const bool angles = begin < text_.size() && text_[begin] == '<';
    if (angles) ++begin;
    int depth = 0;
    std::size_t end = begin;
    for (; end < text_.size() && text_[end] != '\n'; ++end) {
      const char c = text_[end];
      if (angles ? c == '>' : c == ' ' || (c == ')' && depth == 0)) break;
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c == '\\') ++end;
    }
    return {begin, std::min(end, text_.size())};
  }

  int text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size) {
    const auto span = span_of(text, size);
    if (in_heading_) {
      result_.headings.back().text.append(text, size);
      if (span) result_.headings.back().pieces.push_back(*span);
    }
    if (!span) return 0;
    last_ = span->end;
    for (MarkdownLink& link : open_) link.label.push_back(*span);
    using Kind = MarkdownRegion::Kind;
    if (in_code_) {
      add(*span, Kind::kFence);
    } else if (type == MD_TEXT_CODE) {
      add(*span, Kind::kCode);
    } else if (type == MD_TEXT_HTML) {
      add(*span, Kind::kHtml);
    } else if (in_heading_) {
      add(*span, Kind::kHeading);
    }
    return 0;
  }

  void add(Span span, MarkdownRegion::Kind kind) {
    if (!result_.regions.empty() && result_.regions.back().kind == kind &&
        result_.regions.back().span.end == span.begin) {
      result_.regions.back().span.end = span.end;
    } else {
      result_.regions.push_back({span, kind});
    }
  }

  std::string copy_;
  std::string_view text_;
  Markdown result_;
  std::vector<MarkdownLink> open_;
  std::size_t last_ = 0;  ///< where the text read so far ends
  bool in_heading_ = false, in_code_ = false;
};

}  // namespace

Markdown read_markdown(std::string_view text) {
  if (text.size() > std::numeric_limits<MD_SIZE>::max()) return {};
  return Collector(text).parse();
}

std::vector<std::string> heading_anchors(const std::vector<Heading>& headings) {
  std::unordered_map<std::string, int> used;
  std::vector<std::string> anchors;
  for (const Heading& heading : headings) {
    std::string anchor;
    for (const char c : lower(heading.text)) {
      const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                        static_cast<unsigned char>(c) >= 0x80;
      if (kept) anchor += c;
      if (c == ' ') anchor += '-';
    }
    const int count = used[anchor]++;
    anchors.push_back(count == 0 ? anchor : anchor + "-" + std::to_string(count));
  }
  return anchors;
}

}  // namespace muster::reorg
