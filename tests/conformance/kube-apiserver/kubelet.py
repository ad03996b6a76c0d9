"""What a kubelet would do for the nodes of the tests: runs the command of each pod's container as a process of this machine, tells
the API server how it goes, and serves its log. No images, no isolation, no probes."""
import datetime
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import threading
import urllib.error


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


def expand(text, env):
    """$(NAME) and $$ as a kubelet reads them."""
    return re.sub(r'\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)',
                  lambda found: '$' if found[0] == '$$' else env.get(found[1], found[0]), text)


class Kubelet:
    def __init__(self, cluster, node_prefix, environment, folder):
        self.cluster, self.prefix, self.environment = cluster, node_prefix, environment
        self.logs = pathlib.Path(folder) / 'pod-logs'
        self.logs.mkdir()
        self.pods = {}  # uid -> Popen
        self.codes = {}
        self.stopping = threading.Event()
        self.errors = []
        certificate = pathlib.Path(folder) / 'kubelet.pem'
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=kubelet', '-days', '2',
                        '-keyout', str(certificate), '-out', str(certificate) + '.crt'], check=True, capture_output=True)
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), self.handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(certificate) + '.crt', str(certificate))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.server, self.port = server, server.server_address[1]

    def handler(self):
        logs = self.logs

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                # /containerLogs/NAMESPACE/POD/CONTAINER?timestamps=true
                parts = self.path.split('?')[0].split('/')
                path = logs / '-'.join(parts[2:5])
                body = path.read_bytes() if path.exists() else b''
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join(30)
        self.server.shutdown()
        for process in self.pods.values():
            self.end(process, signal.SIGKILL)

    @staticmethod
    def end(process, sent):
        try:
            os.killpg(process.pid, sent)
        except ProcessLookupError:
            pass

    def loop(self):
        while not self.stopping.wait(0.3):
            try:
                pods = json.load(self.cluster.request('GET', '/api/v1/pods'))['items']
                for pod in pods:
                    if pod['spec'].get('nodeName', '').startswith(self.prefix):
                        self.look_after(pod)
            except urllib.error.HTTPError as error:
                if error.code not in (404, 409):  # it was deleted, or changed, in between
                    self.errors.append('%s: %s' % (error, error.read()[:300]))
            except OSError as error:
                self.errors.append(str(error))

    def look_after(self, pod):
        uid = pod['metadata']['uid']
        if pod['metadata'].get('deletionTimestamp'):
            if uid in self.pods:
                self.end(self.pods[uid], signal.SIGTERM)
                try:
                    self.pods[uid].wait(5)
                except subprocess.TimeoutExpired:
                    self.end(self.pods[uid], signal.SIGKILL)
            path = '/api/v1/namespaces/%s/pods/%s' % (pod['metadata']['namespace'], pod['metadata']['name'])
            self.cluster.request('DELETE', path, b'{"gracePeriodSeconds":0}')
        elif uid not in self.pods and pod['status'].get('phase') == 'Pending':
            self.pods[uid] = self.start(pod)
            self.tell(pod, 'Running', {'running': {'startedAt': now()}})
        elif uid in self.pods and pod['status'].get('phase') == 'Running':
            code = self.pods[uid].poll()
            if code is None:
                return
            code = code if code >= 0 else 128 - code
            self.tell(pod, 'Failed' if code else 'Succeeded', {'terminated': {
                'exitCode': code, 'reason': 'Error' if code else 'Completed', 'startedAt': now(), 'finishedAt': now()}})

    def start(self, pod):
        container = pod['spec']['containers'][0]
        env = dict(self.environment, HOSTNAME=pod['spec'].get('hostname', pod['metadata']['name']))
        for variable in container.get('env', []):
            source = variable.get('valueFrom', {}).get('fieldRef', {}).get('fieldPath', '')
            if source.startswith("metadata.annotations['"):
                env[variable['name']] = pod['metadata']['annotations'][source.split("'")[1]]
            elif source.startswith("metadata.labels['"):
                env[variable['name']] = pod['metadata']['labels'][source.split("'")[1]]
            else:
                env[variable['name']] = expand(variable.get('value', ''), env)
        env.pop('MUSTER_RUN_ID', None)  # or muster would take it for a process of its own machine
        log = self.logs / ('%s-%s-%s' % (pod['metadata']['namespace'], pod['metadata']['name'], container['name']))
        # As a container runtime writes it: a time before each line.
        stamp = subprocess.Popen(
            ['python3', '-uc', 'import sys, datetime\nfor line in sys.stdin:\n    print(datetime.datetime.now(datetime.timezone.utc)'
             '.strftime("%Y-%m-%dT%H:%M:%S.%f000Z"), line, end="", flush=True)'],
            stdin=subprocess.PIPE, stdout=open(log, 'ab'))
        process = subprocess.Popen([expand(w, env) for w in container['command']], env=env, stdin=subprocess.DEVNULL,
                                   stdout=stamp.stdin, stderr=stamp.stdin, start_new_session=True)
        stamp.stdin.close()
        return process

    def tell(self, pod, phase, state):
        container = pod['spec']['containers'][0]
        ready = phase == 'Running'
        status = {'phase': phase, 'hostIP': '127.0.0.1', 'podIP': '127.0.0.1', 'startTime': now(),
                  'conditions': [{'type': t, 'status': 'True' if ready or t == 'PodScheduled' else 'False', 'lastTransitionTime': now()}
                                 for t in ('PodScheduled', 'Initialized', 'ContainersReady', 'Ready')],
                  'containerStatuses': [{'name': container['name'], 'image': container['image'], 'imageID': '', 'ready': ready,
                                         'restartCount': 0, 'state': state}]}
        path = '/api/v1/namespaces/%s/pods/%s/status' % (pod['metadata']['namespace'], pod['metadata']['name'])
        self.cluster.request('PATCH', path, json.dumps({'status': status}).encode(), 'application/merge-patch+json')
