#!/usr/bin/env python3
"""Exporters that have every metric there is: of the program's own list and of facts/exporters.yaml, each with all its labels.

  exporters.py MUSTER SOURCE ADDRESS

Serves each exporter at its own port of ADDRESS until it is ended. Counters rise from scrape to scrape.
"""
import http.server
import json
import subprocess
import sys
import threading
import time

import yaml

muster, source, address = sys.argv[1:]
START = time.time()
# One value for a label, or several; what is not here has the label's name.
VALUES = {
    'gpu': ['0'], 'node': [address], 'status': ['idle'], 'hpc_job': ['42'], 'outcome': ['ok', 'reset', 'pass', 'fail'], 'check': ['gpu'], 'device': ['rdmap0s6'], 'port': ['1'],
    'slurm_job_id': ['42'], 'user': ['ada'], 'partition': ['gpu'], 'xid': ['79'], 'mode': ['idle', 'user'],
    'fstype': ['ext4'], 'mountpoint': ['/'], 'case': ['training/native/llama', 'micro-benchmarks/nccl-tests'], 'le': ['0.5', '5', '+Inf'],
    'size_bytes': ['1024'], 'state': ['idle', 'mixed'], 'Hostname': ['n1'], 'hostname': ['n1'], 'collector': ['efa', 'gpu'],
}
FIXED = {'muster_collector_success': 0, 'DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH': 16, 'node_boot_time_seconds': START - 1000}


def series(name, kind, labels):
    """Every combination of the labels' values."""
    rows = [{}]
    for label in labels:
        rows = [{**row, label: value} for row in rows for value in VALUES.get(label, [label])]
    rise = (time.time() - START) * 100
    for row in rows:
        text = ','.join(f'{key}="{value}"' for key, value in row.items())
        value = FIXED.get(name, 1)
        if kind == 'counter':
            value = rise * (1 if row.get('le') != '0.5' else 0.5)
        yield f'{name}{{{text}}} {value}\n'


def exposition(metrics):
    text = ''
    for name, kind, labels in metrics:
        if kind == 'histogram':
            for suffix, more in (('_bucket', ['le']), ('_sum', []), ('_count', [])):
                text += ''.join(series(name + suffix, 'counter', labels + more))
        else:
            text += f'# TYPE {name} {kind}\n' + ''.join(series(name, kind, labels))
    return text


def serve(port, metrics):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            body = exposition(metrics).encode()
            self.send_response(200)
            self.send_header('Content-Type', 'text/plain; version=0.0.4')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((address, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


own = json.loads(subprocess.run([muster, '--project', source, 'list', 'metrics', '-o', 'json'], check=True, capture_output=True, timeout=60).stdout)
metrics_of = {'muster-exporter': [(m['name'], m['type'], m['labels']) for m in own['items'] if not m['name'].endswith('*')]}
facts = yaml.safe_load(open(f'{source}/facts/exporters.yaml'))
ports = {}
for exporter in facts['exporters']:
    rows = [(m['name'], m.get('type', 'gauge'), exporter.get('labels', []) + m.get('labels', [])) for m in exporter.get('metrics', [])]
    name = exporter['name']
    if name == 'nccl-inspector':
        name = 'node-exporter'  # its files are read by node_exporter
    elif name in ('prometheus', 'dcgm-exporter'):
        continue  # Prometheus makes its own; the GPUs are muster-exporter's here
    metrics_of.setdefault(name, []).extend(rows)
    if 'port' in exporter:
        ports[name] = exporter['port']
for name, port in ports.items():
    serve(port, metrics_of[name])
print('serving', flush=True)
while True:
    time.sleep(60)
