#!/bin/bash
# Runs every command of a guide, as a reader would type them: the lines of its ```sh blocks, in order, in one copy of the project.
# A line ends with `# exit N` when the guide means it to. Other blocks (text, yaml, …) are not commands.
#
#   run_commands.sh GUIDE.md SOURCE_DIR BIN_DIR
set -euo pipefail
guide=$1 source=$2 bin=$3
commands=$(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on && NF && !/^#/ { print }' "$guide")
[ -n "$commands" ] || { echo "$guide has no command: nothing was checked"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/muster-checkout"
cd "$work/muster-checkout"
cp -r "$source"/{ami_and_containers,architectures,facts,test_cases,micro-benchmarks,docs,README.md} .
[ ! -d "$source/validation_and_observability" ] || cp -r "$source/validation_and_observability" .
mkdir examples scripts 2>/dev/null && cp "$source"/scripts/* scripts/
[ ! -d "$source/examples" ] || cp -r "$source"/examples/. examples/
# The wrapper would build first; here it is built already.
ln -s "$bin/muster" muster
export PATH="$bin:$PATH" HOME=$work NO_COLOR=1

count=0
while IFS= read -r line; do
  wanted=0
  if [[ $line =~ \#\ exit\ ([0-9]+)$ ]]; then wanted=${BASH_REMATCH[1]}; fi
  case $line in
    scripts/* | ./scripts/* | .ci/*)
      # These build or test the project itself, and are what runs this test: here only that they are there and parse.
      bash -n "$source/$(echo "${line#./}" | cut -d' ' -f1)"
      echo "parses: $line"; count=$((count + 1)); continue ;;
  esac
  code=0
  timeout 240 bash -c "$line" >"$work/out" 2>&1 </dev/null || code=$?
  if [ "$code" != "$wanted" ]; then
    echo "$(basename "$guide"): exit $code instead of $wanted: $line"
    tail -n 40 "$work/out"
    exit 1
  fi
  echo "exit $code: $line"
  count=$((count + 1))
done <<<"$commands"
echo "$count commands of $(basename "$guide")"
