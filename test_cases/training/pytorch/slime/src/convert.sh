#!/bin/bash
# Weights of Hugging Face as a checkpoint of Megatron: convert.sh HF_FOLDER OUT
set -euo pipefail
from=$1 to=$2
# Slime's names: Qwen3-4B is in qwen3-4B.sh.
name=$(basename "$from")
name=${name,}
if [ -e "$to/latest_checkpointed_iteration.txt" ]; then
  echo "$to is there already"
  exit 0
fi
# shellcheck disable=SC1090  # sets MODEL_ARGS for the model
source "/slime/scripts/models/$name.sh"
torchrun --standalone --nproc_per_node=8 /slime/tools/convert_hf_to_torch_dist.py "${MODEL_ARGS[@]}" --hf-checkpoint "$from" --save "$to"
