// A host's file systems: how full, how mounted, how fast, and where containers are kept.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.h"
#include "health/look.h"
#include "health/mounts.h"
#include "health/readers.h"

namespace muster::health {
namespace {

/// Of 64 MiB: short on a disk that is well, and more than a cache of the controller.
constexpr int kSpeedMebibytes = 64;
constexpr std::chrono::milliseconds kSpeedLimit{120000};

class StorageReader {
 public:
  StorageReader(const Text& text, const Host& host, CheckResult& check)
      : text_(text), host_(host), check_(check) {}

  void read() {
    const auto mounts = parse_mounts(text_.content);
    for (const Line& line : lines_of(text_.content)) {
      source_ = line.source;
      const std::string bare(trimmed(line.text));
      see_table(line, bare);
      see_failure(line, bare);
      see_speed(line, bare);
    }
    source_.clear();
    if (!mounts.empty()) judge_mounts(mounts);
    if (rows_ > 0) {
      add(Health::kOk, "storage-fill", {},
          fmt::format("{} file systems looked at, the fullest has {:g} %{}", rows_, fullest_,
                      fullest_name_.empty() ? "" : ": " + fullest_name_),
          first_row_);
    }
    if (!seen_) {
      add(Health::kUnknown, "storage-empty", {},
          "nothing was understood as df, /proc/mounts, mount or what dd says of its speed", 0);
    }
  }

 private:
  void add(Health health, const char* rule, const std::string& subject, const std::string& evidence,
           int line) {
    const std::string who = source_.empty()   ? subject
                            : subject.empty() ? source_
                                              : source_ + " " + subject;
    check_.add(health, rule, who, evidence, {text_.file, line, 0});
    seen_ = true;
  }

  /// df in any of its forms: "… 79% /", with inodes when the title says so. A long name of a device
  /// stands on a line of its own.
  void see_table(const Line& line, const std::string& bare) {
    if (bare.starts_with("Filesystem")) {
      table_ = true;
      inodes_ = bare.find("Inodes") != std::string::npos;
      device_.clear();
      return;
    }
    if (!table_) return;
    static thread_local const Regex& form = pattern(R"(\s(\d+|-)%?\s+(/.*)$)");
    static thread_local const Regex& share = pattern(R"(\s\d+%\s+/)");
    Regex::Match match;
    const auto words = words_of(bare);
    if (words.size() == 1) {
      device_ = words[0];
      return;
    }
    if (!finds(form, bare, match)) return;
    const std::string device = device_.empty() ? std::string(words[0]) : device_;
    device_.clear();
    const std::string point(group(match, 2));
    const auto percent = finite(group(match, 1));
    if (!finds(share, bare, match) || !percent) return;  // "-": a file system without such a count
    judge_fill(device, point, *percent, line.number);
  }

  void judge_fill(const std::string& device, const std::string& point, double percent, int line) {
    // Full by nature: images that are mounted.
    if (device.starts_with("/dev/loop") || point.starts_with("/snap/") ||
        point.starts_with("/sys/") || device == "squashfuse") {
      return;
    }
    ++rows_;
    if (first_row_ == 0) first_row_ = line;
    const char* what = inodes_ ? "inodes" : "space";
    if (percent >= fullest_) {
      fullest_ = percent;
      fullest_name_ = fmt::format("{} of {}", what, point);
    }
    const auto& limits = *host_.thresholds;
    if (percent < limits.at("disk-fill")) return;
    const bool local = device.starts_with("/dev/") || device == "overlay";
    add(local && percent >= limits.at("disk-full") ? Health::kInvestigate : Health::kFlag,
        "storage-fill", point, fmt::format("{:g} % of its {} are used", percent, what), line);
  }

  void see_failure(const Line& line, const std::string& bare) {
    static thread_local const Regex& form = pattern(
        R"(^(?:df|dd|mount|ls|stat): (.*?):? *(Stale file handle|Transport endpoint is not connected|Input/output error|Read-only file system|No space left on device|Structure needs cleaning)$)");
    Regex::Match match;
    if (finds(form, bare, match))
      add(Health::kInvestigate, "storage-broken", {}, bare, line.number);
  }

  /// "67108864 bytes (67 MB, 64 MiB) copied, 0.05 s, 1.3 GB/s".
  void see_speed(const Line& line, const std::string& bare) {
    static thread_local const Regex& form =
        pattern(R"(^(\d+) bytes .*copied, ([\d.e-]+) s(?:econds)?, )");
    Regex::Match match;
    if (!finds(form, bare, match)) return;
    const auto bytes = finite(group(match, 1)), seconds = finite(group(match, 2));
    if (!bytes || !seconds || *bytes <= 0 || *seconds <= 0) {
      add(Health::kUnknown, "storage-speed", {}, "is not understood: " + bare, line.number);
      return;
    }
    const bool reading = text_.file.find(" of=/dev/null") != std::string::npos;
    const double speed = *bytes / *seconds;
    const double least = host_.thresholds->at(reading ? "disk-read" : "disk-write");
    add(speed < least ? Health::kFlag : Health::kOk, "storage-speed", {},
        fmt::format("{} {:.0f} MiB: {:.0f} MiB/s{}", reading ? "read" : "written and flushed,",
                    *bytes / kMebi, speed / kMebi,
                    speed < least ? fmt::format(", less than {:.0f}", least / kMebi) : ""),
        line.number);
  }

  void judge_mounts(const std::vector<Mount>& mounts) {
    static const std::set<std::string, std::less<>> kDisks = {"ext2",  "ext3",   "ext4", "xfs",
                                                              "btrfs", "lustre", "f2fs"};
    int disks = 0, line = 0;
    for (const Mount& one : mounts) {
      const bool disk = kDisks.count(one.type) > 0 || one.point == "/";
      if (!disk) continue;
      ++disks;
      if (line == 0) line = one.line;
      // What the kernel does to a file system in which it found an error.
      if (one.has("emergency_ro") || one.has("shutdown") ||
          (one.has("ro") && (one.point == "/" || one.has("errors=remount-ro")))) {
        const bool root_by_design = one.point == "/" && one.type != "ext4" && one.type != "xfs";
        add(root_by_design ? Health::kFlag : Health::kInvestigate, "storage-read-only", one.point,
            fmt::format("{} is mounted read-only", one.device), one.line);
      }
    }
    for (const std::string& point : host_.mounts) {
      const auto there = std::find_if(mounts.begin(), mounts.end(),
                                      [&](const Mount& one) { return one.point == point; });
      if (there == mounts.end()) {
        add(Health::kInvestigate, "storage-mount", point, "is not mounted", 0);
      } else if (there->has("ro")) {
        add(Health::kInvestigate, "storage-read-only", point,
            fmt::format("{} is mounted read-only", there->device), there->line);
      } else {
        add(Health::kOk, "storage-mount", point,
            fmt::format("{} ({}) is mounted", there->device, there->type), there->line);
      }
    }
    if (disks > 0) {
      add(Health::kOk, "storage-mounts", {},
          fmt::format("{} mounts, {} of disks looked at", mounts.size(), disks), line);
    } else if (host_.mounts.empty()) {
      add(Health::kUnknown, "storage-mounts", {}, "no file system of a disk is told", 0);
    }
  }

  static constexpr double kMebi = 1024.0 * 1024;

  const Text& text_;
  const Host& host_;
  CheckResult& check_;
  std::string source_, device_, fullest_name_;
  bool seen_ = false, table_ = false, inodes_ = false;
  int rows_ = 0, first_row_ = 0;
  double fullest_ = 0;
};

std::vector<DataRoot> data_roots(const HostView& view) {
  std::vector<DataRoot> roots;
  const auto add = [&](const char* owner, const std::string& file, const char* otherwise,
                       std::string (*read)(const std::string&)) {
    const auto text = view.file(file);
    std::string path = text ? read(*text) : std::string();
    if (!path.empty())
      roots.push_back({owner, std::move(path), file});
    else if (view.exists(otherwise))
      roots.push_back({owner, otherwise, {}});
  };
  add("docker", "/etc/docker/daemon.json", "/var/lib/docker", docker_root);
  add("containerd", "/etc/containerd/config.toml", "/var/lib/containerd",
      [](const std::string& text) { return containerd_root(text); });
  if (const auto conf = view.file("/etc/enroot/enroot.conf")) {
    for (std::string& path : enroot_roots(*conf))
      roots.push_back({"enroot", std::move(path), "/etc/enroot/enroot.conf"});
  }
  return roots;
}

/// Images of containers on the root volume fill it, and start slowly: disks of the instance are
/// there for them.
void judge_placement(const HostView& view, const Host& host, const std::vector<Mount>& mounts,
                     CheckResult& check) {
  const Mount* root = mount_of(mounts, "/");
  std::vector<std::string> others;
  for (const Mount& one : mounts) {
    const bool disk = one.device.starts_with("/dev/nvme") || one.device.starts_with("/dev/md") ||
                      one.device.starts_with("/dev/mapper/");
    if (disk && one.point != "/" && !one.point.starts_with("/boot") &&
        (root == nullptr || one.device != root->device)) {
      others.push_back(one.point);
    }
  }
  const bool matters = !others.empty() || host.accelerators("gpu").value_or(0) > 0 ||
                       nvidia_devices(view).value_or(0) > 0;
  for (const DataRoot& one : data_roots(view)) {
    const Mount* at = mount_of(mounts, one.path);
    const Position where{one.file, 0, 0};
    if (at == nullptr) {
      check.add(Health::kUnknown, "storage-placement", one.owner,
                fmt::format("where {} lies is not told", one.path), where);
    } else if (at->point == "/" && matters) {
      check.add(Health::kFlag, "storage-placement", one.owner,
                fmt::format("keeps its containers on the root volume ({}){}", one.path,
                            others.empty() ? std::string()
                                           : fmt::format("; there is {}", fmt::join(others, ", "))),
                where);
    } else {
      check.add(Health::kOk, "storage-placement", one.owner,
                fmt::format("{} lies on {} ({})", one.path, at->point, at->device), where);
    }
  }
}

void measure_speed(const HostView& view, const Host& host, CheckResult& check) {
  const std::string file = (std::filesystem::path(host.scratch) / ".muster-speed").string();
  const std::vector<std::string> write = {
      "dd",        "if=/dev/zero", "of=" + file, "bs=1M", fmt::format("count={}", kSpeedMebibytes),
      "conv=fsync"};
  const std::vector<std::string> read = {"dd", "if=" + file, "of=/dev/null", "bs=1M",
                                         "iflag=nocache"};
  const std::size_t before = check.observations().size();
  const bool any = read_command(view, write, kSpeedLimit, read_storage, host, check);
  if (!any) {
    check.add(Health::kError, "storage-speed", host.scratch, "dd is not there");
    return;
  }
  const auto& seen = check.observations();
  const bool written =
      std::all_of(seen.begin() + static_cast<std::ptrdiff_t>(before), seen.end(),
                  [](const Observation& one) { return one.health <= Health::kFlag; });
  if (written) read_command(view, read, kSpeedLimit, read_storage, host, check);
  const auto removed = view.run({"rm", "-f", file}, kCommandLimit);
  if (!removed || removed->timed_out || removed->exit_code != 0)
    check.add(Health::kError, "storage-speed", host.scratch, file + " could not be removed");
}

}  // namespace

void read_storage(const Text& text, const Host& host, CheckResult& check) {
  StorageReader(text, host, check).read();
}

void look_at_storage(const HostView& view, const Host& host, CheckResult& check) {
  std::vector<Mount> mounts;
  std::string file = "/proc/mounts";
  auto text = view.file(file);
  if (!text) text = view.file(file = "/etc/mtab");
  if (text) {
    mounts = parse_mounts(*text);
    read_storage({file, *text}, host, check);
  } else {
    check.add(Health::kUnknown, "storage-mounts", {}, text.findings().front().message);
  }
  // A file server that is gone lets df wait for ever.
  for (const std::vector<std::vector<std::string>>& forms :
       {std::vector<std::vector<std::string>>{{"df", "-P", "-k"}, {"df", "-al", "-x", "autofs"}},
        {{"df", "-P", "-i"}, {"df", "-ali", "-x", "autofs"}}}) {
    bool any = false;
    for (const auto& argv : forms) {
      any = read_command(view, argv, kCommandLimit, read_storage, host, check);
      if (any) break;
    }
    if (!any) {
      check.add(Health::kUnknown, "storage-fill", {},
                fmt::format("{} is not there", fmt::join(forms.front(), " ")));
    }
  }
  if (!mounts.empty()) judge_placement(view, host, mounts, check);
  if (!host.scratch.empty()) measure_speed(view, host, check);
}

}  // namespace muster::health
