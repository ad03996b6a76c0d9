#!/bin/bash
# Checks every CloudFormation template of the project with Muster and with cfn-lint, in turns, on the same files:
#   benchmarks/cloudformation.sh [--build DIR] [--rounds N] [--out FILE.json]
# cfn-lint comes from PyPI, at the versions of tests/conformance/cfn-lint/requirements.lock, into build/peer-cfn-lint, once. The whole
# takes a minute or two. The JSON result is benchmarks/results/cloudformation.json; docs/results.md is made from it by
# benchmarks/results.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release peer=build/peer-cfn-lint rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    *) rest+=("$1"); shift ;;
  esac
done
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >&2
ninja -C "$build" muster >&2
lock=tests/conformance/cfn-lint/requirements.lock
if ! cmp -s "$lock" "$peer/.made-from"; then
  rm -rf "$peer"
  python3 -m venv "$peer"
  timeout 600 "$peer/bin/pip" install -q --no-deps -r "$lock" >&2
  cp "$lock" "$peer/.made-from"
fi
exec python3 benchmarks/cloudformation_bench.py --build "$build" --peer "$peer" ${rest[@]+"${rest[@]}"}
