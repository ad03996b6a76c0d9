#include "cli/case_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::cli {
namespace {

std::string cell(const std::vector<std::string>& words) {
  return words.empty() ? "–" : fmt::format("{}", fmt::join(words, ", "));
}

// "`smoke`", or "as it is" for the case without a profile.
std::string profiles(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  words.reserve(names.size());
  for (const std::string& name : names)
    words.push_back(name == "none" ? "as it is" : "`" + name + "`");
  return cell(words);
}

}  // namespace

std::string case_page(const std::vector<catalog::CaseEntry>& entries) {
  std::string page = R"(---
title: Cases
weight: 30
---
<!-- Made by `muster render index --out docs`; edit the manifests. -->
# Cases

Every case is a folder below `test_cases/` or `micro-benchmarks/` with a manifest, `case.yaml`, and a page of its own, `README.md`.
`muster list cases -o wide` prints the same as this page.

| Column | |
|---|---|
| Needs | what the case itself asks for: nodes × accelerators of a node |
| Renders | targets that it has launch files for |
| Submits | targets where `muster run` starts it, follows it and judges it |
| Runs here | profiles that run on the CPUs of one machine |
)";
  std::string library;
  for (const catalog::CaseEntry& entry : entries) {
    const auto cut = entry.name.rfind('/');
    const std::string of = entry.name.substr(0, cut);
    if (of != library) {
      library = of;
      page += fmt::format(
          "\n## {}\n\n| Case | What it does | Needs | Renders | Submits | Runs here | State |\n"
          "|---|---|---|---|---|---|---|\n",
          library);
    }
    page += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", entry.name.substr(cut + 1),
                        entry.description, entry.coverage.needs, cell(entry.coverage.renders),
                        cell(entry.coverage.submits), profiles(entry.coverage.runs_here),
                        entry.coverage.state());
  }
  return page;
}

}  // namespace muster::cli
