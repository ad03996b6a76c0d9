# The PyTorch of requirements.lock as the engine's libtorch, for the suites that build against it. Sourced.
#
#   torch_ready                             packages and the Python environment; sets `torch` (its folder) and `torch_version`
#   torch_build PRESET DIR TARGETS…         configures and builds; a build that fails is a failure of ours (exit 3)
. tests/conformance/python.sh

torch_ready() {
  local began=$SECONDS
  scripts/bootstrap --packages core engine test
  python_make
  torch=$(echo "${python%/bin/python}"/lib/python3*/site-packages/torch)
  [ -e "$torch/lib/libtorch_cpu.so" ] || { echo "no libtorch in $torch"; exit 4; }
  torch=$(realpath "$torch")
  torch_version=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$torch/version.py")
  echo "PyTorch $torch_version: ready in $((SECONDS - began)) s"
}

torch_build() {
  local preset=$1 dir=$2 began=$SECONDS
  shift 2
  cmake --preset "$preset" -B "$dir" -DCMAKE_PREFIX_PATH="$torch" || exit 3
  grep -qF "$torch" "$dir/build.ninja" || { echo "$dir was configured with another PyTorch"; exit 3; }
  ninja -C "$dir" "$@" || exit 3
  echo "built in $((SECONDS - began)) s"
}
