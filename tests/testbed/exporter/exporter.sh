#!/bin/bash
# muster-exporter for real: Prometheus scrapes it, over TLS and with a password, promtool takes what it tells, and a file that
# hangs is named in Prometheus; and a thousand clients at once with slow ones among them.
#
#   exporter.sh Prometheus|Crowd|Slurm BIN_DIR NVML_STUB SOURCE_DIR
set -euo pipefail
case=$1 bin=$2 stub=$3 source=$4
for program in prometheus promtool openssl curl python3; do
  command -v "$program" >/dev/null || { echo "needs $program"; exit 77; }
done
work=$(mktemp -d)
pids=()
cleanup() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
missing=''  # what told() looked for last
fail() { echo "$* $missing"; tail -n 20 ./*.log; exit 1; }

# until_true WHAT COMMAND…: tries it for two minutes.
until_true() {
  local what=$1
  shift
  for _ in $(seq 240); do
    if "$@"; then return 0; fi
    sleep 0.5
  done
  fail "never came: $what"
}

# A host: 32 EFA devices with all counters of a current driver, two GPUs.
"$source/benchmarks/exporter_tree.sh" host 32
printf 'gpus = 2\ngpu.1.temperature = 91\n' >gpus
export MUSTER_NVML=$stub MUSTER_NVML_STUB=$work/gpus

# start NAME OPTIONS…: its port is in $port, its process in $pid.
start() {
  local name=$1
  shift
  "$bin/muster-exporter" --root "$work/host" --textfile "$work/prom" --no-collector.slurm --gpu.interval 1s --hostname node-1 \
    --web.listen-address 127.0.0.1:0 "$@" 2>"$name.log" &
  pid=$!
  pids+=("$pid")
  until_true "$name listens" grep -qs 'listens on' "$name.log"
  port=$(sed -n 's/.*:\([0-9]*\)\/metrics$/\1/p' "$name.log")
}

Prometheus() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.crt -days 2 \
    -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
  cp "$source/validation_and_observability/efa-node-exporter/web.yml" .
  mkdir prom
  "$bin/muster" --project "$source" check limits --root "$source/examples/health/host" --textfile "$work/prom/health.prom" >/dev/null || true
  start exporter --web.config.file web.yml --file-limit 500ms

  # promtool takes it: its lint dislikes names that are dcgm-exporter's and EFA's, and nothing else.
  curl -sS --fail --cacert server.crt -u 'prometheus:change me' "https://127.0.0.1:$port/metrics" >told.txt
  promtool check metrics <told.txt >lint 2>&1 || true
  if grep -vE '^(DCGM_|node_amazonefa_|.*(_total" suffix|should not be used as|"_total"|camelCase|base unit|abbreviated|no help text))' lint | grep .; then
    fail 'promtool found something else'
  fi
  ! grep -i 'error while linting' lint || fail 'promtool could not read it'

  # Without, or with another password: 401; over plain HTTP nothing.
  [ "$(curl -s -o /dev/null -w '%{http_code}' --cacert server.crt "https://127.0.0.1:$port/metrics")" = 401 ] || fail 'no password was asked for'
  [ "$(curl -s -o /dev/null -w '%{http_code}' --cacert server.crt -u prometheus:wrong "https://127.0.0.1:$port/metrics")" = 401 ] ||
    fail 'a wrong password was taken'
  [ "$(curl -s -o /dev/null -w '%{http_code}' --cacert server.crt "https://127.0.0.1:$port/health")" = 200 ] || fail 'health needs a password'
  ! curl -s -o /dev/null --max-time 20 "http://127.0.0.1:$port/metrics" || fail 'plain HTTP was answered'

  cat >prometheus.yml <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: muster
    scheme: https
    basic_auth: {username: prometheus, password: change me}
    tls_config: {ca_file: server.crt}
    static_configs: [{targets: ["127.0.0.1:$port"]}]
END
  sed -i 's/scrape_timeout: 1s/scrape_timeout: 10s/; s/scrape_interval: 1s/scrape_interval: 10s/' prometheus.yml
  promtool check config prometheus.yml >config.log || fail 'the configuration'
  local server
  server=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$server" >prometheus.log 2>&1 &
  pids+=("$!")
  # query EXPRESSION WANTED: the one value of the one series.
  # shellcheck disable=SC2317 # through until_true
  query() {
    [ "$(promtool query instant "http://127.0.0.1:$server" "$1" 2>/dev/null | sed -n 's/.*=> \([^ ]*\) @.*/\1/p')" = "$2" ]
  }
  until_true 'Prometheus scrapes' query 'up{job="muster"}' 1
  until_true '32 devices' query 'count(node_amazonefa_info)' 32
  until_true 'all counters of ports' query 'count({__name__=~"node_amazonefa_.+",port="1"})' $((32 * 22))
  until_true 'a GPU by either spelling of its host' query 'DCGM_FI_DEV_GPU_TEMP{Hostname="node-1",hostname="node-1",gpu="1"}' 91
  until_true 'outcomes of checks' query 'count(muster_health{outcome="ok"})' 1
  # A file hangs: it is named, the device's other counters stay.
  rm host/sys/class/infiniband/rdmap0s0/ports/1/hw_counters/tx_bytes
  mkfifo host/sys/class/infiniband/rdmap0s0/ports/1/hw_counters/tx_bytes
  until_true 'the file that hangs' query 'muster_collector_stuck{collector="efa",file=~".*/rdmap0s0/ports/1/hw_counters/tx_bytes"}' 1
  until_true 'that the collector says so' query 'muster_collector_success{collector="efa"}' 0
  until_true 'the counters beside it' query 'count(node_amazonefa_rx_bytes)' 32
  until_true 'the others of its name' query 'count(node_amazonefa_tx_bytes)' 31

  kill -TERM "$pid"
  code=0
  wait "$pid" || code=$?
  [ "$code" = 0 ] || fail "SIGTERM: exit $code"

  # Only clients with a certificate of the CA may ask.
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout other.key -out other.crt -days 2 -subj /CN=other 2>/dev/null
  cat >client.yml <<END
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: server.crt
END
  start client --web.config.file client.yml
  status() { curl -s -o /dev/null -w '%{http_code}' --cacert server.crt "$@" "https://127.0.0.1:$port/metrics" || true; }
  [ "$(status --cert server.crt --key server.key)" = 200 ] || fail 'the right certificate was refused'
  [ "$(status)" != 200 ] || fail 'no certificate was asked for'
  [ "$(status --cert other.crt --key other.key)" != 200 ] || fail 'another certificate was taken'
  kill -TERM "$pid"
  wait "$pid" || fail 'SIGTERM'
  echo 'scraped'
}

Crowd() {
  start exporter
  # Fifty that say nothing or a byte now and then, and a thousand that scrape at once.
  python3 - "$port" <<'END' || fail 'the crowd'
import selectors, socket, sys, time
port = int(sys.argv[1])
def connection(text):
    one = socket.create_connection(("127.0.0.1", port), 60)
    one.sendall(text)
    return one
slow = [connection(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "[: 5 + i]) for i in range(50)]
ask = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
picker, whole = selectors.DefaultSelector(), 0
for _ in range(1000):
    one = connection(ask)
    one.setblocking(False)
    picker.register(one, selectors.EVENT_READ, bytearray())
end = time.monotonic() + 240
while picker.get_map() and time.monotonic() < end:
    for key, _ in picker.select(1):
        try:
            part = key.fileobj.recv(1 << 20)
        except ConnectionResetError:
            part = b""
        if part:
            key.data.extend(part)
            continue
        head, _, body = bytes(key.data).partition(b"\r\n\r\n")
        whole += head.startswith(b"HTTP/1.1 200") and body.count(b"node_amazonefa_info{") == 32 and body.endswith(b"\n")
        picker.unregister(key.fileobj)
        key.fileobj.close()
    for one in slow:
        try:
            one.send(b"x")
        except OSError:
            pass
print(whole, "whole answers")
sys.exit(whole != 1000)
END
  curl -sS --fail --compressed "http://127.0.0.1:$port/metrics" >after
  grep -q 'muster_exporter_requests_total{code="200"} 1000' after || fail 'a thousand answers were not counted'
  [ "$(sed -n 's/^process_resident_memory_bytes \([0-9]*\)$/\1/p' after)" -lt $((128 << 20)) ] || fail 'too much memory'
  kill -TERM "$pid"
  code=0
  wait "$pid" || code=$?
  [ "$code" = 0 ] || fail "SIGTERM: exit $code"
  echo 'a thousand were served'
}

# A real cluster of four nodes: one drained, a job that runs, one that waits.
Slurm() {
  local cluster=$source/tests/testbed/slurm/cluster.sh
  "$cluster" check || exit $?
  export MUSTER_TESTBED=/run/muster-exporter-$$
  trap '"$source/tests/testbed/slurm/cluster.sh" down >/dev/null 2>&1; cleanup' EXIT
  "$cluster" up >up.log 2>&1 || fail 'no cluster'
  "$cluster" exec ctl scontrol update nodename=n3 state=drain reason=tried
  "$cluster" exec ctl sbatch -D /tmp -o /dev/null -N 1 --wrap 'sleep 600' >job.log
  "$cluster" exec ctl sbatch -D /tmp -o /dev/null -N 4 --wrap 'true' >>job.log
  # shellcheck disable=SC2317 # through until_true
  told() {
    missing='of version, scheduler or accounts'
    "$cluster" exec ctl "$bin/muster-exporter" --once --no-collector.efa --no-collector.gpu --no-collector.textfile >told.txt
    local line
    for line in 'slurm_nodes_total 4' 'slurm_nodes_drain 1' 'slurm_nodes_modifier{modifier="drain"} 1' 'slurm_jobs_total 2' 'slurm_jobs_running 1' \
      'slurm_jobs_pending 1' 'muster_collector_success{collector="slurm"} 1' 'muster_collector_unreadable{collector="slurm"} 0'; do
      grep -qxF "$line" told.txt || { missing=$line; return 1; }
    done
    grep -q '^slurm_scheduler_threads [1-9]' told.txt && grep -q '^slurm_info{version="[0-9]' told.txt &&
      grep -q '^slurm_account_jobs_running{account="' told.txt
  }
  until_true 'what Slurm tells' told
  awk '/^slurm_nodes_/ && !/_total|base_state|modifier/ { sum += $2 } /^slurm_nodes_base_state/ { base += $2 }
       END { exit !(sum == 4 && base == 4) }' told.txt || fail 'the states do not add up to the nodes'
  promtool check metrics <told.txt >lint 2>&1 || true
  ! grep -i 'error while linting' lint || fail 'promtool could not read it'
  "$cluster" down >/dev/null 2>&1
  echo 'four nodes and two jobs were told'
}

"$case"
