#!/bin/bash
# A hunt for real: six network namespaces on one bridge, every link held to 40 Mbit/s, that of n4 to 24. The hunt must
# name n4 and nothing else, and nothing when all links are alike.
#
#   slow_link.sh MUSTER
set -euo pipefail
muster=$1
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo 'needs root'; exit 77; }
prefix=mh$$-
work=$(mktemp -d)
ip netns add "${prefix}hub" 2>/dev/null || { echo 'no network namespaces here'; rm -rf "$work"; exit 77; }
cleanup() {
  for name in hub n1 n2 n3 n4 n5 n6; do ip netns del "$prefix$name" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT

hold() { # NAMESPACE DEVICE RATE
  ip netns exec "$prefix$1" tc qdisc replace dev "$2" root tbf rate "$3" burst 64kb latency 50ms
}
ip -n "${prefix}hub" link add br0 type bridge
ip -n "${prefix}hub" link set br0 up
for i in 1 2 3 4 5 6; do
  ip netns add "${prefix}n$i"
  ip -n "${prefix}hub" link add "p$i" type veth peer name eth0 netns "${prefix}n$i"
  ip -n "${prefix}hub" link set "p$i" master br0 up
  ip -n "${prefix}n$i" addr add "10.77.0.$i/24" dev eth0
  ip -n "${prefix}n$i" link set eth0 up
  hold "n$i" eth0 40mbit
  hold hub "p$i" 40mbit
done

cd "$work"
# {second} is n1 to n6: its number is the last part of its address.
command="$here/pair $prefix {first} {second} 10.77.0.\$(echo {second} | tr -d n)"
hunt() { "$muster" bench hunt --nodes 'n[1-6]' --command "$command" --drop 20 --limit 30s --no-record -q -o json; }

code=0
hunt >clean.json || code=$?
[ "$code" = 0 ] || { echo "alike links: exit $code"; cat clean.json; exit 1; }

hold n4 eth0 24mbit
hold hub p4 24mbit
code=0
hunt >slow.json || code=$?
[ "$code" = 3 ] || { echo "a slow link: exit $code"; cat slow.json; exit 1; }
grep -q '"slurm": "n4"' slow.json || { echo 'another node was named'; cat slow.json; exit 1; }
echo 'n4 was named'
