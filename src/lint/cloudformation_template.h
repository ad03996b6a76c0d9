// A CloudFormation template as rules look at it: its sections, its calls of functions, its uses of
// names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"

namespace muster::lint {

/// A call of an intrinsic function, in the short form (`!Ref x`) or the long one (`{Ref: x}`).
struct CfnCall {
  std::string name;                ///< Ref, Condition, Fn::Sub, …
  const Node* argument = nullptr;  ///< of the short form the node itself, whose tag is the call's
  bool short_form = false;

  bool is(std::string_view function) const { return name == function; }
  /// Its argument as plain text; empty when it is a list or a call of its own.
  const std::string& text() const;
  /// The call that its argument is, if it is one.
  std::optional<CfnCall> inner() const;
  /// The items of its argument; none when it is no list.
  const std::vector<Node>& items() const;
};

/// The call that a node is, or nothing.
std::optional<CfnCall> cfn_call(const Node& node);

/// A condition that holds (or does not) where something is used.
using CfnGiven = std::vector<std::pair<std::string, bool>>;

/// One use of a name.
struct CfnUse {
  enum class Kind { kRef, kGetAtt, kCondition, kMapping, kDependsOn };
  Kind kind = Kind::kRef;
  std::string name;
  std::string attribute;  ///< of kGetAtt; empty when it is computed
  Position where;
  std::string_view section;  ///< the section that uses it
  std::string_view owner;    ///< and the name in it
  CfnGiven given;
};

/// One `${…}` of a Fn::Sub.
struct CfnVariable {
  std::string name;  ///< Name or Name.Attribute
  Position where;
};

class CfnTemplate {
 public:
  /// Takes apart a document. `text` is where it was read from, to place what is inside of texts.
  CfnTemplate(Node root, std::string_view text, std::string file);
  CfnTemplate(const CfnTemplate&) = delete;
  CfnTemplate& operator=(const CfnTemplate&) = delete;

  using Table = std::map<std::string_view, const Node::Entry*>;

  const Node& root() const { return root_; }
  const std::string& file() const { return file_; }
  const std::vector<CfnUse>& uses() const { return uses_; }
  /// Entries of a section, by name; empty when it is absent.
  const Table& section(std::string_view name) const;

  const Node::Entry* find(std::string_view section, std::string_view name) const;
  /// The type of a resource, empty when there is none.
  const std::string& type_of(std::string_view resource) const;
  /// A parameter's type: "String", "List<…>"; empty when there is no such parameter.
  const std::string& parameter_type(std::string_view name) const;
  /// The properties of a resource; a null node when it has none.
  static const Node& properties(const Node& resource);
  /// Resources of a type, in the order of the file.
  std::vector<const Node::Entry*> resources_of(std::string_view type) const;
  /// Every resource in the order of the file.
  const std::vector<Node::Entry>& resources() const;

  /// What Fn::Sub puts in, with places; its own variables are left out.
  std::vector<CfnVariable> variables(const CfnCall& sub) const;

  /// The texts that a value may come to: of Fn::If both, of a parameter its default and what it
  /// allows, of AWS::NoValue none. Nothing for what is only known when a stack is made.
  std::vector<std::string> texts(const Node& node) const;
  /// The nodes that stand for a value: the branches of every Fn::If, without AWS::NoValue.
  std::vector<const Node*> branches(const Node& node) const;
  /// The resource that a value refers to by Ref, GetAtt or Sub, empty for none.
  std::string resource_of(const Node& node) const;
  /// The parameter that a value is, empty for none.
  std::string parameter_of(const Node& node) const;
  /// As node.find, through every branch.
  std::vector<const Node*> at(const Node& node, std::string_view key) const;

 private:
  void collect(const Node& node, const CfnUse& place);
  void collect_call(const CfnCall& call, const CfnUse& place);
  void use(CfnUse place, CfnUse::Kind kind, std::string name, Position where,
           std::string attribute = {});
  Position place_of(const Node& node, std::string_view what, int nth) const;

  Node root_;
  std::string text_, file_;
  std::vector<std::size_t> lines_;
  std::map<std::string_view, Table> sections_;
  std::vector<CfnUse> uses_;
};

}  // namespace muster::lint
