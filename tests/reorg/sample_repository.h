// A repository of samples whose right answers are known: each text is a list of references to
// files, and says of them what the layout makes of their paths. Written once with the old layout
// and once with the new one, it is what a reorganisation starts from and what it must come to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "case.h"

namespace muster::reorg::testing {

/// A layout by another road than the engine's: prefixes, the longest first, then numbers.
struct SampleLayout {
  std::vector<std::pair<std::string, std::string>> prefixes;
  bool numbers_go = false;
  std::vector<SampleLayout> earlier;  ///< that were made before this one, in turn

  std::string of(std::string path) const {
    for (const SampleLayout& each : earlier) path = each.of(path);
    std::string head, rest = path;
    std::size_t longest = 0;
    for (const auto& [from, to] : prefixes) {
      if (from.size() <= longest || path.rfind(from + "/", 0) != 0) continue;
      longest = from.size();
      head = to;
      rest = path.substr(from.size() + 1);
    }
    std::string result = head;
    for (std::size_t begin = 0; begin < rest.size();) {
      const std::size_t slash = rest.find('/', begin);
      std::string name = rest.substr(begin, slash == std::string::npos ? slash : slash - begin);
      if (numbers_go && slash != std::string::npos) name = without_number(name);
      if (!result.empty()) result += '/';
      result += name;
      begin = slash == std::string::npos ? rest.size() : slash + 1;
    }
    return result;
  }
  /// A directory's: that of a file in it.
  std::string of_directory(const std::string& path) const {
    const std::string inside = of(path + "/x");
    return inside.substr(0, inside.size() - 2);
  }

  std::string plan() const {
    std::string text = std::string(kHead) + "repository: {name: acme/widgets}\nrules:\n";
    if (numbers_go) text += "  - {rename: '^\\d+[._]\\s*', to: ''}\n";
    for (const auto& [from, to] : prefixes)
      text += "  - {move: \"" + from + "\", to: \"" + to + "\"}\n";
    return text;
  }

 private:
  static std::string without_number(const std::string& name) {
    const std::size_t end = name.find_first_not_of("0123456789");
    const bool numbered = end != 0 && end < name.size() && (name[end] == '.' || name[end] == '_');
    return numbered ? name.substr(end + 1) : name;
  }
};

/// "../../x/y" from a directory.
inline std::string from_directory(const std::string& directory, const std::string& path) {
  std::size_t common = 0;  // length of the shared directories with their final slash
  for (std::size_t i = 0; i < path.size() && i <= directory.size(); ++i) {
    const char c = i < directory.size() ? directory[i] : '/';
    if (path[i] != c) break;
    if (c == '/') common = i + 1;
  }
  std::string result;
  if (common < directory.size()) {
    const auto first = directory.begin() + static_cast<std::ptrdiff_t>(common);
    for (auto ups = 1 + std::count(first, directory.end(), '/'); ups > 0; --ups) result += "../";
  }
  return result + path.substr(common);
}

class SampleRepository {
 public:
  /// What a text holds at one place: given the layout, the line that stands there.
  using Line = std::function<std::string(const SampleLayout&)>;

  SampleRepository(unsigned seed, std::size_t files) : random_(seed) {
    name_files(files);
    for (const std::string& path : paths_) fill(path);
    fill_owners_and_workflows();
  }

  /// Every file under its path of the layout, with the texts that belong there.
  Texts texts(const SampleLayout& layout) const {
    Texts result;
    for (const auto& [path, lines] : lines_) {
      std::string& text = result[layout.of(path)];
      for (const Line& line : lines) text += line(layout) + "\n";
    }
    return result;
  }
  /// Places that need a person: file and line of the old layout.
  const std::vector<std::pair<std::string, int>>& unsure() const { return unsure_; }
  std::size_t references() const { return references_; }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  void name_files(std::size_t count) {
    static const std::vector<std::string> kAreas = {"0.docs",
                                                    "1.architectures/1.vpc_network",
                                                    "1.architectures/5.sagemaker-hyperpod",
                                                    "1.architectures/7.sagemaker-hyperpod-eks",
                                                    "2.ami_and_containers",
                                                    "3.test_cases/pytorch/FSDP",
                                                    "3.test_cases/pytorch/vllm",
                                                    "3.test_cases/megatron/nemo",
                                                    "4.validation/2.gpu-healthcheck",
                                                    "micro-benchmarks/nccl-tests"};
    static const std::vector<std::string> kBelow = {"slurm", "kubernetes",  "0.common",
                                                    "src",   "scripts/lib", "1_setup"};
    static const std::vector<std::string> kNames = {
        ".page.md", ".page.md", ".run.sh", ".conf.yaml", ".tool.py", ".env.json", ".book.ipynb"};
    for (std::size_t i = 0; i < count; ++i) {
      std::string path = kAreas[i % kAreas.size()];
      if (below(3) > 0) path += "/" + pick(kBelow);
      path += "/" + std::to_string(i) + pick(kNames);
      paths_.push_back(path);
    }
  }

  void add(const std::string& path, Line line, bool reference = true) {
    lines_[path].push_back(std::move(line));
    if (reference) ++references_;
  }
  void text(const std::string& path, std::string line) {
    add(
        path, [line = std::move(line)](const SampleLayout&) { return line; }, false);
  }

  /// Adds `before`, the target's path from the root, `after`.
  void from_root(const std::string& path, std::string before, std::string after) {
    add(path, [target = pick(paths_), before = std::move(before), after = std::move(after)](
                  const SampleLayout& layout) { return before + layout.of(target) + after; });
  }
  void relative(const std::string& path, std::string before, std::string after) {
    add(path, [path, target = pick(paths_), before = std::move(before),
               after = std::move(after)](const SampleLayout& layout) {
      const std::string here(parent_of(layout.of(path)));
      return before + from_directory(here, layout.of(target)) + after;
    });
  }
  /// The target's old path stays, whatever the layout.
  void fixed(const std::string& path, const std::string& before, const std::string& after) {
    text(path, before + pick(paths_) + after);
  }

  /// What looks like a path, and is none.
  void lookalike(const std::string& path) {
    static const std::vector<std::string> kLines = {
        "1. Set the cluster up, as 2.1 says; and/or read on/off 24/7.",
        "Version 1.10.2, us-west-2.amazonaws.com, 10.0.0.0/16 and python3.10/site-packages.",
        "Use 5.sagemaker or 0.docker, never 11.architectures/ or 1.architecture/x.",
        "It trains/tests, and common words like docs, src, slurm, scripts and common stay.",
        "image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/widgets/1.vpc:2.0",
        "https://widgets.s3.us-east-1.amazonaws.com/1.architectures/x.yaml",
        "srun --container-mounts /fsx/0.data:/data --ntasks=8 python3 -u x.py --lr 1e-4"};
    text(path, pick(kLines));
  }

  void fill(const std::string& path) {
    const std::string name = path.substr(path.rfind('.'));
    if (name == ".md") return page(path);
    if (name == ".sh") return script(path);
    if (name == ".ipynb") return notebook(path);
    const bool python = name == ".py", json = name == ".json";
    if (json) text(path, "{");
    from_root(path,
              python ? "DATA = \""
              : json ? "  \"a\": \""
                     : "data: ",
              python ? "\""
              : json ? "\","
                     : "");
    text(path, json ? "  \"b\": 17" : "size = 17  # of 1.5 and 2.vpc_networks");
    if (json) text(path, "}");
  }

  void page(const std::string& path) {
    text(path, "# Page\n");
    for (std::size_t i = 2 + below(6); i > 0; --i) {
      switch (below(16)) {
        case 0:
          relative(path, "See [the text](", ") for more.");
          break;
        case 1:
          relative(path, "![figure](", " \"A title\")");
          break;
        case 2:
          relative(path, "<img src=\"", "\" width=\"80\">");
          break;
        case 3:
          from_root(path, "[from the root](/", ")");
          break;
        case 4:
          text(path, "Read [it][d" + std::to_string(i) + "].\n");
          relative(path, "[d" + std::to_string(i) + "]: ", "");
          break;
        case 5:
          from_root(path, "https://github.com/acme/widgets/blob/main/", "#L3-L7");
          break;
        case 6:
          from_root(path, "(see https://raw.githubusercontent.com/acme/widgets/refs/heads/main/",
                    ").");
          break;
        case 7:
          from_root(path, "```bash\nbash ", " --nodes=2\n```");
          break;
        case 8:
          from_root(path, "Edit `", "` first.");
          break;
        case 9:
          fixed(path, "https://github.com/acme/widgets/blob/v1/", "");
          break;
        case 10:
          fixed(path, "https://github.com/zed/widgets/tree/main/", "");
          break;
        case 11:
          fixed(path,
                "https://github.com/acme/widgets/blob/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567/",
                "#L1");
          break;
        case 12:
          text(path, "[gone](missing/" + std::to_string(below(99)) + ".md)");
          break;
        case 13:
          relative(path, "| `--flag` | [table](", ") | 1.5 |");
          break;
        default:
          lookalike(path);
      }
      text(path, "");
    }
  }

  void script(const std::string& path) {
    text(path, "#!/bin/bash\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"");
    from_root(path, "bash ", " --verbose");
    relative(path, "source \"$(dirname \"$0\")/", "\"");
    relative(path, "cp \"${HERE}/", "\" /tmp");
    from_root(path, "sbatch /fsx/widgets/", "");
    lookalike(path);
    if (below(8) > 0) return;
    // Where ${BASE} is, nobody knows: proposed where it would change, and never written.
    const std::string target = pick(paths_);
    const std::string line = "cat ${BASE}/" + from_directory(std::string(parent_of(path)), target);
    int number = 1;
    for (const Line& each : lines_[path]) {
      const std::string at = each({});
      number += 1 + static_cast<int>(std::count(at.begin(), at.end(), '\n'));
    }
    if (line.find("..") != std::string::npos) unsure_.emplace_back(path, number);
    text(path, line);
  }

  void notebook(const std::string& path) {
    text(path, "{\"cells\": [{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [");
    from_root(path, " \"see [o](/", ") \\u2019 here\\n\"");
    text(path, "]}], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}");
  }

  void fill_owners_and_workflows() {
    const std::vector<std::string> directories = {
        "1.architectures/5.sagemaker-hyperpod", "3.test_cases/pytorch/vllm",
        "3.test_cases/pytorch/FSDP", "4.validation/2.gpu-healthcheck"};
    const std::string flow = ".github/workflows/ci.yml";
    text(flow, "on:\n  push:\n    paths:");
    for (const std::string& directory : directories) {
      const auto with = [&](const std::string& file, std::string before, std::string after) {
        add(file, [=](const SampleLayout& layout) {
          return before + layout.of_directory(directory) + after;
        });
      };
      with(flow, "      - '", "/**'");
      with(flow, "      - '!", "/**/*.md'");
      with("CODEOWNERS", "/", "/ @team");
      with(".gitignore", "!", "/");
    }
    text(flow, "jobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:");
    for (const std::string& directory : directories) {
      add(flow, [directory](const SampleLayout& layout) {
        return "      - run: make\n        working-directory: " + layout.of_directory(directory);
      });
      from_root(flow, "      - run: bash ", "");
    }
  }

  std::mt19937 random_;
  std::vector<std::string> paths_;
  std::map<std::string, std::vector<Line>> lines_;
  std::vector<std::pair<std::string, int>> unsure_;
  std::size_t references_ = 0;
};

/// Those of the RFC and of the layout that people tried on a branch, in miniature.
inline SampleLayout rfc_layout() {
  return {{{"1.architectures/5.sagemaker-hyperpod", "architectures/sagemaker-hyperpod-slurm"},
           {"3.test_cases", "test_cases/training"},
           {"3.test_cases/pytorch/vllm", "test_cases/inference/vllm"}},
          true,
          {}};
}
inline SampleLayout examples_layout() {
  return {{{"0.docs", "assets"},
           {"3.test_cases", "examples/training"},
           {"3.test_cases/pytorch", "examples/training"},
           {"3.test_cases/megatron", "examples/training"},
           {"3.test_cases/pytorch/FSDP", "examples/training/fsdp"},
           {"3.test_cases/pytorch/vllm", "examples/inference/vllm"}},
          true,
          {}};
}

}  // namespace muster::reorg::testing
