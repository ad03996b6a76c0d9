#!/bin/bash
# Measures expert-parallel dispatch and combine beside a bare MPI_Alltoallv of the same bytes, and beside the same exchange written
# with torch.distributed (gloo), in turns, and prints who is how fast:
#   benchmarks/expert.sh [--peer VENV] [--build DIR] [--rounds N] [--ranks N] [--out FILE.json]
# PyTorch comes from PyPI into VENV (default: build/peer; made when missing, or name one in MUSTER_PEER). The whole takes about
# ten minutes. The JSON result is benchmarks/results/expert.json; docs/results.md is made from it by benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release peer=${MUSTER_PEER:-build/peer} rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --peer) peer=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster-bench >&2
if [ ! -x "$peer/bin/python" ]; then
  echo "expert.sh: installing PyTorch from PyPI into $peer" >&2
  python3 -m venv "$peer"
  timeout 900 "$peer/bin/pip" install -q torch numpy >&2
fi
exec python3 benchmarks/expert_bench.py --build "$build" --peer "$peer" ${rest[@]+"${rest[@]}"}
