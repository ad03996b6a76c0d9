#!/bin/sh
# Epilog of slurmd: after a job that a signal ended (134, 137, 139) or that failed, what the GPUs and the kernel say. A fault
# drains the node through muster's own limit, so that a broken program does not empty the cluster.
# Made by `muster render checks`; the same command with --check says whether it is in sync.
# In slurm.conf: Epilog=/etc/slurm/epilog.d/*
case "${SLURM_JOB_EXIT_CODE2:-0:0}" in
  0:0 | 0) exit 0 ;;
esac
muster check gpu kernel-log --instance "${MUSTER_INSTANCE:-p5.48xlarge}" --window 1h \
  --plan slurm --node "$SLURMD_NODENAME" --act --at-most '5%' 2>&1 | logger -t muster-epilog
exit 0
