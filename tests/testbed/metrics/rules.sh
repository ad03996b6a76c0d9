#!/bin/bash
# promtool takes the rules and every scrape configuration, and plays each alert's fault: the alert fires, and no other one does.
#
#   rules.sh MUSTER SOURCE
set -euo pipefail
muster=$1 source=$2
command -v promtool >/dev/null || { echo 'needs promtool (Debian: prometheus)'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$muster" --project "$source" dashboards render --tests --out . -q >/dev/null
promtool check rules rules/*.yaml
timeout 400 promtool test rules tests/alerts.yaml

# The tests can fail: an alert that never fires, and one that fires on what is healthy.
broken() { # SED
  mkdir -p broken/tests broken/rules
  cp rules/instances.yaml broken/rules
  sed "$1" rules/alerts.yaml >broken/rules/alerts.yaml
  cmp -s rules/alerts.yaml broken/rules/alerts.yaml && { echo "nothing to break: $1"; exit 1; }
  # The first two tests: what is healthy, and one fault.
  awk '/^- name: /{n++} n < 3' tests/alerts.yaml >broken/tests/alerts.yaml
  if timeout 400 promtool test rules broken/tests/alerts.yaml >broken/log 2>&1; then
    echo "a broken rule passed: $1"
    exit 1
  fi
}
broken 's/(up) == 0/(up) == 7/'
broken 's/(muster_textfile_error) > 0/(muster_textfile_error) >= 0/'

count=0
for target in slurm hyperpod-slurm eks hyperpod-eks; do
  for collector in prometheus amp; do
    for with in '' '--with dcgm-exporter --with serving --servers s1=g5.8xlarge'; do
      # shellcheck disable=SC2086 # several words
      "$muster" --project "$source" render metrics --target $target --collector $collector --cluster c1 --region us-west-2 --workspace ws-1 \
        $with --nodes 'n[1-2]=p5.48xlarge' --controller head --out config -q >/dev/null
      cp -r rules config/
      # Debian's Prometheus has no discovery in Kubernetes: its promtool judges the rest.
      sed -i 's/kubernetes_sd_configs: .*/static_configs: [{targets: []}]/' "config/$collector.yaml"
      promtool check config "config/$collector.yaml" >log 2>&1 || { cat log; exit 1; }
      "$muster" --project "$source" dashboards check "config/$collector.yaml" >log 2>&1 || { cat log; exit 1; }
      count=$((count + 1))
    done
  done
done
# Without hosts EC2 is asked.
"$muster" --project "$source" render metrics --cluster c1 --region us-west-2 --out config -q >/dev/null
promtool check config config/prometheus.yaml
echo "$count scrape configurations taken"
