#!/bin/bash
# What a Batch job of mpirun runs on its nodes, for real: two network namespaces with a mount and a host name each are the two
# nodes of a rendered job definition, sshd and mpirun the real ones, and the key the one that Batch would hand over.
#
#   mpi_over_ssh.sh BIN SOURCE
set -euo pipefail
bin=$1 source=$2
[ "$(id -u)" = 0 ] || { echo 'needs root'; exit 77; }
[ -x /usr/sbin/sshd ] || { echo 'needs openssh-server'; exit 1; }
prefix=mb$$-
ip netns add "${prefix}0" 2>/dev/null || { echo 'no network namespaces here'; exit 77; }
work=$(mktemp -d)
cleanup() {
  local node pid
  for node in 0 1; do
    for pid in $(ip netns pids "$prefix$node" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$prefix$node" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap cleanup EXIT
ip netns add "${prefix}1"
ip -n "${prefix}0" link add eth0 type veth peer name eth0 netns "${prefix}1"
for node in 0 1; do
  ip -n "$prefix$node" addr add "10.79.0.1$node/24" dev eth0
  ip -n "$prefix$node" link set eth0 up
  ip -n "$prefix$node" link set lo up
done

(cd "$source" && "$bin/muster" render case micro-benchmarks/nccl-tests --profile smoke --target batch --set topology.nodes=2 \
  --set topology.accelerators_per_node=1 --set image.uri=registry.test/nccl-tests:1 --set resources.cpu=1 \
  --set resources.memory=1Gi --set rendezvous.start_timeout=60s --out "$work" >/dev/null)
python3 - "$work" <<'EXTRACT'
import json, sys
work = sys.argv[1]
container = json.load(open(work + '/batch/all-reduce.json'))['nodeProperties']['nodeRangeProperties'][0]['container']
open(work + '/script', 'w').write(container['command'][2])
open(work + '/environment', 'w').write(''.join('export %s=%s\n' % (v['name'], v['value']) for v in container['environment']))
EXTRACT
ssh-keygen -q -t ed25519 -N '' -f "$work/key"

node() { # INDEX; the home of root is the node's own, for ssh too, which looks it up
  mkdir "$work/home-$1"
  sed "s|^root:\([^:]*:[^:]*:[^:]*:[^:]*\):[^:]*|root:\1:$work/home-$1|" /etc/passwd >"$work/passwd-$1"
  # shellcheck disable=SC2016
  timeout -k 5 100 ip netns exec "$prefix$1" unshare --mount --uts bash -c '
    set -e
    mount --bind "$1/passwd-$2" /etc/passwd
    mount -t tmpfs tmpfs /run
    hostname "node-$2"
    . "$1/environment"
    export PATH=$3:$PATH HOME=$1/home-$2 MUSTER_RUN_DIR=$1/run AWS_BATCH_JOB_NUM_NODES=2 AWS_BATCH_JOB_NODE_INDEX=$2
    export AWS_BATCH_JOB_MAIN_NODE_INDEX=0 AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.79.0.10
    export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
    MUSTER_SSH_KEY=$(<"$1/key")
    export MUSTER_SSH_KEY
    exec bash "$1/script"' node "$work" "$1" "$bin"
}
node 1 >"$work/node-1.log" 2>&1 &
code=0
node 0 >"$work/node-0.log" 2>&1 || code=$?
show() { cat "$work/node-0.log" "$work/node-1.log"; }
[ "$code" = 0 ] || { echo "node 0: exit $code"; show; exit 1; }
grep -q 'Accepted publickey' "$work/node-1.log" || { echo 'nobody came to node 1 over ssh'; show; exit 1; }
"$bin/muster" bench judge "$work/node-0.log" --expect-ranks 2 --nodes 2 --no-speed
