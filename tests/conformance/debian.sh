# A bare Debian 12 in a folder, for suites that must not lean on what this machine has. Sourced.
#
#   debian_make DIR          makes (or takes from the cache) a minimal system in DIR, with this machine's package sources
#   debian_run DIR COMMAND…  runs a command in it, in namespaces of its own, all ended when the command ends

debian_need() {
  [ "$(id -u)" = 0 ] || { echo 'needs root'; exit 4; }
  command -v debootstrap unshare >/dev/null || { echo 'needs debootstrap: apt-get install debootstrap'; exit 4; }
}

debian_make() {
  local dir=$1 cache=build/conformance/debian.tar mirror
  # shellcheck disable=SC2016 # apt's own placeholder
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Codename: bookworm' 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || { echo 'no Debian 12 package source is configured here'; exit 4; }
  mkdir -p "$dir"
  if [ -e "$cache" ]; then
    tar -C "$dir" -xf "$cache"
  else
    timeout 600 debootstrap --variant=minbase bookworm "$dir" "$mirror" || { echo 'debootstrap failed'; exit 4; }
    # The same packages sources and client settings as this machine has.
    rm -rf "$dir"/etc/apt/sources.list "$dir"/etc/apt/sources.list.d "$dir"/etc/apt/apt.conf.d
    mkdir -p "$dir"/etc/apt/sources.list.d "$dir"/etc/apt/apt.conf.d
    # grep says 2 where one of the two places is missing, though it found files in the other.
    { grep -rlsE 'debian' /etc/apt/sources.list /etc/apt/sources.list.d || true; } |
      xargs -r -I{} cp {} "$dir"/etc/apt/sources.list.d/
    cp /etc/apt/apt.conf.d/* "$dir"/etc/apt/apt.conf.d/ 2>/dev/null || true
    tar -C "$dir" -cf "$cache.part" . && mv "$cache.part" "$cache"
  fi
  cp /etc/resolv.conf /etc/hosts "$dir"/etc/ 2>/dev/null || true
}

debian_run() {
  local dir=$1
  shift
  # A /proc and a /dev of its own; killed as a whole with the command.
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --pid --fork --kill-child --mount-proc="$dir/proc" --propagation private bash -c '
    dir=$1; shift
    mount -t tmpfs -o mode=755 none "$dir/dev"
    for node in null zero full random urandom tty; do touch "$dir/dev/$node"; mount --bind "/dev/$node" "$dir/dev/$node"; done
    mkdir "$dir/dev/shm" "$dir/dev/pts"; mount -t tmpfs none "$dir/dev/shm"; ln -s /proc/self/fd "$dir/dev/fd"
    exec chroot "$dir" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/user LANG=C.UTF-8 "$@"' _ "$dir" "$@"
}
