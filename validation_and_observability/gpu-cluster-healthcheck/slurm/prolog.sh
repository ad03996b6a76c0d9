#!/bin/sh
# Prolog of slurmd: the quick checks before a job. Code 1 drains the node and puts the job back into the queue, so only a
# fault is one: what could not be verified, and a muster that is not there, are told in the node's log and let the job start.
# Made by `muster render checks`; the same command with --check says whether it is in sync.
# In slurm.conf: Prolog=/etc/slurm/prolog.d/*, PrologFlags=Alloc
out=$(muster check prolog --instance "${MUSTER_INSTANCE:-p5.48xlarge}" 2>&1)
code=$?
if [ "$code" -ne 0 ]; then
  printf '%s\n' "$out" | logger -t muster-prolog -p daemon.warning
fi
[ "$code" -ne 3 ]
