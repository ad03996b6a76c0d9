#!/bin/bash
# Checks Kubernetes objects with Muster and with kubeconform on this machine, side by side, and prints who is how fast:
#   benchmarks/kubernetes.sh [--build DIR] [--rounds N] [--copies N] [--out FILE.json]
# kubeconform comes from its Go module, its schemas from PyPI's kubernetes-validate; both into build/peer-kubernetes, once.
# The whole takes about three minutes. The JSON result is benchmarks/results/kubernetes.json; docs/results.md is made from it
# by benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release peer=build/peer-kubernetes rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
kubeconform=v0.7.0 schemas=1.37.0
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster >&2
if [ ! -x "$peer/kubeconform" ]; then
  echo "kubernetes.sh: building kubeconform $kubeconform into $peer" >&2
  GOBIN=$PWD/$peer timeout 600 go install "github.com/yannh/kubeconform/cmd/kubeconform@$kubeconform" >&2
fi
if [ ! -d "$peer/kubernetes_validate" ]; then
  timeout 300 python3 -m pip install -q --no-deps --target "$peer" "kubernetes-validate==$schemas" >&2
fi
exec python3 benchmarks/kubernetes_bench.py --build "$build" --peer "$peer" --peer-version "$kubeconform" ${rest[@]+"${rest[@]}"}
