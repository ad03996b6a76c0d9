# The Python environment of the suites, made from requirements.lock once and kept in build/. Sourced; sets `python`.
# MUSTER_CONFORMANCE_VENV names one that is there already and was made from the same file; it is never changed.

python_make() {
  local venv=${MUSTER_CONFORMANCE_VENV:-build/conformance/venv} lock=tests/conformance/requirements.lock
  if [ ! -e "$venv/.made-from" ] || ! cmp -s "$lock" "$venv/.made-from"; then
    [ -z "${MUSTER_CONFORMANCE_VENV:-}" ] || { echo "$venv was not made from $lock (its copy .made-from differs)"; exit 4; }
    command -v python3.11 >/dev/null || command -v python3 >/dev/null || { echo 'needs python3 with venv'; exit 4; }
    rm -rf "$venv"
    "$(command -v python3.11 || command -v python3)" -m venv "$venv" || { echo 'needs python3-venv'; exit 4; }
    # Pinned versions or nothing: a registry that does not answer is "could not be run", not a failure of ours.
    timeout 900 "$venv/bin/pip" install -q --no-deps -r "$lock" || { echo 'the pinned packages could not be installed'; exit 4; }
    cp "$lock" "$venv/.made-from"
  fi
  python=$venv/bin/python
}
