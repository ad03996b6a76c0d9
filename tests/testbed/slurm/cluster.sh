#!/bin/bash
# A real Slurm cluster on one machine: controller with accounting (slurmdbd, MariaDB) and four nodes, each host with
# network, mount, UTS, IPC and process namespaces of its own. Needs root and Debian's packages slurm-wlm, slurmdbd,
# munge, mariadb-server and iproute2.
#
#   cluster.sh check              exit 77 and say why when this machine can't run it
#   cluster.sh up [catalog]       start; everything ends by itself after MUSTER_TESTBED_LIFE seconds (900)
#   cluster.sh exec HOST CMD…     run a command on ctl or n1 … n4
#   cluster.sh crash HOST         take its power away
#   cluster.sh start HOST         boot it again
#   cluster.sh down               stop everything and leave nothing
#
# `up catalog` starts a controller alone, without accounting, that believes in the large GPU nodes of etc/catalog: for
# `sbatch --test-only`.
#
# Hosts share the disk, as over NFS, except for /run, /dev/shm and /var/log. State is below MUSTER_TESTBED
# (/run/muster-testbed); no address, route or process reaches outside the namespaces.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
state=${MUSTER_TESTBED:-/run/muster-testbed}
life=${MUSTER_TESTBED_LIFE:-900}
hosts="ctl n1 n2 n3 n4"
cluster=$(basename "$state")  # names the namespaces, so that several clusters may run at once
fabric=$cluster-fabric

address() { case $1 in ctl) echo 10.91.7.10 ;; n*) echo 10.91.7.$((100 + ${1#n})) ;; esac; }
namespace() { echo "$cluster-$1"; }

skip() {
  echo "skipped: $1"
  exit 77
}

check() {
  [ "$(id -u)" = 0 ] || skip "the Slurm testbed needs root"
  for program in slurmctld slurmd slurmdbd munged mariadbd mariadb-install-db ip unshare nsenter; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null ||
      skip "no $program; apt-get install slurm-wlm slurmdbd munge mariadb-server iproute2"
  done
  local probe=muster-probe-$$
  ip netns add "$probe" 2>/dev/null || skip "network namespaces can't be made here"
  ip netns del "$probe"
}

network_up() {
  ip netns add "$fabric"
  ip -n "$fabric" link add br0 type bridge
  ip -n "$fabric" link set br0 up
  for host in $hosts; do
    ip netns add "$(namespace "$host")"
    ip -n "$fabric" link add "p-$host" type veth peer name eth0 netns "$(namespace "$host")"
    ip -n "$fabric" link set "p-$host" master br0 up
    ip -n "$(namespace "$host")" link set lo up
    ip -n "$(namespace "$host")" addr add "$(address "$host")/24" dev eth0
    ip -n "$(namespace "$host")" link set eth0 up
  done
}

shared_files() {
  mkdir -p "$state/etc"
  chmod 755 "$state"
  { echo "127.0.0.1 localhost"; for host in $hosts; do echo "$(address "$host") $host"; done; } >"$state/hosts"
  cp "$here/etc/$kind"/*.conf "$state/etc/"
  if [ -e "$state/etc/slurmdbd.conf" ]; then
    chown slurm: "$state/etc/slurmdbd.conf"
    chmod 600 "$state/etc/slurmdbd.conf"
  fi
  head -c 1024 /dev/urandom >"$state/munge.key"
  cp "$here/host.sh" "$here/accounting.sh" "$state/"
}

# Waits for a file, at most 30 s.
wait_for() {
  for _ in $(seq 600); do
    [ -s "$1" ] && return 0
    sleep 0.05
  done
  echo "testbed: $1 did not appear within 30 s" >&2
  return 1
}

start() {
  local host=$1
  mkdir -p "$state/$host"
  rm -f "$state/$host/ready" "$state/$host/init.pid"
  setsid ip netns exec "$(namespace "$host")" \
    unshare --mount --propagation private --uts --ipc --pid --fork --mount-proc --kill-child \
    "$state/host.sh" "$host" "$state" "$life" </dev/null >"$state/$host/boot.log" 2>&1 &
  local outer=$!
  wait_for "$state/$host/ready" || { cat "$state/$host/boot.log" >&2; return 1; }
  # The host's pid 1, as this side sees it.
  tr -d ' ' <"/proc/$outer/task/$outer/children" >"$state/$host/init.pid"
}

crash() {
  [ -s "$state/$1/init.pid" ] || return 0
  kill -9 "$(cat "$state/$1/init.pid")" 2>/dev/null || true
  rm -f "$state/$1/init.pid" "$state/$1/ready"
}

on() {
  local host=$1
  shift
  exec nsenter -t "$(cat "$state/$host/init.pid")" -m -u -i -n -p -- "$@"
}

down() {
  for host in $hosts; do
    crash "$host"
    ip netns del "$(namespace "$host")" 2>/dev/null || true
  done
  ip netns del "$fabric" 2>/dev/null || true
  rm -rf "$state"
}

up() {
  kind=$1
  down
  if [ "$kind" = catalog ]; then hosts=ctl; fi
  network_up
  shared_files
  for host in $hosts; do start "$host"; done
  for _ in $(seq 150); do
    idle=$( (on ctl timeout 5 sinfo --noheader --format=%D --states=idle) 2>/dev/null) || idle=
    case $kind:$idle in nodes:4 | catalog:[1-9]*) return 0 ;; esac
    sleep 0.2
  done
  echo "testbed: the nodes did not become idle within 30 s" >&2
  (on ctl timeout 5 sinfo --Node --long) >&2 || true
  return 1
}

case ${1:-} in
  check) check ;;
  up) up "${2:-nodes}" ;;
  down) down ;;
  start) start "$2" ;;
  crash) crash "$2" ;;
  exec) shift; on "$@" ;;
  *) sed -n '2,17p' "$0"; exit 1 ;;
esac
