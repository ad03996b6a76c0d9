#include "health/deploy.h"

#include <string_view>
#include <utility>

namespace muster::health {
namespace {

constexpr const char* kMade =
    "# Made by `muster render checks`; the same command with --check says whether it is in sync.\n";

/// @INSTANCE@ and its like, replaced.
std::string filled(std::string_view text, const DeployOptions& options) {
  const std::pair<std::string_view, std::string> values[] = {
      {"@MADE@\n", kMade},
      {"@INSTANCE@", options.instance},
      {"@GPUS@", std::to_string(options.accelerators)},
      {"@AT_MOST@", options.at_most},
      {"@IMAGE@", options.image},
  };
  std::string out(text);
  for (const auto& [name, value] : values) {
    for (std::size_t at = out.find(name); at != std::string::npos;
         at = out.find(name, at + value.size()))
      out.replace(at, name.size(), value);
  }
  return out;
}

constexpr const char* kProlog = R"(#!/bin/sh
# Prolog of slurmd: the quick checks before a job. Code 1 drains the node and puts the job back into the queue, so only a
# fault is one: what could not be verified, and a muster that is not there, are told in the node's log and let the job start.
@MADE@
# In slurm.conf: Prolog=/etc/slurm/prolog.d/*, PrologFlags=Alloc
out=$(muster check prolog --instance "${MUSTER_INSTANCE:-@INSTANCE@}" 2>&1)
code=$?
if [ "$code" -ne 0 ]; then
  printf '%s\n' "$out" | logger -t muster-prolog -p daemon.warning
fi
[ "$code" -ne 3 ]
)";

constexpr const char* kEpilog = R"(#!/bin/sh
# Epilog of slurmd: after a job that a signal ended (134, 137, 139) or that failed, what the GPUs and the kernel say. A fault
# drains the node through muster's own limit, so that a broken program does not empty the cluster.
@MADE@
# In slurm.conf: Epilog=/etc/slurm/epilog.d/*
case "${SLURM_JOB_EXIT_CODE2:-0:0}" in
  0:0 | 0) exit 0 ;;
esac
muster check gpu kernel-log --instance "${MUSTER_INSTANCE:-@INSTANCE@}" --window 1h \
  --plan slurm --node "$SLURMD_NODENAME" --act --at-most '@AT_MOST@' 2>&1 | logger -t muster-epilog
exit 0
)";

constexpr const char* kHealthCheck = R"(#!/bin/sh
# HealthCheckProgram of slurmd. A fault that stands in three of six runs drains the node, with the reason; three good runs in
# a row put it back, when muster had taken it out. slurmd ends it after 60 seconds.
@MADE@
mkdir -p /var/lib/muster
muster check prolog --instance "${MUSTER_INSTANCE:-@INSTANCE@}" --plan slurm --node "${SLURMD_NODENAME:-$(uname -n)}" \
  --history /var/lib/muster/health --features --act --at-most '@AT_MOST@' >/var/lib/muster/health.log 2>&1
exit 0
)";

constexpr const char* kConf = R"(# To be included by slurm.conf: include slurm-health.conf
@MADE@
Prolog=/etc/slurm/prolog.d/muster-prolog.sh
PrologFlags=Alloc
PrologEpilogTimeout=120
Epilog=/etc/slurm/epilog.d/muster-epilog.sh
HealthCheckProgram=/etc/slurm/muster-health-check.sh
HealthCheckInterval=300
HealthCheckNodeState=ANY,CYCLE
)";

constexpr const char* kSweep = R"(#!/bin/bash
# The lightweight suite on an idle node, one job for each:
#
#   $ for node in $(sinfo --noheader --Node --states=idle --format=%N | sort -u | head -n 10); do
#     $ sbatch --nodelist="$node" sweep.sbatch
#   $ done
@MADE@
#SBATCH --job-name=muster-sweep
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=muster-sweep-%N-%j.log
set -uo pipefail

# What it finds is the verdict of the job: 0 well, 3 a fault, 4 not verified. The node is drained by the job itself.
muster check lightweight --instance "${MUSTER_INSTANCE:-@INSTANCE@}" --plan slurm --node "$SLURMD_NODENAME" \
  --features --act --at-most '@AT_MOST@'
)";

constexpr const char* kIntensive = R"(#!/bin/bash
# The intensive suite on a node that is out of service: `dcgmi diag -r 4` and the speed of the local disk. Two hours and more.
#
#   $ scontrol create reservation ReservationName=repair Nodes=NODE Users=root StartTime=now Duration=5:00:00 Flags=maint
#   $ sbatch --reservation=repair --nodelist=NODE intensive.sbatch
@MADE@
#SBATCH --job-name=muster-intensive
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time=05:00:00
#SBATCH --output=muster-intensive-%N-%j.log
set -uo pipefail

# Prints what would be done to the node; nothing is.
muster check intensive --instance "${MUSTER_INSTANCE:-@INSTANCE@}" --scratch "${MUSTER_SCRATCH:-/tmp}" \
  --plan slurm --node "$SLURMD_NODENAME"
)";

constexpr const char* kPytorchSlurm = R"(#!/bin/bash
# What PyTorch says of itself on every rank, compared: sbatch --nodes=4 pytorch.sbatch
@MADE@
#SBATCH --job-name=muster-pytorch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:15:00
#SBATCH --output=muster-pytorch-%j.log
set -uo pipefail

: "${PROBE:=$SLURM_SUBMIT_DIR/probe.py}"
: "${PYTHON:=python3}"
records=$SLURM_SUBMIT_DIR/pytorch-$SLURM_JOB_ID.jsonl
srun --kill-on-bad-exit=0 "$PYTHON" "$PROBE" >"$records" || echo "some ranks failed; those that are missing are named below"
# 0 alike, 3 they differ, 4 some did not tell.
muster check pytorch --from "$records" ${MUSTER_EXPECT:+--expect "$MUSTER_EXPECT"}
)";

constexpr const char* kAgent =
    R"(# An agent on every node of one instance type: the quick checks every five minutes. It marks a node that is unwell (cordon,
# taint, label, annotation, condition), within a limit, and takes the marks away when the node was seen to be well again. On
# its own end it does nothing: a bad node stays marked through an update of this DaemonSet.
@MADE@
apiVersion: v1
kind: Namespace
metadata:
  name: muster-health
  labels:
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: muster-health
  namespace: muster-health
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: muster-health
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, list, patch]
  - apiGroups: [""]
    resources: [nodes/status]
    verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: muster-health
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: muster-health
subjects:
  - kind: ServiceAccount
    name: muster-health
    namespace: muster-health
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: muster-health
  namespace: muster-health
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: muster-health
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 25%
  template:
    metadata:
      labels:
        app.kubernetes.io/name: muster-health
    spec:
      serviceAccountName: muster-health
      priorityClassName: system-node-critical
      hostPID: true
      hostNetwork: true
      nodeSelector:
        node.kubernetes.io/instance-type: @INSTANCE@
      # Above all on nodes that are unwell.
      tolerations:
        - operator: Exists
      terminationGracePeriodSeconds: 30
      containers:
        - name: agent
          image: @IMAGE@
          command: [/bin/sh, -c]
          args:
            - |
              while :; do
                muster check prolog --instance @INSTANCE@ --plan kubernetes --node "$NODE_NAME" \
                  --history /var/lib/muster/health --act --at-most "$AT_MOST"
                sleep "$INTERVAL" & wait $!
              done
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            - name: AT_MOST
              value: "@AT_MOST@"
            - name: INTERVAL
              value: "300"
            # NVIDIA's runtime brings the driver's library into the container; no GPU is asked for.
            - name: NVIDIA_VISIBLE_DEVICES
              value: all
            - name: NVIDIA_DRIVER_CAPABILITIES
              value: utility
          securityContext:
            privileged: true
          resources:
            requests:
              cpu: 50m
              memory: 64Mi
            limits:
              cpu: "1"
              memory: 512Mi
          volumeMounts:
            - name: kmsg
              mountPath: /dev/kmsg
            - name: infiniband
              mountPath: /dev/infiniband
            - name: state
              mountPath: /var/lib/muster
      volumes:
        - name: kmsg
          hostPath:
            path: /dev/kmsg
        - name: infiniband
          hostPath:
            path: /dev/infiniband
            type: DirectoryOrCreate
        - name: state
          hostPath:
            path: /var/lib/muster
            type: DirectoryOrCreate
)";

constexpr const char* kSweepJob =
    R"(# The lightweight suite, with DCGM, on nodes without jobs: each pod asks for all GPUs of a node, so the scheduler gives it one
# that nobody uses, and no two on one. A node that is found unwell is marked as the agent does. Needs agent.yaml.
@MADE@
apiVersion: batch/v1
kind: CronJob
metadata:
  name: muster-sweep
  namespace: muster-health
spec:
  schedule: "0 */6 * * *"
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 600
  successfulJobsHistoryLimit: 4
  failedJobsHistoryLimit: 4
  jobTemplate:
    spec:
      # At most so many nodes in a sweep; those that find no node without jobs are given up at the deadline.
      parallelism: 10
      completions: 10
      backoffLimit: 0
      activeDeadlineSeconds: 1800
      ttlSecondsAfterFinished: 86400
      template:
        metadata:
          labels:
            app.kubernetes.io/name: muster-sweep
        spec:
          serviceAccountName: muster-health
          restartPolicy: Never
          nodeSelector:
            node.kubernetes.io/instance-type: @INSTANCE@
          tolerations:
            - key: nvidia.com/gpu
              operator: Exists
              effect: NoSchedule
          containers:
            - name: sweep
              image: @IMAGE@
              command: [/bin/sh, -c]
              args:
                - |
                  muster check lightweight --instance @INSTANCE@ --plan kubernetes --node "$NODE_NAME" --act --at-most "$AT_MOST"
                  code=$?
                  # A node that is marked is a sweep that did its work.
                  [ "$code" -eq 3 ] || exit "$code"
              env:
                - name: NODE_NAME
                  valueFrom:
                    fieldRef:
                      fieldPath: spec.nodeName
                - name: AT_MOST
                  value: "@AT_MOST@"
              securityContext:
                privileged: true
              resources:
                requests:
                  cpu: "2"
                  memory: 4Gi
                  nvidia.com/gpu: "@GPUS@"
                limits:
                  memory: 32Gi
                  nvidia.com/gpu: "@GPUS@"
              volumeMounts:
                - name: kmsg
                  mountPath: /dev/kmsg
                - name: infiniband
                  mountPath: /dev/infiniband
          volumes:
            - name: kmsg
              hostPath:
                path: /dev/kmsg
            - name: infiniband
              hostPath:
                path: /dev/infiniband
                type: DirectoryOrCreate
)";

constexpr const char* kPytorchJob =
    R"(# What PyTorch says of itself on every rank: a pod a rank prints one line. PYTORCH_IMAGE is the image to look at.
#
#   kubectl create configmap muster-pytorch-probe --from-file=probe.py
#   envsubst '$PYTORCH_IMAGE' < pytorch.yaml | kubectl apply -f -
#   kubectl wait --for=condition=complete --timeout=15m job/muster-pytorch
#   kubectl logs --selector job-name=muster-pytorch --tail=-1 | muster check pytorch --from -
@MADE@
apiVersion: batch/v1
kind: Job
metadata:
  name: muster-pytorch
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  backoffLimit: 0
  activeDeadlineSeconds: 900
  ttlSecondsAfterFinished: 86400
  template:
    metadata:
      labels:
        app.kubernetes.io/name: muster-pytorch
    spec:
      restartPolicy: Never
      nodeSelector:
        node.kubernetes.io/instance-type: @INSTANCE@
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: muster-pytorch
      tolerations:
        - key: nvidia.com/gpu
          operator: Exists
          effect: NoSchedule
      containers:
        - name: probe
          image: ${PYTORCH_IMAGE}
          command: [python3, /probe/probe.py]
          env:
            - name: WORLD_SIZE
              value: "2"
          resources:
            requests:
              cpu: "1"
              memory: 4Gi
              nvidia.com/gpu: "@GPUS@"
            limits:
              memory: 16Gi
              nvidia.com/gpu: "@GPUS@"
          volumeMounts:
            - name: probe
              mountPath: /probe
      volumes:
        - name: probe
          configMap:
            name: muster-pytorch-probe
)";

}  // namespace

const std::vector<std::string>& deploy_targets() {
  static const std::vector<std::string> kTargets = {"slurm", "kubernetes"};
  return kTargets;
}

std::vector<DeployedFile> deploy_slurm(const DeployOptions& options) {
  return {{"prolog.sh", filled(kProlog, options), true},
          {"epilog.sh", filled(kEpilog, options), true},
          {"health-check.sh", filled(kHealthCheck, options), true},
          {"slurm-health.conf", filled(kConf, options), false},
          {"sweep.sbatch", filled(kSweep, options), false},
          {"intensive.sbatch", filled(kIntensive, options), false},
          {"pytorch.sbatch", filled(kPytorchSlurm, options), false}};
}

std::vector<DeployedFile> deploy_kubernetes(const DeployOptions& options) {
  return {{"agent.yaml", filled(kAgent, options), false},
          {"sweep.yaml", filled(kSweepJob, options), false},
          {"pytorch.yaml", filled(kPytorchJob, options), false}};
}

}  // namespace muster::health
