# shellcheck shell=bash disable=SC2154
# Cases of other frameworks, run with the real framework. Sourced by their suites, from the project's root.

# foreign_ready: builds muster.
foreign_ready() {
  scripts/bootstrap core
  muster=$PWD/build/release/bin/muster
  work=$(mktemp -d "$PWD/build/conformance/foreign.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  foreign_on=()
}

# layered_venv NAME: makes build/conformance/NAME-venv, which sees the suites' common environment and has beside it what
# tests/conformance/NAME/requirements.lock pins. Sets `venv`.
layered_venv() {
  local lock=tests/conformance/$1/requirements.lock base site
  python_make
  base=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  venv=$PWD/build/conformance/$1-venv
  if [ ! -e "$venv/.made-from" ] || ! cmp -s "$lock" "$venv/.made-from"; then
    rm -rf "$venv"
    "$python" -m venv "$venv" || { echo 'needs python3-venv'; exit 4; }
    site=$("$venv/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$base" >"$site/common.pth"
    timeout 900 "$venv/bin/python3" -m pip install -q --no-deps -r "$lock" || { echo 'the pinned packages could not be installed'; exit 4; }
    # The launchers of the common environment, with this one's Python.
    for program in torchrun accelerate; do
      if [ ! -e "$(dirname "$python")/$program" ] || [ -e "$venv/bin/$program" ]; then continue; fi
      { echo "#!$venv/bin/python3"; tail -n +2 "$(dirname "$python")/$program"; } >"$venv/bin/$program"
      chmod +x "$venv/bin/$program"
    done
    cp "$lock" "$venv/.made-from"
  fi
}

# plain_venv NAME REQUIREMENTS: makes build/conformance/NAME-venv from a file of requirements. Sets `venv`.
plain_venv() {
  venv=$PWD/build/conformance/$1-venv
  if [ -e "$venv/.made-from" ] && cmp -s "$2" "$venv/.made-from"; then return; fi
  rm -rf "$venv"
  "$(command -v python3.11 || command -v python3)" -m venv "$venv" || { echo 'needs python3-venv'; exit 4; }
  timeout 900 "$venv/bin/python3" -m pip install -q -r "$2" || { echo 'the pinned packages could not be installed'; exit 4; }
  cp "$2" "$venv/.made-from"
}

# foreign_run CASE CHECKS OPTION…: runs the smoke profile and holds it to a passing verdict (OUTCOME names another), with each
# check of CHECKS (NAME=PYTHON-REGEX, one a line) there and its evidence as the expression says. The words in the array
# `foreign_on` go before muster, to run it elsewhere.
foreign_run() {
  local case=$1 checks=$2 code=0
  shift 2
  timeout 900 "${foreign_on[@]}" "$muster" run "$case" --profile smoke --runs-dir "$work/runs" -o json "$@" >"$work/run.json" 2>"$work/run.err" || code=$?
  if [ $code = 4 ] && [ ! -s "$work/run.json" ]; then tail -n 3 "$work/run.err"; exit 4; fi
  if ! CHECKS=$checks python3 tests/conformance/verdict.py "$work/run.json"; then
    tail -n 20 "$work/run.err"
    tail -n 20 "$work"/runs/*/logs/rank-*.log "$work"/runs/*/logs/launcher.err
    exit 3
  fi
}
