#include "reorg/map_script.h"

#include <algorithm>

#include <fmt/format.h>

#include "reorg/paths.h"

namespace muster::reorg {
namespace {

/// In single quotes for a shell.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A Python bytes literal; any byte can be in a path.
std::string python_bytes(std::string_view text) {
  std::string result = "b'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\';
    result += plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return result + "'";
}

std::vector<MapRule> longest_first(std::vector<MapRule> rules) {
  std::sort(rules.begin(), rules.end(), [](const MapRule& a, const MapRule& b) {
    return std::pair(b.from.size(), a.from) < std::pair(a.from.size(), b.from);
  });
  return rules;
}

}  // namespace

std::string bash_script(const std::vector<MapRule>& rules, const MapNames& names) {
  std::string cases;
  for (const MapRule& rule : longest_first(rules)) {
    const std::string from = shell_quoted(rule.from);
    if (!rule.to) {
      cases +=
          fmt::format("    {}{}) return 1 ;;\n", from, rule.directory ? " | " + from + "/*" : "");
      continue;
    }
    cases += fmt::format("    {}) moved={} ;;\n", from, shell_quoted(*rule.to));
    if (!rule.directory) continue;
    const std::string slash = rule.to->empty() ? "" : "/";
    cases += fmt::format("    {}/*) moved={}${{path#{}/}} ;;\n", from,
                         shell_quoted(*rule.to + slash), from);
  }
  const auto words = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& each : list) text += " " + shell_quoted(each);
    return text.empty() ? std::string(" ''") : text;
  };
  return fmt::format(R"script(#!/bin/bash
# Where files, directories and URLs went: {0} OLD…
# Prints a line for each; exit code 1: one of them was dropped. URLs by a tag or a commit lead where they did.
moved_path() {{
  local path=${{1%/}} slash=''
  [ "$path" = "$1" ] || slash=/
  moved=$path
  case $path in
{1}  esac
  moved=$moved$slash
}}
moved_url() {{
  local name branch where part rest
  for name in{2}; do
    for branch in{3}; do
      for where in "github.com/$name/blob" "github.com/$name/tree" "github.com/$name/raw" "raw.githubusercontent.com/$name"; do
        for part in "$where/refs/heads/$branch/" "$where/$branch/"; do
          case $1 in *"$part"*) ;; *) continue ;; esac
          rest=${{1#*"$part"}}
          moved_path "${{rest%%[#?]*}}" || return 1
          moved=${{1%%"$part"*}}$part$moved${{rest#"${{rest%%[#?]*}}"}}
          return 0
        done
      done
    done
  done
  moved=$1
}}
code=0
for old in "$@"; do
  case $old in
    *://*) moved_url "$old" || {{ code=1; continue; }} ;;
    *) moved_path "$old" || {{ code=1; continue; }} ;;
  esac
  printf '%s\n' "$moved"
done
exit $code
)script",
                     "map.sh", cases, words(names.names), words(names.branches));
}

std::string python_script(const std::vector<MapRule>& rules, const MapNames& names) {
  std::string table;
  for (const MapRule& rule : longest_first(rules)) {
    table +=
        fmt::format("    ({}, {}, {}),\n", python_bytes(rule.from),
                    rule.to ? python_bytes(*rule.to) : "None", rule.directory ? "True" : "False");
  }
  const auto items = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& each : list) text += (text.empty() ? "" : ", ") + python_bytes(each);
    return text;
  };
  return fmt::format(R"script(#!/usr/bin/env python3
"""Where files, directories and URLs went: map.py OLD...

Prints a line for each; exit code 1: one of them was dropped. moved(old) is the same for programs.
"""
import os
import re
import sys

RULES = [
{0}]
NAMES = [{1}]
BRANCHES = [{2}]


def moved_path(path):
    slash = b"/" if path.endswith(b"/") else b""
    path = path.rstrip(b"/")
    for old, new, directory in RULES:
        if path == old or (directory and path.startswith(old + b"/")):
            if new is None:
                return None
            return (new + path[len(old):]).lstrip(b"/") + slash
    return path + slash


def moved(old):
    """The new path or URL of an old one (bytes); None when it was dropped."""
    for name in NAMES:
        found = re.match(
            rb"(?s)(.*(?:github\.com/" + re.escape(name) + rb"/(?:blob|tree|raw)/|raw\.githubusercontent\.com/"
            + re.escape(name) + rb"/)(?:refs/heads/)?(?:" + b"|".join(re.escape(each) for each in BRANCHES) + rb")/)([^#?]*)(.*)", old)
        if found:
            path = moved_path(found.group(2))
            return None if path is None else found.group(1) + path + found.group(3)
    return old if b"://" in old else moved_path(old)


if __name__ == "__main__":
    code = 0
    for argument in sys.argv[1:]:
        new = moved(os.fsencode(argument))
        if new is None:
            code = 1
        else:
            sys.stdout.buffer.write(new + b"\n")
    sys.exit(code)
)script",
                     table, items(names.names), items(names.branches));
}

}  // namespace muster::reorg
