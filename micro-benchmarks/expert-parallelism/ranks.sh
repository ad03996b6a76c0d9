#!/bin/bash
# Hands a benchmark the ranks that mpirun or srun gave this process, which is one of one for each GPU.
#
#   ranks.sh per-gpu PROGRAM…    RANK and WORLD_SIZE count GPUs, LOCAL_RANK and LOCAL_WORLD_SIZE those of the node
#   ranks.sh per-node PROGRAM…   the program starts its own processes on a node: only the node's first runs it, RANK and
#                                WORLD_SIZE (DeepEP) and NODE_RANK count nodes, WORLD_LOCAL_SIZE GPUs of the node
#
# MASTER_ADDR and MASTER_PORT, where all meet, come with the job.
set -euo pipefail
kind=$1
shift
rank=${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:?neither mpirun nor srun has started this}}
world=${OMPI_COMM_WORLD_SIZE:-$SLURM_NTASKS}
export LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID-}}
export LOCAL_WORLD_SIZE=${OMPI_COMM_WORLD_LOCAL_SIZE:-$((world / ${SLURM_JOB_NUM_NODES:-1}))}
case $kind in
  per-gpu)
    export RANK=$rank WORLD_SIZE=$world
    ;;
  per-node)
    [ "$LOCAL_RANK" = 0 ] || exit 0
    export RANK=$((rank / LOCAL_WORLD_SIZE)) WORLD_LOCAL_SIZE=$LOCAL_WORLD_SIZE
    export NODE_RANK=$RANK WORLD_SIZE=$((world / LOCAL_WORLD_SIZE))
    # pplx-kernels counts GPUs here.
    if [ -n "${RANKS_COUNT_GPUS-}" ]; then export WORLD_SIZE=$world; fi
    # srun has given this process its share of the cores, and it stands for all of them.
    taskset --cpu-list --pid "0-$(($(nproc --all) - 1))" $$ >/dev/null 2>&1 || true
    ;;
  *)
    echo "ranks.sh: per-gpu or per-node, not $kind" >&2
    exit 2
    ;;
esac
exec "$@"
