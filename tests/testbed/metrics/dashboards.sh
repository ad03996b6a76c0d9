#!/bin/bash
# A real Prometheus with the rendered configuration and rules scrapes exporters that have every metric: each endpoint once, and
# every query of every dashboard has data. Then muster top shows the cluster from it, and in a terminal.
#
#   dashboards.sh MUSTER SOURCE
set -euo pipefail
muster=$1 source=$2
here=$(cd "$(dirname "$0")" && pwd)
for program in prometheus python3 curl tmux; do
  command -v $program >/dev/null || { echo "needs $program"; exit 77; }
done
work=$(mktemp -d)
pids=()
cleanup() {
  tmux -L "muster$$" kill-server 2>/dev/null || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
# An address of its own, on which the exporters' ports are free.
address=127.$((50 + $$ / 65536 % 100)).$(($$ / 256 % 256)).$(($$ % 254 + 1))
server=http://$address:9090

until_true() { # SECONDS COMMAND…: polls
  local limit=$((SECONDS + $1))
  shift
  until "$@"; do
    if [ $SECONDS -ge $limit ]; then return 1; fi
    sleep 0.3
  done
}

python3 "$here/exporters.py" "$muster" "$source" "$address" >exporters.log 2>&1 &
pids+=($!)
until_true 60 grep -q serving exporters.log || { cat exporters.log; exit 1; }

"$muster" --project "$source" dashboards render --out . -q >/dev/null
"$muster" --project "$source" render metrics --target slurm --cluster c1 --nodes "$address=p5.4xlarge" --servers "$address=p5.4xlarge" --out . -q >/dev/null
# All goes faster than in life.
sed -i -e 's/_interval: 15s/_interval: 1s/g; s/scrape_timeout: 10s/scrape_timeout: 1s/' prometheus.yaml
sed -i 's/^    for: .*/    for: 1s/' rules/alerts.yaml
prometheus --config.file=prometheus.yaml --storage.tsdb.path=data --web.listen-address="$address:9090" --log.level=warn >prometheus.log 2>&1 &
pids+=($!)
until_true 60 curl -sf "$server/-/ready" -o ready || { cat prometheus.log; exit 1; }

python3 "$here/queries.py" "$server" dashboards/*.json || { tail -n 20 prometheus.log; exit 1; }
# Every endpoint by one job only.
curl -sf "$server/api/v1/targets?state=active" >targets.json
python3 - <<'P'
import json
targets = json.load(open('targets.json'))['data']['activeTargets']
urls = [target['scrapeUrl'] for target in targets]
assert len(urls) == 3 and len(set(urls)) == 3, urls
assert all(target['health'] == 'up' and target['labels']['cluster'] == 'c1' for target in targets), targets
P

"$muster" top --prometheus "$server" --once --interval 1s >top.txt
for words in "$address" 'JOBS (1)' 'ada' 'LINKS (1)' 'rdmap0s6'; do
  grep -qF "$words" top.txt || { echo "top does not show: $words"; cat top.txt; exit 1; }
done

# In a terminal: keys, and the terminal as it was afterwards, also when a signal ends it.
screen() { tmux -L "muster$$" capture-pane -p -t top; }
shows() { screen | grep -qF "$1"; }
expect() { until_true 60 shows "$1" || { echo "the screen does not show: $1"; screen; exit 1; }; }
tmux -L "muster$$" -f /dev/null new-session -d -s top -x 110 -y 14 \
  "sh -c 'stty -g >before; \"$muster\" top --prometheus $server --interval 300ms; echo quit \$? >>codes; stty -g >after; \"$muster\" top --prometheus $server; echo term \$? >>codes; stty -g >last; sleep 600'"
expect 'NODES (1)'
expect 'by name'
tmux -L "muster$$" send-keys -t top s
expect 'busiest first'
shows 'LINKS' && { echo 'more lines than the screen has'; screen; exit 1; }
tmux -L "muster$$" send-keys -t top Left
expect 'LINKS (1)'
shows 'NODES' && { echo 'more than the part that was asked for'; screen; exit 1; }
[ "$(screen | wc -l)" -le 14 ]
tmux -L "muster$$" resize-window -t top -x 40 -y 10
expect 'LINKS (1)'
tmux -L "muster$$" send-keys -t top q
until_true 60 test -s after || { echo 'q does not end it'; exit 1; }
cmp before after || { echo 'the terminal is not as it was'; exit 1; }
expect 'NODES (1)'
top=$(pgrep -P "$(tmux -L "muster$$" list-panes -t top -F '#{pane_pid}')" -f -- "top --prometheus $server\$" | head -n 1)
kill -TERM "$top"
until_true 60 test -s last || { echo 'SIGTERM does not end it'; exit 1; }
cmp before last || { echo 'the terminal is not as it was after a signal'; exit 1; }
printf 'quit 0\nterm 130\n' | cmp - codes || { cat codes; exit 1; }
echo 'top: keys, sizes, end'
