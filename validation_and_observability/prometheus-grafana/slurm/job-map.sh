#!/bin/bash
# Which jobs run on this host and which GPUs they have, for metrics. Call it from Prolog and Epilog of slurm.conf:
#
#   job-map.sh start    in the Prolog
#   job-map.sh end      in the Epilog
#
# It is the only writer of these files, and every one of them is whole at any time:
#   MUSTER_TEXTFILES/jobs.prom   muster_job_info and muster_job_gpu_info, for the exporter's textfile folder
#   MUSTER_GPU_JOBS/INDEX        ids of the jobs of a GPU, one a line, as dcgm-exporter's --hpc-job-mapping-dir reads them
# Jobs that share the host stand beside each other; the end of one leaves the others. Whatever goes wrong here is told on standard
# error and never fails the Prolog, which would drain the node.
set -u
state=${MUSTER_JOB_STATE:-/run/muster/jobs}
textfiles=${MUSTER_TEXTFILES:-/var/lib/muster/metrics}
gpu_jobs=${MUSTER_GPU_JOBS:-/run/muster/gpu-jobs}
root=${MUSTER_ROOT:-}

# put FOLDER NAME TEXT: the whole file, or the one before.
put() {
  if ! { printf '%s' "$3" >"$1/.$2.new" && mv "$1/.$2.new" "$1/$2"; }; then
    say "can't write $1/$2"
    return 1
  fi
}

say() { echo "job-map: $*" >&2; }

# Slurm counts GPUs by their device files (/dev/nvidiaN), NVML by their place on the bus: the driver knows both.
nvml_index() {
  local index=0 information
  for information in "$root"/proc/driver/nvidia/gpus/*/information; do
    [ -e "$information" ] || break
    if [ "$(sed -n 's/^Device Minor:[[:space:]]*//p' "$information")" = "$1" ]; then
      echo "$index"
      return
    fi
    index=$((index + 1))
  done
  echo "$1"
}

# "0,2-3" as words.
expand() {
  local part
  for part in ${1//,/ }; do
    case $part in
      *-*) seq "${part%-*}" "${part#*-}" ;;
      *) echo "$part" ;;
    esac
  done
}

# Label values are quoted: what would end one is left out.
label() { printf '%s' "$1" | tr -d '\\"\n'; }

write_all() {
  local job id user partition gpus gpu text='' wanted=' ' file
  declare -A of_gpu=()
  text+=$'# HELP muster_job_info 1 for each job on this host\n# TYPE muster_job_info gauge\n'
  local gpu_text=$'# HELP muster_job_gpu_info 1 for each GPU of a job\n# TYPE muster_job_gpu_info gauge\n'
  for job in "$state"/*.job; do
    [ -e "$job" ] || continue
    { read -r id; read -r user; read -r partition; read -r gpus; } <"$job" || true
    text+="muster_job_info{slurm_job_id=\"$id\",user=\"$user\",partition=\"$partition\"} 1"$'\n'
    for gpu in $gpus; do
      gpu_text+="muster_job_gpu_info{slurm_job_id=\"$id\",gpu=\"$gpu\"} 1"$'\n'
      of_gpu[$gpu]+="$id"$'\n'
    done
  done
  put "$textfiles" jobs.prom "$text$gpu_text"
  for gpu in "${!of_gpu[@]}"; do
    put "$gpu_jobs" "$gpu" "${of_gpu[$gpu]}"
    wanted+="$gpu "
  done
  for file in "$gpu_jobs"/*; do
    case $wanted in *" ${file##*/} "*) ;; *) rm -f "$file" ;; esac
  done
}

main() {
  local id=${SLURM_JOB_ID:-} gpu gpus=''
  case $id in '' | *[!0-9]*) say "no SLURM_JOB_ID"; return ;; esac
  mkdir -p "$state" "$textfiles" "$gpu_jobs" || { say "can't make its folders"; return; }
  exec 9>"$state/.lock"
  flock -w 20 9 || { say 'another job has held the lock for 20 s'; return; }
  case ${1:-} in
    start)
      for gpu in $(expand "${SLURM_JOB_GPUS:-}"); do gpus+="$(nvml_index "$gpu") "; done
      put "$state" "$id.job" "$(printf '%s\n' "$id" "$(label "${SLURM_JOB_USER:-}")" "$(label "${SLURM_JOB_PARTITION:-}")" "$gpus")" || return
      ;;
    end) rm -f "$state/$id.job" ;;
    *) say 'start or end'; return ;;
  esac
  write_all
}

main "$@"
exit 0
