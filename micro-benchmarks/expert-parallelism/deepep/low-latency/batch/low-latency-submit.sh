#!/bin/bash
# Rendered from case.yaml by `muster render --all`: change that, not this.
# Registers the case's job definitions and submits their jobs, each to start when the one before it has
# succeeded; prints their numbers.
set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
queue=${MUSTER_JOB_QUEUE:?names the job queue: export it}
: "${REGISTRY:?is part of the name of the image: export it}"

register() {
  local text
  text=$(<"$here/$1")
  text=${text//'${REGISTRY}'/"$REGISTRY"}
  aws batch register-job-definition --cli-input-json "$text" --query jobDefinitionArn --output text
}

definition=$(register low-latency.json)
job=$(aws batch submit-job --job-name=muster-deepep-low-latency --job-queue="$queue" \
  --job-definition="$definition" --node-overrides=numNodes=4 --query jobId --output text)
echo "$job"
