#!/bin/bash
# Measures the native collectives beside a bare MPI loop written to the method of OSU's micro-benchmarks, in one job and in turns:
#   [OMB_DIR=DIR] [IMB_DIR=DIR] benchmarks/collectives.sh [--build DIR] [--pairs N] [--ranks N] [--realtime] [--mpirun 'CMD…'] [--out FILE.json]
# Where OMB_DIR or IMB_DIR names a build of OSU's or Intel's benchmarks, theirs are run in turns with muster-bench as well. The whole
# takes about two minutes. With --realtime the ranks, ours and theirs, go before everything else on the machine (chrt, as root): then what
# others do there does not show. A tool is compared on the MPI that it was built with: --build names a build with that one, --mpirun its
# launcher. The JSON result is benchmarks/results/collectives.json; docs/results.md is made from it by benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster muster-bench collective_pairs >&2
exec python3 benchmarks/collectives_bench.py --build "$build" ${rest[@]+"${rest[@]}"}
