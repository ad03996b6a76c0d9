#include "lock/lock_file.h"

#include <fmt/format.h>

#include "base/document.h"
#include "catalog/lock_schema.h"

namespace muster::lock {
namespace {

std::map<std::string, std::string> texts_of(const Node* node) {
  std::map<std::string, std::string> texts;
  if (!node || !node->is_mapping()) return texts;
  for (const Node::Entry& entry : node->entries()) texts[entry.key] = entry.value.text();
  return texts;
}

void write_map(std::string& text, const char* title,
               const std::map<std::string, std::string>& rows) {
  if (rows.empty()) return;
  text += fmt::format("\n{}:\n", title);
  for (const auto& [key, value] : rows) text += fmt::format("  \"{}\": {}\n", key, value);
}

}  // namespace

Result<LockFile> parse_lock_file(const std::string& text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return document.error();
  Findings findings = catalog::lock_schema().check(*document, "lock");
  if (has_errors(findings)) return Failure(std::move(findings));
  LockFile lock;
  lock.images = texts_of(document->find("images"));
  lock.repositories = texts_of(document->find("repositories"));
  const Node* packages = document->find("packages");
  if (packages && packages->is_mapping()) {
    for (const Node::Entry& entry : packages->entries())
      lock.packages[entry.key] = texts_of(&entry.value);
  }
  return lock;
}

std::string to_text(const LockFile& lock) {
  std::string text =
      "# yaml-language-server: $schema=../docs/schema/lock.schema.json\n"
      "# What the pins of the catalog stood for when `muster lock` last looked them up; "
      "`muster lock --check` compares.\n"
      "apiVersion: muster/v1\n"
      "kind: Lock\n";
  write_map(text, "images", lock.images);
  write_map(text, "repositories", lock.repositories);
  if (!lock.packages.empty()) text += "\npackages:\n";
  for (const auto& [package, files] : lock.packages) {
    text += fmt::format("  \"{}\":\n", package);
    for (const auto& [file, sum] : files) text += fmt::format("    \"{}\": {}\n", file, sum);
  }
  return text;
}

}  // namespace muster::lock
