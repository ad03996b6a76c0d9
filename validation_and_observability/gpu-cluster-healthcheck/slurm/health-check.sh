#!/bin/sh
# HealthCheckProgram of slurmd. A fault that stands in three of six runs drains the node, with the reason; three good runs in
# a row put it back, when muster had taken it out. slurmd ends it after 60 seconds.
# Made by `muster render checks`; the same command with --check says whether it is in sync.
mkdir -p /var/lib/muster
muster check prolog --instance "${MUSTER_INSTANCE:-p5.48xlarge}" --plan slurm --node "${SLURMD_NODENAME:-$(uname -n)}" \
  --history /var/lib/muster/health --features --act --at-most '5%' >/var/lib/muster/health.log 2>&1
exit 0
