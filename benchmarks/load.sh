#!/bin/bash
# Measures how true `muster load` is against a server that answers at known times, beside AIPerf, in turns:
#   benchmarks/load.sh [--peer VENV] [--build DIR] [--rounds N] [--out FILE.json]
# AIPerf comes from PyPI into VENV (default: build/peer-load; made when missing). The whole takes about four minutes. The JSON
# result is benchmarks/results/load.json; docs/results.md is made from it by benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release peer=build/peer-load rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --peer) peer=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster load_stub >&2
if [ ! -x "$peer/bin/aiperf" ]; then
  echo "load.sh: installing AIPerf from PyPI into $peer" >&2
  python3 -m venv "$peer"
  timeout 900 "$peer/bin/pip" install -q aiperf==0.13.0 >&2
fi
exec python3 benchmarks/load_bench.py --build "$build" --peer "$peer" ${rest[@]+"${rest[@]}"}
