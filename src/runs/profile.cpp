#include "runs/profile.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::runs {
namespace {

constexpr int kDeepest = 4;

Result<void> read_below(const FileSystem& files, const std::filesystem::path& folder, int depth,
                        const facts::Nsight& rules, Profile& profile) {
  const auto names = files.list(folder);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const auto path = folder / name;
    const auto info = files.info(path);
    if (!info) continue;
    if (info->kind == FileInfo::Kind::kDirectory && depth < kDeepest) {
      if (auto read = read_below(files, path, depth + 1, rules, profile); !read) return read;
    } else if (info->kind == FileInfo::Kind::kFile && may_be_profile(path)) {
      const auto text = files.read(path);
      if (text) {
        read_profile(*text, path.string(), rules, profile);
      } else {
        profile.gaps.push_back(text.findings().front().message);
      }
    }
  }
  return {};
}

}  // namespace

bool may_be_profile(const std::filesystem::path& file) {
  const std::string end = file.extension().string();
  return end == ".json" || end == ".csv" || end == ".txt" || end == ".log" || end == ".out";
}

void read_profile(const std::string& text, const std::string& file, const facts::Nsight& rules,
                  Profile& profile) {
  ++profile.files;
  // A trace begins with an object; so does no table of statistics.
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && text[start] == '{') {
    auto trace = parse_trace(text, file);
    if (!trace) {
      profile.gaps.push_back(to_string(trace.findings().front()));
      return;
    }
    const bool known = std::any_of(profile.traces.begin(), profile.traces.end(),
                                   [&](const RankTrace& one) { return one.rank == trace->rank; });
    if (known) {
      profile.gaps.push_back(fmt::format("{}: there is another trace of rank {}: the first counts",
                                         file, trace->rank));
      return;
    }
    profile.traces.push_back(std::move(*trace));
    return;
  }
  auto stats = read_nsys_stats(text, file, rules);
  if (stats.empty()) {
    profile.gaps.push_back(
        fmt::format("{}: neither a trace nor a table of nsys stats is in it", file));
    return;
  }
  for (RankStats& one : stats) profile.stats.push_back(std::move(one));
}

Result<void> read_profile_folder(const FileSystem& files, const std::filesystem::path& folder,
                                 const facts::Nsight& rules, Profile& profile) {
  return read_below(files, folder, 0, rules, profile);
}

std::vector<Breakdown> break_down(const Profile& profile, const facts::Nsight& rules) {
  std::vector<Breakdown> all;
  if (!profile.traces.empty()) all.push_back(break_down(profile.traces, rules));
  if (!profile.stats.empty()) {
    Breakdown one = break_down(profile.stats, rules);
    if (!one.source.empty()) {
      all.push_back(std::move(one));
    } else if (!all.empty()) {
      all.front().gaps.insert(all.front().gaps.end(), one.gaps.begin(), one.gaps.end());
    }
  }
  return all;
}

}  // namespace muster::runs
