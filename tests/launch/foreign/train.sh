#!/bin/bash
# Stands in for a training program of another framework: prints steps as the FSDP case does, and misbehaves on request.
#   FAKE_STEPS_APART  seconds between steps (0)
#   FAKE_FAULT        RANK:KIND at step 3: kill (this process and its wrapper), exit-N, stop, nan; mute: no step is printed;
#                     strange: steps in a form that nobody knows; peerless: its library finds nobody
#   FAKE_ONCE         1: the fault happens in the first start only, and the next goes on from step 3
set -u
steps=$1 fault=${FAKE_FAULT:-} first=0
if [ -n "${FAKE_ONCE:-}" ] && [ "${TORCHELASTIC_RESTART_COUNT:-0}" != 0 ]; then fault='' first=3; fi
peers=$((WORLD_SIZE - 1))
if [ "$fault" = peerless ]; then peers=0; fi
echo "[Gloo] Rank $RANK is connected to $peers peer ranks. Expected number of connected peer ranks is : $peers"
for ((step = first; step < steps; step++)); do
  loss=$((90 - step)).5
  if [ "$step" = 3 ] && [ "${fault%%:*}" = "$RANK" ]; then
    case ${fault#*:} in
      kill) kill -9 $PPID $$ ;;
      exit-*) echo "giving up on purpose" >&2; exit "${fault#*:exit-}" ;;
      stop) exec sleep 600 ;;
      nan) loss=nan ;;
    esac
  fi
  if [ "$RANK" = 0 ]; then
    case $fault in
      mute) ;;
      strange) echo "after $step: the loss = $loss" ;;
      *) echo "Batch $step Loss: $loss, Speed: 2.80 samples/sec, Tokens/s: 1000, TFLOPS/GPU: 0.1, MFU: 0.100, lr: 0.001000" ;;
    esac
  fi
  sleep "${FAKE_STEPS_APART:-0}"
done
