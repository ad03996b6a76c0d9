// /proc/mounts, and what is mounted where. Internal to the storage check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::health {

struct Mount {
  std::string device, point, type;
  std::vector<std::string> options;
  int line = 0;

  bool has(std::string_view option) const;
  /// On a block device of the host, or the layer of a container: what others share is not the
  /// host's fault.
  bool local() const;
};

/// /proc/mounts, fstab-like; `mount` ("DEVICE on POINT type TYPE (OPTIONS)"). Lines of another form
/// are no mounts.
std::vector<Mount> parse_mounts(std::string_view text);

/// Where a path lies: the last mount on the longest point above it. Null: none.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path);

/// Folders in which docker, containerd and enroot keep images and containers, as their
/// configuration says. What depends on a variable is cut there.
struct DataRoot {
  std::string owner;  ///< docker, containerd, enroot
  std::string path;
  std::string file;  ///< that says so; empty: by default
};

/// "data-root" of Docker's daemon.json. Empty: not set. An invalid document is told by the
/// container-runtime check.
std::string docker_root(const std::string& json);
/// `root` of containerd's config.toml.
std::string containerd_root(std::string_view toml);
/// ENROOT_DATA_PATH, ENROOT_CACHE_PATH, ENROOT_RUNTIME_PATH of enroot.conf.
std::vector<std::string> enroot_roots(std::string_view conf);

}  // namespace muster::health
