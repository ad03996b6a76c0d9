"""A control plane on free loopback ports: etcd, kube-apiserver, the controller manager and the scheduler. No kubelet."""
import os
import pathlib
import secrets
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, programs, state):
        self.programs, self.state = pathlib.Path(programs), pathlib.Path(state)
        self.token = secrets.token_hex(16)
        self.processes = []
        self.kubeconfig = self.state / 'kubeconfig'

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def launch(self, program, *options, env=None):
        name = pathlib.Path(program).name
        with open(self.state / (name + '.log'), 'wb') as log:
            self.processes.append(subprocess.Popen([str(program), *options], stdout=log, stderr=log, cwd=self.state, env=env))

    def start(self):
        client, peer, api, manager, scheduler = free_ports(5)
        self.server = 'https://127.0.0.1:%d' % api
        key = self.state / 'sa.key'
        subprocess.run(['openssl', 'genrsa', '-out', str(key), '2048'], check=True, capture_output=True)
        (self.state / 'tokens').write_text('%s,admin,admin,"system:masters"\n' % self.token)
        self.kubeconfig.write_text(
            'apiVersion: v1\nkind: Config\n'
            'clusters: [{name: test, cluster: {server: "%s", insecure-skip-tls-verify: true}}]\n'
            'users: [{name: admin, user: {token: %s}}]\n'
            'contexts: [{name: test, context: {cluster: test, user: admin}}]\ncurrent-context: test\n' % (self.server, self.token))
        self.launch('/usr/bin/etcd', '--data-dir=%s' % (self.state / 'etcd'), '--listen-client-urls=http://127.0.0.1:%d' % client,
                    '--advertise-client-urls=http://127.0.0.1:%d' % client, '--listen-peer-urls=http://127.0.0.1:%d' % peer,
                    '--initial-advertise-peer-urls=http://127.0.0.1:%d' % peer,
                    '--initial-cluster=default=http://127.0.0.1:%d' % peer)
        self.launch(self.programs / 'kube-apiserver', '--etcd-servers=http://127.0.0.1:%d' % client, '--bind-address=127.0.0.1',
                    '--advertise-address=127.0.0.1', '--secure-port=%d' % api, '--cert-dir=%s' % (self.state / 'certs'),
                    '--token-auth-file=tokens', '--authorization-mode=RBAC', '--service-cluster-ip-range=10.96.0.0/16',
                    '--service-account-issuer=https://kubernetes.default', '--service-account-key-file=%s' % key,
                    '--service-account-signing-key-file=%s' % key, '--allow-privileged')
        self.wait_for(self.ready, 180, 'the API server')
        self.launch(self.programs / 'kube-controller-manager', '--kubeconfig=%s' % self.kubeconfig,
                    '--service-account-private-key-file=%s' % key, '--use-service-account-credentials=false',
                    '--leader-elect=false', '--bind-address=127.0.0.1', '--secure-port=%d' % manager,
                    '--cert-dir=%s' % (self.state / 'manager'),
                    # Nodes without a kubelet send no signs of life.
                    '--controllers=*,-node-lifecycle-controller')
        self.launch(self.programs / 'kube-scheduler', '--kubeconfig=%s' % self.kubeconfig, '--leader-elect=false',
                    '--bind-address=127.0.0.1', '--secure-port=%d' % scheduler, '--cert-dir=%s' % (self.state / 'scheduler'))
        # Pods are refused until their namespace has its account.
        self.wait_for(lambda: self.kubectl('get', 'serviceaccount', 'default', check=False).returncode == 0, 180,
                      'the controller manager')

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
        shutil.rmtree(self.state / 'etcd', ignore_errors=True)

    def wait_for(self, condition, limit, what):
        until = time.monotonic() + limit
        while not condition():
            for process in self.processes:
                if process.poll() is not None:
                    raise SystemExit('%s ended with %d: see %s' % (process.args[0], process.returncode, self.state))
            if time.monotonic() >= until:
                raise SystemExit('%s did not come within %d s: see %s' % (what, limit, self.state))
            time.sleep(0.1)

    def ready(self):
        try:
            return self.request('GET', '/readyz').status == 200
        except OSError:
            return False

    def request(self, method, path, body=None, kind='application/json'):
        request = urllib.request.Request(self.server + path, method=method, data=body,
                                         headers={'Authorization': 'Bearer ' + self.token, 'Content-Type': kind})
        return urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context())

    @staticmethod
    def get(url):
        """The status that a server beside the cluster answers with."""
        return urllib.request.urlopen(url, timeout=10).status

    def environment(self):
        return dict(os.environ, KUBECONFIG=str(self.kubeconfig))

    def kubectl(self, *words, stdin=None, check=True):
        result = subprocess.run(['kubectl', *words], input=stdin, capture_output=True, text=True, env=self.environment(), timeout=300)
        if check and result.returncode != 0:
            raise SystemExit('kubectl %s: %s' % (' '.join(words)[:200], result.stderr[:4000]))
        return result
