#include "base/yaml_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {
namespace {

// Far below the full parser's limits, which are its to report.
constexpr int kDeepest = 100;
constexpr std::size_t kLongest = 64U << 20U;
constexpr std::size_t kMost = 900'000;
constexpr std::size_t kLongestKey = 1000;  // a key of YAML ends within 1024 characters

/// Thrown where the text leaves the form that is read here; never leaves this file.
struct Other {};

bool is_null_word(std::string_view text) {
  return text == "~" || text == "null" || text == "Null" || text == "NULL";
}

class BlockReader {
 public:
  BlockReader(std::string_view text, const FileName& file) : text_(text), file_(file) {
    has_tabs_ = text.find('\t') != std::string_view::npos;
  }

  std::vector<Node> read() {
    std::vector<Node> documents;
    next_line();
    while (line_.kind != Line::Kind::kEnd) {
      if (line_.kind == Line::Kind::kMark) next_line();
      if (line_.kind != Line::Kind::kText || line_.indent != 0) throw Other{};
      documents.push_back(block(0, 0));
      if (line_.kind == Line::Kind::kText) throw Other{};
    }
    return documents;
  }

 private:
  /// A line that is neither empty nor a comment.
  struct Line {
    enum class Kind { kText, kMark, kEnd };  // kMark: `---`
    Kind kind = Kind::kEnd;
    std::size_t start = 0, end = 0;  // without the line feed
    int indent = 0;
    int number = 0;
  };

  char at(std::size_t offset) const { return offset < line_.end ? text_[offset] : '\0'; }
  bool ends(std::size_t offset) const { return offset >= line_.end; }
  bool blank_at(std::size_t offset) const { return ends(offset) || text_[offset] == ' '; }

  Position place(std::size_t offset) const {
    return {file_, line_.number, static_cast<int>(offset - line_.start) + 1};
  }

  std::size_t line_end(std::size_t from) const {
    const void* found = std::memchr(text_.data() + from, '\n', text_.size() - from);
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text_.data())
                 : text_.size();
  }

  void next_line() {
    while (next_ < text_.size()) {
      const std::size_t start = next_;
      const std::size_t end = line_end(start);
      std::size_t first = start;
      while (first < end && text_[first] == ' ') ++first;
      next_ = end + 1;
      ++number_;
      if (has_tabs_ && std::memchr(text_.data() + start, '\t', end - start)) throw Other{};
      if (first == end || text_[first] == '#') continue;
      line_ = {Line::Kind::kText, start, end, static_cast<int>(first - start), number_};
      if (first == start) mark();
      return;
    }
    line_ = {Line::Kind::kEnd, text_.size(), text_.size(), -1, number_ + 1};
  }

  // `---`, `...` and directives stand at the start of a line.
  void mark() {
    const std::string_view line = text_.substr(line_.start, line_.end - line_.start);
    if (line[0] == '%' || line.starts_with("...") || line.starts_with("\xEF\xBB\xBF"))
      throw Other{};
    if (!line.starts_with("---")) return;
    if (!rest_is_empty(line_.start + 3)) throw Other{};
    line_.kind = Line::Kind::kMark;
    line_.indent = -1;
  }

  // Whether nothing but blanks and a comment follows. What touches a value is no comment.
  bool rest_is_empty(std::size_t offset) const {
    if (ends(offset)) return true;
    if (text_[offset] != ' ') return false;
    while (at(offset) == ' ') ++offset;
    return ends(offset) || text_[offset] == '#';
  }

  std::size_t skip_blanks(std::size_t offset) const {
    while (at(offset) == ' ') ++offset;
    return offset;
  }

  // ---- Blocks. Each takes whole lines and leaves the first line that is not its own.

  // What starts at `column` of this line, which is not a scalar.
  Node block(int column, int depth) {
    if (depth > kDeepest) throw Other{};
    const std::size_t first = line_.start + static_cast<std::size_t>(column);
    if (is_entry(first)) return sequence(column, depth);
    return mapping(column, depth);
  }

  bool is_entry(std::size_t offset) const { return at(offset) == '-' && blank_at(offset + 1); }

  // A sequence whose dashes stand in `column`; the first one may stand behind another's dash.
  Node sequence(int column, int depth) {
    const Position where = place(line_.start + static_cast<std::size_t>(column));
    const std::size_t base = nodes_.size();
    do {
      const std::size_t dash = line_.start + static_cast<std::size_t>(column);
      const std::size_t first = skip_blanks(dash + 1);
      const int inner = static_cast<int>(first - line_.start);
      std::optional<Node> item;
      if (!ends(first) && at(first) != '#' && (is_entry(first) || key_ends(first))) {
        item = block(inner, depth + 1);
      } else {
        item = value(first, column, column + 1, depth);
      }
      nodes_.push_back(std::move(*item));
    } while (line_.kind == Line::Kind::kText && line_.indent == column &&
             is_entry(line_.start + static_cast<std::size_t>(column)));
    if (line_.indent > column) throw Other{};
    std::vector<Node> items(std::make_move_iterator(nodes_.begin() + static_cast<long>(base)),
                            std::make_move_iterator(nodes_.end()));
    nodes_.resize(base);
    return counted(Node::sequence(std::move(items), where));
  }

  Node mapping(int column, int depth) {
    const Position where = place(line_.start + static_cast<std::size_t>(column));
    const std::size_t base = entries_.size();
    do {
      const std::size_t first = line_.start + static_cast<std::size_t>(column);
      Node::Entry entry;
      entry.where = place(first);
      const auto colon = key_ends(first, &entry.key);
      if (!colon) throw Other{};
      // A sequence may stand below its key, not further in.
      entry.value = value(skip_blanks(*colon + 1), column, column, depth);
      entries_.push_back(std::move(entry));
    } while (line_.kind == Line::Kind::kText && line_.indent == column);
    if (line_.indent > column) throw Other{};
    return closed_mapping(base, where);
  }

  Node closed_mapping(std::size_t base, const Position& where) {
    refuse_duplicates(base);
    std::vector<Node::Entry> entries(
        std::make_move_iterator(entries_.begin() + static_cast<long>(base)),
        std::make_move_iterator(entries_.end()));
    entries_.resize(base);
    return counted(Node::mapping(std::move(entries), where));
  }

  void refuse_duplicates(std::size_t base) {
    const std::size_t count = entries_.size() - base;
    if (count > 16) {
      keys_.clear();
      for (std::size_t i = base; i < entries_.size(); ++i) keys_.push_back(entries_[i].key);
      std::sort(keys_.begin(), keys_.end());
      if (std::adjacent_find(keys_.begin(), keys_.end()) != keys_.end()) throw Other{};
      return;
    }
    for (std::size_t i = base; i < entries_.size(); ++i) {
      for (std::size_t k = base; k < i; ++k) {
        if (entries_[i].key == entries_[k].key) throw Other{};
      }
    }
  }

  // A value behind a colon or a dash: of `column`, on this line from `first` on or below. A
  // sequence below may start in `sequence_column`.
  Node value(std::size_t first, int column, int sequence_column, int depth) {
    if (ends(first) || at(first) == '#') return value_below(column, sequence_column, depth);
    std::optional<Node> made;
    switch (at(first)) {
      case '|':
        return literal(first, column);
      case '"':
      case '\'':
        made = quoted(first);
        break;
      case '[':
      case '{':
        outside_ = column;
        made = flow(first, depth + 1);
        break;
      default:
        made = plain(first);
        first = line_.end;
    }
    if (!rest_is_empty(first)) throw Other{};
    next_line();
    if (line_.indent > column) throw Other{};  // it goes on
    return std::move(*made);
  }

  // Nothing below is a null, whose place is that of what comes next.
  Node value_below(int column, int sequence_column, int depth) {
    next_line();
    if (line_.kind == Line::Kind::kEnd && text_.back() != '\n') throw Other{};
    if (line_.kind == Line::Kind::kText) {
      const std::size_t start = line_.start + static_cast<std::size_t>(line_.indent);
      const bool entry = is_entry(start);
      if (line_.indent > column || (entry && line_.indent >= sequence_column)) {
        if (!entry && !key_ends(start)) throw Other{};
        return block(line_.indent, depth + 1);
      }
    }
    return counted(
        Node::null(place(line_.start + static_cast<std::size_t>(std::max(line_.indent, 0)))));
  }

  // `|`, `|-`, `|+`. The lines behind it are indented further than `column`.
  Node literal(std::size_t first, int column) {
    const Position where = place(first++);
    char chomp = '\0';
    if (at(first) == '-' || at(first) == '+') chomp = at(first++);
    if (!rest_is_empty(first)) throw Other{};
    std::string content;
    std::size_t indent = 0;
    std::size_t empty = 0;  // lines since the last that was not
    while (next_ < text_.size()) {
      const std::size_t start = next_;
      const std::size_t end = line_end(start);
      std::size_t at = start;
      while (at < end && text_[at] == ' ') ++at;
      const std::size_t spaces = at - start;
      if (at == end) {
        // Blanks that may be text, or may be wrong; or no line at all, since none ends it.
        if (spaces > indent || end == text_.size()) throw Other{};
        ++empty;
      } else {
        if (indent == 0) {
          if (spaces <= static_cast<std::size_t>(std::max(column, 0))) break;
          indent = spaces;
        }
        if (spaces < indent) {
          if (static_cast<int>(spaces) > column && text_[at] != '#') throw Other{};
          break;
        }
        if (text_[start + indent] == '\t' || end == text_.size()) throw Other{};
        content.append(empty, '\n');
        empty = 0;
        content.append(text_, start + indent, end + 1 - start - indent);
      }
      next_ = end + 1;
      ++number_;
    }
    if (content.empty()) throw Other{};
    if (chomp == '-') content.pop_back();
    if (chomp == '+') content.append(empty, '\n');
    next_line();
    if (line_.indent > column) throw Other{};
    return counted(Node::scalar(std::move(content), true, where));
  }

  // ---- Scalars and flow collections. Each leaves `first` behind itself.

  Node counted(Node node) {
    if (++count_ > kMost) throw Other{};
    return node;
  }

  static bool starts_plain(char c, bool blank_follows) {
    if (c == '-') return !blank_follows;
    static constexpr std::string_view kIndicators = "?:,[]{}#&*!|>'\"%@`\xEF";
    return kIndicators.find(c) == std::string_view::npos;
  }

  // A plain scalar from `first` to the end of the line or to a comment.
  Node plain(std::size_t first) {
    if (!starts_plain(at(first), blank_at(first + 1))) throw Other{};
    std::size_t end = first;
    for (std::size_t i = first; i < line_.end; ++i) {
      const char c = text_[i];
      if (c == ' ') continue;
      if (c == ':' && blank_at(i + 1)) throw Other{};
      if (c == '#' && text_[i - 1] == ' ') break;
      end = i + 1;
    }
    return plain_node(text_.substr(first, end - first), place(first));
  }

  Node plain_node(std::string_view text, const Position& where) {
    if (is_null_word(text)) return counted(Node::null(where));
    return counted(Node::scalar(std::string(text), false, where));
  }

  Node quoted(std::size_t& first) {
    const Position where = place(first);
    std::string text;
    first = unquote(first, &text);
    return counted(Node::scalar(std::move(text), true, where));
  }

  // The text in quotes that starts at `first`; returns where it ends. Null: only where.
  std::size_t unquote(std::size_t first, std::string* text) const {
    const char quote = text_[first++];
    while (true) {
      std::size_t end = first;
      while (end < line_.end && text_[end] != quote && text_[end] != '\\') ++end;
      if (ends(end)) throw Other{};
      if (text) text->append(text_, first, end - first);
      if (text_[end] == quote) {
        if (quote == '"' || at(end + 1) != quote) return end + 1;
        if (text) *text += quote;
        first = end + 2;
      } else if (quote == '\'') {
        if (text) *text += '\\';
        first = end + 1;
      } else {
        static constexpr std::string_view kNames = "\"\\/nt";
        static constexpr std::string_view kValues = "\"\\/\n\t";
        const auto index = ends(end + 1) ? std::string_view::npos : kNames.find(text_[end + 1]);
        if (index == std::string_view::npos) throw Other{};
        if (text) *text += kValues[index];
        first = end + 2;
      }
    }
  }

  // Where the colon of a key stands that starts at `first`, or nothing when there is no key.
  std::optional<std::size_t> key_ends(std::size_t first, std::string* key = nullptr) const {
    const char c = at(first);
    if (c == '"' || c == '\'') {
      const std::size_t end = unquote(first, key);
      if (at(end) != ':') return std::nullopt;
      if (!blank_at(end + 1) || end - first > kLongestKey) throw Other{};
      return end;
    }
    if (!starts_plain(c, blank_at(first + 1))) return std::nullopt;
    for (std::size_t i = first; i < line_.end; ++i) {
      if (text_[i] == '#' && i > first && text_[i - 1] == ' ') return std::nullopt;
      if (text_[i] != ':' || !blank_at(i + 1)) continue;
      const std::string_view text = text_.substr(first, i - first);
      if (text.back() == ' ' || is_null_word(text) || text.size() > kLongestKey) throw Other{};
      if (key) *key = std::string(text);
      return i;
    }
    return std::nullopt;
  }

  Node flow(std::size_t& first, int depth) {
    if (depth > kDeepest) throw Other{};
    return text_[first] == '[' ? flow_sequence(first, depth) : flow_mapping(first, depth);
  }

  // The next character that is no blank, on this line or on one below, which is indented further
  // than what the collection is the value of.
  std::size_t next_in_flow(std::size_t first) {
    first = skip_blanks(first);
    if (!ends(first) && !(text_[first] == '#' && text_[first - 1] == ' ')) return first;
    next_line();
    if (line_.kind != Line::Kind::kText || line_.indent <= outside_) throw Other{};
    return line_.start + static_cast<std::size_t>(line_.indent);
  }

  Node flow_sequence(std::size_t& first, int depth) {
    const Position where = place(first++);
    const std::size_t base = nodes_.size();
    first = next_in_flow(first);
    if (at(first) != ']') {
      while (true) {
        nodes_.push_back(flow_value(first, depth));
        if (!another(first, ']')) break;
      }
    }
    ++first;
    std::vector<Node> items(std::make_move_iterator(nodes_.begin() + static_cast<long>(base)),
                            std::make_move_iterator(nodes_.end()));
    nodes_.resize(base);
    return counted(Node::sequence(std::move(items), where));
  }

  Node flow_mapping(std::size_t& first, int depth) {
    const Position where = place(first++);
    const std::size_t base = entries_.size();
    first = next_in_flow(first);
    if (at(first) != '}') {
      while (true) {
        Node::Entry entry;
        entry.where = place(first);
        if (at(first) == '"' || at(first) == '\'') {
          first = unquote(first, &entry.key);
        } else {
          entry.key = std::string(flow_word(first));
          if (is_null_word(entry.key)) throw Other{};
        }
        if (at(first) != ':' || at(first + 1) != ' ' || entry.key.size() > kLongestKey)
          throw Other{};
        first = skip_blanks(first + 1);
        entry.value = flow_value(first, depth);
        entries_.push_back(std::move(entry));
        if (!another(first, '}')) break;
      }
    }
    ++first;
    return closed_mapping(base, where);
  }

  // Behind an item: whether a comma and another one follow; stands at that one or at `close`.
  bool another(std::size_t& first, char close) {
    first = next_in_flow(first);
    if (at(first) == close) return false;
    if (at(first) != ',') throw Other{};
    first = next_in_flow(first + 1);
    if (at(first) == close) throw Other{};
    return true;
  }

  Node flow_value(std::size_t& first, int depth) {
    const char c = at(first);
    if (c == '"' || c == '\'') {
      Node made = quoted(first);
      if (at(first) == ':') throw Other{};
      return made;
    }
    if (c == '[' || c == '{') return flow(first, depth + 1);
    const Position where = place(first);
    const std::string_view word = flow_word(first);
    if (at(first) == ':') throw Other{};
    return plain_node(word, where);
  }

  // A plain scalar within a flow collection: up to a comma, a bracket or a colon that ends a key.
  std::string_view flow_word(std::size_t& first) const {
    if (!starts_plain(at(first), blank_at(first + 1)) || ends(first)) throw Other{};
    const std::size_t start = first;
    std::size_t end = first;
    for (; !ends(first); ++first) {
      const char c = text_[first];
      if (c == ' ') continue;
      if (c == '#' || c == '?' || c == '[' || c == '{') throw Other{};
      if (c == ',' || c == ']' || c == '}') break;
      if (c == ':') {
        static constexpr std::string_view kClosing = ",[]{}";
        if (kClosing.find(at(first + 1)) != std::string_view::npos) throw Other{};
        if (blank_at(first + 1)) break;
      }
      end = first + 1;
    }
    if (end == start || (at(first) == ':' && end != first)) throw Other{};
    return text_.substr(start, end - start);
  }

  std::string_view text_;
  const FileName& file_;
  bool has_tabs_ = false;
  std::size_t next_ = 0;  // start of the line behind line_
  int number_ = 0;        // lines taken
  Line line_;
  int outside_ = 0;  // column of what the flow collection at hand is the value of
  std::size_t count_ = 0;
  // What open collections hold so far; each takes its own from the end when it closes.
  std::vector<Node> nodes_;
  std::vector<Node::Entry> entries_;
  std::vector<std::string_view> keys_;
};

}  // namespace

std::optional<std::vector<Node>> parse_yaml_block(std::string_view text, const FileName& file) {
  if (text.size() > kLongest || text.find('\r') != std::string_view::npos) return std::nullopt;
  try {
    return BlockReader(text, file).read();
  } catch (const Other&) {
    return std::nullopt;
  }
}

}  // namespace muster
