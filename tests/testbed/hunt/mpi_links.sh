#!/bin/bash
# A hunt with the benchmark itself: muster-bench under mpirun over six network namespaces, whose links are held to 3 Mbit/s.
# One exchange of all must name the pair whose link is slower, pairs in rounds the node, and both nothing when all links are alike.
#
#   mpi_links.sh BIN
set -euo pipefail
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo 'needs root'; exit 77; }
command -v mpirun >/dev/null || { echo 'needs mpirun'; exit 77; }
export HUNT_PREFIX=mp$$-
prefix=$HUNT_PREFIX
work=$(mktemp -d)
ip netns add "${prefix}hub" 2>/dev/null || { echo 'no network namespaces here'; rm -rf "$work"; exit 77; }
nodes=6
cleanup() {
  for name in hub $(seq -f n%g "$nodes"); do
    for pid in $(ip netns pids "$prefix$name" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$prefix$name" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap cleanup EXIT

ip -n "${prefix}hub" link add br0 type bridge
ip -n "${prefix}hub" addr add 10.78.0.254/24 dev br0
ip -n "${prefix}hub" link set br0 up
ip -n "${prefix}hub" link set lo up
for i in $(seq "$nodes"); do
  ip netns add "${prefix}n$i"
  ip -n "${prefix}hub" link add "p$i" type veth peer name eth0 netns "${prefix}n$i"
  ip -n "${prefix}hub" link set "p$i" master br0 up
  ip -n "${prefix}n$i" addr add "10.78.0.$i/24" dev eth0
  ip -n "${prefix}n$i" link set eth0 up
  ip -n "${prefix}n$i" link set lo up
  # What leaves a node goes through one class; a second waits for a peer that is to be slower.
  tc() { ip netns exec "${prefix}n$i" tc "$@"; }
  tc qdisc add dev eth0 root handle 1: htb default 10
  tc class add dev eth0 parent 1: classid 1:10 htb rate 3mbit burst 4kb cburst 4kb quantum 1500
done
to_peer() { # NODE PEER RATE
  ip netns exec "${prefix}n$1" tc class replace dev eth0 parent 1: classid 1:20 htb rate "$3" burst 4kb cburst 4kb quantum 1500
  ip netns exec "${prefix}n$1" tc filter replace dev eth0 parent 1: protocol ip prio 1 u32 match ip dst "10.78.0.$2/32" flowid 1:20
}
from_node() { # NODE RATE
  ip netns exec "${prefix}n$1" tc class change dev eth0 classid 1:10 htb rate "$2" burst 4kb cburst 4kb quantum 1500
}

cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi="ip netns exec ${prefix}hub mpirun --mca plm_rsh_agent $here/agent --mca mpi_yield_when_idle 1 --mca btl tcp,self --mca btl_tcp_if_include 10.78.0.0/24"
mpi+=" --mca oob_tcp_if_include 10.78.0.0/24 --host {nodes} --map-by ppr:1:node --bind-to none"
hunt() { # STRATEGY PROGRAM OUT; rounds of pairs go on with four nodes, to be done sooner
  local last=$nodes
  [ "$1" = alltoall ] || last=4
  timeout 150 "$bin/muster" bench hunt --nodes "n[1-$last]" --strategy "$1" --command "$mpi $bin/$2" --drop 40 --limit 60s --serial \
    --no-record -q -o json >"$3" 2>"$3.err"
}
expect() { # CODE STRATEGY PROGRAM WORDS WHAT
  # Other work on this machine may hold up a measurement: it has three tries.
  local code
  for _ in 1 2 3; do
    code=0
    hunt "$2" "$3" out.json || code=$?
    if [ "$code" = "$1" ] && grep -q "$4" out.json; then
      echo "$5"
      return
    fi
  done
  echo "not so: $5: exit $code"
  cat out.json out.json.err
  exit 1
}
pairs='muster-bench pairs -b 64K -e 64K -n 3 -T 40'
expect 0 alltoall "$pairs" '"outcome": "pass"' 'links alike: nothing is named'

to_peer 2 5 400kbit
to_peer 5 2 400kbit
expect 3 alltoall "$pairs" 'between n2 and n5' 'the slow pair n2, n5 is named by one exchange and a confirming round'
grep -q '"rounds": 2' out.json || { echo 'not in two rounds'; cat out.json; exit 1; }
to_peer 2 5 3mbit
to_peer 5 2 3mbit

from_node 4 400kbit
expect 3 pairs 'muster-bench sendrecv -b 64K -e 64K -n 1 -w 1 -T 40' '"slurm": "n4"' 'the slow node n4 is named by pairs in rounds'
grep -q 'scontrol update NodeName=n4 State=DRAIN' out.json || { echo 'no plan'; cat out.json; exit 1; }
