// YAML: yaml-cpp's events, gathered into nodes that keep their marks, for all that the quick reader
// of yaml_block.h leaves.
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "base/document.h"
#include "base/text.h"
#include "base/yaml_block.h"

namespace muster {
namespace {

constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxDepth = 256;

/// Carries the first error out of yaml-cpp's parser; never leaves this file.
struct Stop {
  Finding finding;
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  std::vector<Node> take_documents() { return std::move(documents_); }
  std::size_t count() const { return documents_.size(); }
  const Position& document_start() const { return document_start_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp makes empty documents without end of some malformed endings ("...!x"): each must
    // start further on.
    if (!documents_.empty() && mark.pos <= document_offset_) {
      throw Stop{error_at(at(mark), "yaml-syntax", "not valid YAML: a document can't start here")};
    }
    document_offset_ = mark.pos;
    document_start_ = at(mark);
    anchors_.clear();
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(Node::null(at(mark)), anchor, 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Stop{
          error_at(at(mark), "yaml-recursive-alias", "alias refers to a node that contains it")};
    }
    check_size(found->second.size, at(mark));  // before the copy is made
    put(found->second.node, 0, found->second.size);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    put(Node::scalar(value, quoted, at(mark)).with_tag(explicit_tag(tag)), anchor, 1);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, false);
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, true);
  }

  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    bool mapping = false;
    Position where;
    std::string tag;
    YAML::anchor_t anchor = 0;
    std::size_t size = 1;
    std::vector<Node> items;
    std::vector<Node::Entry> entries;
    std::unordered_map<std::string, Position> keys;
    std::optional<std::pair<std::string, Position>> key;  // waiting for its value
  };

  struct Anchored {
    Node node;
    std::size_t size = 0;
  };

  Position at(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file_, 0, 0};
    return {file_, mark.line + 1, mark.column + 1};
  }

  static std::string explicit_tag(const std::string& tag) {
    return tag == "!" || tag == "?" ? std::string() : tag;
  }

  void check_size(std::size_t more, const Position& where) {
    if (nodes_ + more > kMaxNodes) {
      throw Stop{
          error_at(where, "yaml-too-large",
                   fmt::format("document has more than {} nodes, aliases expanded", kMaxNodes))};
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool mapping) {
    if (mapping_key_expected()) reject_key(at(mark));
    if (stack_.size() >= kMaxDepth) {
      throw Stop{error_at(at(mark), "yaml-too-deep",
                          fmt::format("nested deeper than {} levels", kMaxDepth))};
    }
    Open opened;
    opened.mapping = mapping;
    opened.where = at(mark);
    opened.tag = explicit_tag(tag);
    opened.anchor = anchor;
    stack_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(stack_.back());
    stack_.pop_back();
    Node node = closed.mapping ? Node::mapping(std::move(closed.entries), closed.where)
                               : Node::sequence(std::move(closed.items), closed.where);
    nodes_ -= closed.size - 1;  // put() counts the whole again
    put(std::move(node).with_tag(std::move(closed.tag)), closed.anchor, closed.size);
  }

  bool mapping_key_expected() const {
    return !stack_.empty() && stack_.back().mapping && !stack_.back().key;
  }

  [[noreturn]] static void reject_key(Position where) {
    throw Stop{error_at(where, "yaml-key", "a key must be text",
                        "write a plain or quoted word in front of the colon")};
  }

  void put(Node node, YAML::anchor_t anchor, std::size_t size) {
    check_size(size, node.where());
    nodes_ += size;
    if (anchor != 0) anchors_[anchor] = {node, size};
    if (stack_.empty()) {
      documents_.push_back(std::move(node));
      return;
    }
    Open& parent = stack_.back();
    parent.size += size;
    if (!parent.mapping) {
      parent.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (!node.is_scalar()) reject_key(node.where());
      const auto [first, added] = parent.keys.emplace(node.text(), node.where());
      if (!added) {
        throw Stop{error_at(node.where(), "yaml-duplicate-key",
                            fmt::format("duplicate key '{}'", node.text()),
                            "first given at line " + std::to_string(first->second.line))};
      }
      parent.key.emplace(node.text(), node.where());
    } else {
      parent.entries.push_back({std::move(parent.key->first), parent.key->second, std::move(node)});
      parent.key.reset();
    }
  }

  FileName file_;
  Position document_start_;
  int document_offset_ = -1;
  std::vector<Open> stack_;
  std::vector<Node> documents_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<std::vector<Node>> parse_yaml_full(std::string_view text, const std::string& file,
                                          bool single) {
  Builder builder(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
      if (single && builder.count() > 1) {
        return Failure(error_at(builder.document_start(), "yaml-several-documents",
                                "a second document starts here", "keep one document in this file"));
      }
    }
  } catch (const Stop& stop) {
    return Failure(stop.finding);
  } catch (const YAML::Exception& error) {
    Position where{file, 0, 0};
    if (!error.mark.is_null()) where = {file, error.mark.line + 1, error.mark.column + 1};
    return Failure(error_at(where, "yaml-syntax", "not valid YAML: " + error.msg));
  }
  return builder.take_documents();
}

namespace {

Result<std::vector<Node>> parse(std::string_view text, const std::string& file, bool single) {
  if (auto bad = find_not_text(text, file)) return Failure(std::move(*bad));
  auto quick = parse_yaml_block(text, file);
  if (quick && !(single && quick->size() > 1)) return std::move(*quick);
  return parse_yaml_full(text, file, single);
}

}  // namespace

Result<Node> parse_yaml(std::string_view text, const std::string& file) {
  auto documents = parse(text, file, true);
  if (!documents) return documents.error();
  if (documents->empty()) return Node::null({file, 1, 1});
  return std::move(documents->front());
}

Result<std::vector<Node>> parse_yaml_stream(std::string_view text, const std::string& file) {
  return parse(text, file, false);
}

}  // namespace muster
