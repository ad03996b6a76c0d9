#!/bin/bash
# Rendered from case.yaml by `muster render --all`: change that, not this.
# Submits the case's jobs, each to start when the one before it has succeeded; prints their numbers.
set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
job=$(sbatch --parsable "$here"/kimi-k2-1-convert.sbatch)
echo "$job"
job=$(sbatch --parsable --dependency="afterok:${job%%;*}" --kill-on-invalid-dep=yes "$here"/kimi-k2.sbatch)
echo "$job"
