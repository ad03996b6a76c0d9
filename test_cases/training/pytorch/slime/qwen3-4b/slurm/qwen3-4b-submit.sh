#!/bin/bash
# Rendered from case.yaml by `muster render --all`: change that, not this.
# Submits the case's jobs, each to start when the one before it has succeeded; prints their numbers.
set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
job=$(sbatch --parsable "$here"/qwen3-4b-1-data.sbatch)
echo "$job"
job=$(sbatch --parsable --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes "$here"/qwen3-4b-2-model.sbatch)
echo "$job"
job=$(sbatch --parsable --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes "$here"/qwen3-4b-3-convert.sbatch)
echo "$job"
job=$(sbatch --parsable --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes "$here"/qwen3-4b.sbatch)
echo "$job"
