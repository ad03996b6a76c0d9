#include "lock/pins.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "base/document.h"
#include "base/schema.h"
#include "base/text.h"
#include "lint/dockerfile.h"
#include "lint/lint.h"
#include "lint/shell_script.h"

namespace muster::lock {
namespace {

namespace fs = std::filesystem;
using lint::DockerInstruction;
using lint::ShellCommand;

constexpr int kMaxDepth = 12;

bool is_hex(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) || (c >= 'a' && c <= 'f'); });
}

/// A commit says itself what it is.
bool is_commit(const std::string& ref) {
  return ref.size() >= 7 && ref.size() <= 40 && is_hex(ref) &&
         std::any_of(ref.begin(), ref.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// Names of Python packages are the same in any case and with any of - _ and . between their parts.
std::string package_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == '-' || c == '_' || c == '.') {
      if (!name.empty() && name.back() != '-') name += '-';
    } else {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return name;
}

std::string trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t\r") - from + 1));
}

class Collector {
 public:
  explicit Collector(std::string file) : file_(std::move(file)) {}

  void image(const std::string& name, Position where) {
    // What a variable names is made or chosen where the job runs; a digest is its own checksum.
    if (name.empty() || name == "scratch" || name.find('$') != std::string::npos ||
        name.find('@') != std::string::npos)
      return;
    add({PinKind::kImage, name, {}, {}, where});
  }

  void repository(const std::string& url, const std::string& ref, Position where) {
    if (url.empty() || ref.empty() || is_commit(ref) || url.find('$') != std::string::npos ||
        ref.find('$') != std::string::npos)
      return;
    add({PinKind::kRepository, url, ref, {}, where});
  }

  /// "name[extra]==1.2 ; marker", "name @ git+https://…@tag".
  void requirement(const std::string& text, const std::vector<std::string>& indexes,
                   Position where) {
    if (const auto git = text.find("git+https://"); git != std::string::npos) {
      const std::string rest = text.substr(git + 4);
      const auto at = rest.rfind('@');
      if (at == std::string::npos || at < 8) return;
      return repository(rest.substr(0, at), rest.substr(at + 1, rest.find('#', at) - at - 1),
                        where);
    }
    const auto equals = text.find("==");
    if (equals == std::string::npos || text.find("://") != std::string::npos) return;
    const std::string name = trimmed(text.substr(0, std::min(equals, text.find('['))));
    std::string version = trimmed(text.substr(equals + 2));
    version = version.substr(0, version.find_first_of(" ;,\t"));
    if (name.empty() || version.empty() || version.find_first_of("*$") != std::string::npos) return;
    add({PinKind::kPackage, package_name(name), version, indexes, where});
  }

  const std::string& file() const { return file_; }
  std::vector<Pin> take() { return std::move(pins_); }

 private:
  void add(Pin pin) { pins_.push_back(std::move(pin)); }

  std::string file_;
  std::vector<Pin> pins_;
};

// ---- case.yaml

void read_case(const Node& node, Collector& pins) {
  if (node.is_sequence()) {
    for (const Node& item : node.items()) read_case(item, pins);
  }
  if (!node.is_mapping()) return;
  for (const Node::Entry& entry : node.entries()) {
    const bool names_image = entry.key == "image" && entry.value.is_scalar();
    if (names_image) pins.image(entry.value.text(), entry.value.where());
    if (entry.key == "image" && entry.value.is_mapping()) {
      for (const char* key : {"base", "uri"}) {
        const Node* image = entry.value.find(key);
        if (image && image->is_scalar()) pins.image(image->text(), image->where());
      }
      continue;
    }
    read_case(entry.value, pins);
  }
}

// ---- requirements.txt

void read_requirements(const std::string& text, Collector& pins) {
  std::vector<std::string> indexes;
  std::vector<std::pair<std::string, int>> lines;
  int number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    std::string line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (const auto comment = line.find(" #"); comment != std::string::npos) line.resize(comment);
    if (line.empty() || line[0] == '#') continue;
    for (const char* option : {"--extra-index-url", "--index-url", "-i"}) {
      if (line.rfind(option, 0) != 0) continue;
      indexes.push_back(trimmed(line.substr(line.find_first_of(" =") + 1)));
    }
    if (line[0] != '-') lines.emplace_back(line, number);
  }
  for (const auto& [line, where] : lines) pins.requirement(line, indexes, {pins.file(), where, 1});
}

// ---- Dockerfile

class DockerPins {
 public:
  DockerPins(const std::string& text, Collector& pins)
      : text_(text), pins_(pins), file_(lint::parse_dockerfile(text, pins.file())) {}

  void read() {
    for (std::size_t i = 0; i < file_.stages.size(); ++i) {
      const lint::DockerStage& stage = file_.stages[i];
      if (!file_.is_stage(stage.image, i)) pins_.image(stage.image, place(stage.at));
    }
    for (const DockerInstruction& instruction : file_.instructions) {
      const auto from = instruction.flags.find("from");
      const auto before = static_cast<std::size_t>(std::max(0, instruction.stage));
      if (instruction.name == "COPY" && from != instruction.flags.end() &&
          !file_.is_stage(from->second, before))
        pins_.image(file_.expand(from->second, instruction), place(instruction.at));
      if (instruction.name == "RUN") read_run(instruction);
    }
  }

 private:
  Position place(std::size_t at) const { return position_at(text_, at, pins_.file()); }

  void read_run(const DockerInstruction& instruction) {
    std::vector<lint::ShellScript> scripts;
    for (const lint::DockerHeredoc& heredoc : instruction.heredocs)
      scripts.push_back(lint::parse_shell(heredoc.text));
    if (scripts.empty()) scripts.push_back(lint::parse_shell(instruction.body));
    for (const lint::ShellScript& script : scripts) {
      for (const ShellCommand& command : script.commands) {
        std::vector<std::string> words;
        for (const lint::ShellWord& word : command.words)
          words.push_back(file_.expand(word.text, instruction));
        read_pip(words, place(instruction.at));
        read_clone(words, place(instruction.at));
      }
    }
  }

  void read_pip(const std::vector<std::string>& words, const Position& where) {
    const auto install = std::find(words.begin(), words.end(), "install");
    const bool is_pip = std::any_of(words.begin(), install, [](const std::string& word) {
      const std::string name = word.substr(word.rfind('/') + 1);
      return name == "pip" || name == "pip3";
    });
    if (install == words.end() || !is_pip) return;
    std::vector<std::string> indexes, requirements;
    for (auto word = install + 1; word != words.end(); ++word) {
      const bool has_next = word + 1 != words.end();
      if ((*word == "--extra-index-url" || *word == "--index-url" || *word == "-i") && has_next) {
        indexes.push_back(*++word);
      } else if (word->rfind("-", 0) != 0) {
        requirements.push_back(*word);
      }
    }
    for (const std::string& requirement : requirements)
      pins_.requirement(requirement, indexes, where);
  }

  void read_clone(const std::vector<std::string>& words, const Position& where) {
    if (words.size() < 3 || words[0] != "git" ||
        std::find(words.begin(), words.end(), "clone") == words.end())
      return;
    std::string url, branch;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if ((words[i] == "--branch" || words[i] == "-b") && i + 1 < words.size()) {
        branch = words[++i];
      } else if (words[i].rfind("--branch=", 0) == 0) {
        branch = words[i].substr(9);
      } else if (words[i].rfind("https://", 0) == 0) {
        url = words[i];
      }
    }
    pins_.repository(url, branch, where);
  }

  const std::string& text_;
  Collector& pins_;
  lint::Dockerfile file_;
};

void collect_files(const FileSystem& files, const fs::path& folder, int depth,
                   std::vector<fs::path>& found) {
  const auto names = files.list(folder);
  if (!names || depth > kMaxDepth) return;
  for (const std::string& name : *names) {
    const auto info = files.info(folder / name);
    if (!info) continue;
    if (info->kind == FileInfo::Kind::kDirectory)
      collect_files(files, folder / name, depth + 1, found);
    const bool known =
        name == "case.yaml" || name == "requirements.txt" || lint::is_dockerfile_name(name);
    if (info->kind == FileInfo::Kind::kFile && known) found.push_back(folder / name);
  }
}

}  // namespace

const char* to_string(PinKind kind) {
  switch (kind) {
    case PinKind::kImage:
      return "image";
    case PinKind::kRepository:
      return "repository";
    case PinKind::kPackage:
      return "package";
  }
  return "";
}

std::string Pin::key() const {
  if (kind == PinKind::kRepository) return name + "@" + version;
  if (kind == PinKind::kPackage) return name + "==" + version;
  return name;
}

std::vector<Pin> pins_of(const std::string& text, const fs::path& path) {
  Collector pins(path.string());
  const std::string name = path.filename().string();
  if (name == "case.yaml") {
    // What is wrong with it is for `muster validate` to say.
    if (const auto document = parse_yaml(text, path.string())) read_case(*document, pins);
  } else if (name == "requirements.txt") {
    read_requirements(text, pins);
  } else if (lint::is_dockerfile_name(name)) {
    DockerPins(text, pins).read();
  }
  return pins.take();
}

Result<std::vector<Pin>> collect_pins(const FileSystem& files, const fs::path& folder) {
  std::vector<fs::path> paths;
  collect_files(files, folder, 0, paths);
  std::map<std::pair<int, std::string>, Pin> pins;
  for (const fs::path& path : paths) {
    const auto text = files.read(path);
    if (!text) return text.error();
    for (Pin& pin : pins_of(*text, path)) {
      const std::pair key{static_cast<int>(pin.kind), pin.key()};
      const auto [found, added] = pins.emplace(key, pin);
      if (added) continue;
      // Wherever one place looks for it, all find it.
      for (std::string& index : pin.indexes) {
        auto& known = found->second.indexes;
        if (std::find(known.begin(), known.end(), index) == known.end())
          known.push_back(std::move(index));
      }
    }
  }
  std::vector<Pin> list;
  list.reserve(pins.size());
  for (auto& [key, pin] : pins) list.push_back(std::move(pin));
  return list;
}

}  // namespace muster::lock
