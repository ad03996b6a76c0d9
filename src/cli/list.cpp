// muster list KIND.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/kinds.h"

namespace muster::cli {
namespace {

void list(Context& context, const std::string& word) {
  const auto kind = find_kind(word);
  if (!kind) return context.fail(kind.findings(), kExitInternal);
  auto items = (*kind)->list(context);
  if (!items) return context.fail(items.findings(), (*kind)->exit_code(items.findings()));
  Output output;
  output.name = "list";
  output.data["kind"] = (*kind)->plural;
  output.data["items"] = std::move(*items);
  output.rows = "items";
  output.columns = (*kind)->columns;
  output.empty = fmt::format("no {} {}", (*kind)->plural, (*kind)->where);
  context.print(output);
}

}  // namespace

void add_list(CLI::App& root, Context& context) {
  CLI::App* sub = root.add_subcommand("list", "What there is of a kind");
  sub->group("Look");
  auto kind = std::make_shared<std::string>();
  sub->add_option("kind", *kind, "What to list")->required()->type_name(kind_type());
  sub->footer("Examples:\n  muster list cases\n  muster list instances -o wide");
  sub->callback([&context, kind] { list(context, *kind); });
}

}  // namespace muster::cli
