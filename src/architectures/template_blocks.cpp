#include "architectures/template_blocks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "architectures/interfaces.h"
#include "base/document.h"
#include "base/text.h"

namespace muster::architectures {
namespace {

constexpr std::string_view kBlockBegin = "# >>> ";

std::string interfaces_block(const facts::Instance& instance, const std::string& indent) {
  std::string text;
  for (const facts::Interface& one : instance.network.interfaces) {
    text += fmt::format(
        "{}- {{NetworkCardIndex: {}, DeviceIndex: {}, InterfaceType: {}, Groups: "
        "[!Ref SecurityGroupId], DeleteOnTermination: true}}\n",
        indent, one.card, one.device, one.type);
  }
  if (text.empty())
    text = fmt::format(
        "{}- {{DeviceIndex: 0, Groups: [!Ref SecurityGroupId], DeleteOnTermination: true}}\n",
        indent);
  return text;
}

std::string devices_block(const facts::Instance& instance, const std::string& indent) {
  std::string text;
  for (int i = 0; i < instance.network.efa_count.value_or(0); ++i)
    text += fmt::format(
        "{0}- {{HostPath: /dev/infiniband/uverbs{1}, ContainerPath: /dev/infiniband/uverbs{1}, "
        "Permissions: [READ, WRITE, MKNOD]}}\n",
        indent, i);
  return text.empty() ? indent + "[]\n" : text;
}

/// A type that the table does not have is like none of it.
std::vector<std::string> with_itself(std::vector<std::string> names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) == names.end()
             ? std::vector<std::string>{name}
             : names;
}

std::string types_block(const facts::Instance& instance,
                        const std::vector<facts::Instance>& instances, const std::string& indent) {
  return fmt::format("{0}Default: {1}\n{0}AllowedValues: [{2}]\n", indent, instance.name,
                     fmt::join(with_itself(same_layout(instances, instance), instance.name), ", "));
}

}  // namespace

Result<std::string> fill_template(const std::string& text, const std::string& file,
                                  const std::vector<facts::Instance>& instances,
                                  const std::string& instance) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t begin = text.find(kBlockBegin); begin != std::string::npos;
       begin = text.find(kBlockBegin, at)) {
    const Position where = position_at(text, begin, file);
    const std::size_t line = text.rfind('\n', begin) + 1;
    const std::string indent = text.substr(line, begin - line);
    const std::size_t from = begin + kBlockBegin.size();
    const std::string head = text.substr(from, text.find_first_of(":\n", from) - from);
    const std::size_t space = head.find(' ');
    const std::string name = head.substr(0, space);
    const std::string end_line = fmt::format("{}# <<< {}\n", indent, name);
    const std::size_t end = text.find("\n" + end_line, begin);
    if (end == std::string::npos)
      return Failure(error_at(where, "render-block", fmt::format("the block {} does not end", name),
                              "a line of its own: # <<< " + name));
    const std::string wanted = !instance.empty()            ? instance
                               : space == std::string::npos ? std::string()
                                                            : head.substr(space + 1);
    auto type = facts::find_instance(instances, wanted);
    if (!type && !instance.empty()) {  // asked for: a type that the table does not have
      facts::Instance unknown;
      unknown.name = instance;
      type = std::move(unknown);
    }
    if (!type)
      return Failure(error_at(where, "render-block", type.findings().front().message,
                              type.findings().front().hint));
    filled += text.substr(at, line - at);
    filled += fmt::format("{}# >>> {} {}: rendered from facts/instances.yaml, change that\n",
                          indent, name, type->name);
    if (name == "interfaces") {
      filled += interfaces_block(*type, indent);
    } else if (name == "devices") {
      filled += devices_block(*type, indent);
    } else if (name == "types") {
      filled += types_block(*type, instances, indent);
    } else {
      return Failure(error_at(where, "render-block", fmt::format("unknown block {}", name),
                              "interfaces, devices or types"));
    }
    filled += end_line;
    at = end + 1 + end_line.size();
  }
  return filled + text.substr(std::min(at, text.size()));
}

std::string default_instance(const std::string& text) {
  const std::size_t begin = text.find(kBlockBegin);
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + kBlockBegin.size();
  const std::string head = text.substr(from, text.find_first_of(":\n", from) - from);
  const std::size_t space = head.find(' ');
  return space == std::string::npos ? std::string() : head.substr(space + 1);
}

}  // namespace muster::architectures
