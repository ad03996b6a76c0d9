#include "runs/evidence.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/hash.h"
#include "runs/directory_lock.h"
#include "runs/machine.h"
#include "runs/rank_view.h"

extern char** environ;

namespace muster::runs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kChecksums = "checksums.sha256";

/// Regular files below `run`, as paths relative to it, sorted by bytes. Links are not followed:
/// what they point to is not part of the directory.
Result<std::vector<std::string>> files_below(const fs::path& run) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file() && !entry->is_symlink()) {
      files.push_back(entry->path().lexically_relative(run).generic_string());
    }
  }
  if (error) {
    return failure("run-directory",
                   fmt::format("can't read {}: {}", run.string(), error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_checked(const std::string& file) {
  return file != kChecksums && file != DirectoryLock::kFileName && file != "report.html";
}

/// sha256sum's way with names that hold a line feed or a backslash: escaped, with a backslash
/// before the line.
std::string checksum_line(const Checksum& sum) {
  std::string name;
  for (const char c : sum.path) {
    name += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : std::string(1, c);
  }
  return (name == sum.path ? "" : "\\") + sum.sha256 + "  " + name + "\n";
}

std::string unescape(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\' && i + 1 < name.size()) {
      const char next = name[++i];
      out += next == 'n' ? '\n' : next == 'r' ? '\r' : next;
    } else {
      out += name[i];
    }
  }
  return out;
}

Result<void> write_json(const fs::path& path, const json& value) {
  return real_file_system().write(path,
                                  value.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace

json versions(const std::vector<RankEvents>& ranks) {
  json out{{"schema_version", 1},
           {"muster", MUSTER_VERSION},
           {"compiler", fmt::format("{} {}",
#ifdef __clang__
                                    "Clang",
#else
                                    "GCC",
#endif
                                    __VERSION__)},
           {"system", operating_system()}};
  std::map<std::string, std::map<std::string, std::vector<int>>> seen;  // what -> version -> ranks
  for (const RankView& rank : view(ranks)) {
    if (rank.last().start == nullptr) {
      continue;
    }
    if (const auto own = rank.last().start->find("versions");
        own != rank.last().start->end() && own->is_object()) {
      for (const auto& [name, version] : own->items()) {
        if (version.is_string() && !version.get<std::string>().empty()) {
          seen[name][version.get<std::string>()].push_back(rank.rank);
        }
      }
    }
  }
  json trainer = json::object();
  for (const auto& [name, versions_of] : seen) {
    if (versions_of.size() == 1) {
      trainer[name] = versions_of.begin()->first;
      continue;
    }
    for (const auto& [version, who] : versions_of) {
      trainer[name].push_back({{"version", version}, {"ranks", ranges(who)}});
    }
  }
  if (!trainer.empty()) {
    out["trainer"] = std::move(trainer);
  }
  return out;
}

json topology(const std::vector<RankEvents>& ranks) {
  std::map<std::string, json> nodes;
  const std::string here = host_name();
  for (const RankView& rank : view(ranks)) {
    if (rank.last().start == nullptr || rank.host.empty()) {
      continue;
    }
    const json& start = *rank.last().start;
    json& node = nodes[rank.host];
    json entry{{"rank", rank.rank}};
    for (const char* key : {"local_rank", "device", "threads"}) {
      if (const auto value = start.find(key); value != start.end()) {
        entry[key] = *value;
      }
    }
    node["ranks"].push_back(std::move(entry));
  }
  if (nodes.empty()) {
    nodes[here] = json::object();
  }
  json list = json::array();
  for (auto& [host, node] : nodes) {
    json one = host == here ? this_machine() : json{{"host", host}};
    one.update(node);
    list.push_back(std::move(one));
  }
  return {{"schema_version", 1}, {"nodes", std::move(list)}};
}

std::map<std::string, std::string> current_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Redactor environment_redactor() {
  Redactor redactor;
  redactor.add_environment(current_environment());
  return redactor;
}

Result<void> write_evidence(const fs::path& run, const std::vector<RankEvents>& ranks) {
  const Redactor redactor = environment_redactor();
  if (auto written =
          write_json(run / "environment.json", json(redactor.redact(current_environment())));
      !written) {
    return written;
  }
  if (auto written = write_json(run / "versions.json", redactor.redact(versions(ranks)));
      !written) {
    return written;
  }
  return write_json(run / "topology.json", topology(ranks));
}

Result<std::vector<std::string>> scrub(const fs::path& run, const Redactor& redactor) {
  const auto files = files_below(run);
  if (!files) {
    return files.error();
  }
  std::vector<std::string> changed;
  for (const std::string& file : *files) {
    if (file.starts_with("out/") || file == DirectoryLock::kFileName) {
      continue;
    }
    if (file.ends_with(".nsys-rep") || file.ends_with(".sqlite")) {
      continue;  // no texts, of any size
    }
    auto text = real_file_system().read(run / file);
    if (!text) {
      return text.error();
    }
    if (text->find('\0') != std::string::npos) {
      continue;  // not a text
    }
    if (std::string clean = redactor.redact(std::string_view(*text)); clean != *text) {
      if (auto written = real_file_system().write(run / file, clean); !written) {
        return written.error();
      }
      changed.push_back(file);
    }
  }
  return changed;
}

Result<void> write_checksums(const fs::path& run) {
  const auto files = files_below(run);
  if (!files) {
    return files.error();
  }
  std::string text;
  for (const std::string& file : *files) {
    if (is_checked(file)) {
      auto sum = sha256_of_file(run / file);
      if (!sum) {
        return sum.error();
      }
      text += checksum_line({file, std::move(*sum)});
    }
  }
  return real_file_system().write(run / kChecksums, text);
}

Result<std::vector<Checksum>> parse_checksums(const std::string& text, const std::string& file) {
  constexpr std::size_t kDigits = 64;
  std::vector<Checksum> sums;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const auto end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const bool escaped = line.starts_with('\\');
    line.remove_prefix(escaped ? 1 : 0);
    const std::string_view digits = line.substr(0, kDigits);
    const bool good = line.size() > kDigits + 2 &&
                      digits.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
                      line[kDigits] == ' ' &&
                      (line[kDigits + 1] == ' ' || line[kDigits + 1] == '*');
    if (!good) {
      return Failure(error_at({file, number, 1}, "checksums-line", "this line is not a checksum",
                              "64 hexadecimal digits, two spaces, a path"));
    }
    const std::string_view name = line.substr(kDigits + 2);
    sums.push_back({escaped ? unescape(name) : std::string(name), std::string(digits)});
  }
  return sums;
}

Result<Findings> verify(const fs::path& run) {
  const auto text = real_file_system().read(run / kChecksums);
  if (!text) {
    return text.error();
  }
  const auto sums = parse_checksums(*text, (run / kChecksums).string());
  if (!sums) {
    return sums.error();
  }
  const auto files = files_below(run);
  if (!files) {
    return files.error();
  }
  std::set<std::string> rest;
  for (const std::string& file : *files) {
    if (is_checked(file)) {
      rest.insert(file);
    }
  }
  Findings findings;
  for (const Checksum& sum : *sums) {
    const Position where{(run / sum.path).string(), 0, 0};
    if (rest.erase(sum.path) == 0) {
      findings.push_back(error_at(where, "run-file-missing",
                                  "the file was there when the run ended, and is gone"));
      continue;
    }
    const auto now = sha256_of_file(run / sum.path);
    if (!now) {
      findings.insert(findings.end(), now.findings().begin(), now.findings().end());
    } else if (*now != sum.sha256) {
      findings.push_back(error_at(
          where, "run-file-changed",
          fmt::format("the file was changed after the run ended: SHA-256 {:.16}…, was {:.16}…",
                      *now, sum.sha256)));
    }
  }
  for (const std::string& file : rest) {
    findings.push_back(error_at({(run / file).string(), 0, 0}, "run-file-extra",
                                "the file was not there when the run ended"));
  }
  return findings;
}

}  // namespace muster::runs
