#!/bin/bash
# Scrapes muster-exporter and prometheus-node-exporter on the same faked /sys of 32 EFA devices, in turns, and prints how long a
# scrape takes and how much memory each keeps:
#   benchmarks/exporter.sh [--build DIR] [--devices N] [--scrapes N] [--out FILE.json]
# node_exporter is Debian's, with its infiniband collector alone: it reads none of EFA's own counters, which muster-exporter reads
# besides. The whole takes half a minute. The JSON result is benchmarks/results/exporter.json; docs/results.md is made from it by
# benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
command -v prometheus-node-exporter >/dev/null || { echo 'exporter.sh: apt-get install prometheus-node-exporter' >&2; exit 4; }
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster-exporter >&2
exec python3 benchmarks/exporter_bench.py --build "$build" ${rest[@]+"${rest[@]}"}
