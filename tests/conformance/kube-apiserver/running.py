"""Runs of muster on the cluster of the tests: nodes, the program, and whole runs from their start to a verdict."""
import json
import os
import pathlib
import signal
import subprocess
import time

import yaml

from kubelet import Kubelet

ROOT = pathlib.Path(__file__).resolve().parents[3]
FAKES = ROOT / 'tests/launch'
failures = []


def expect(condition, what, detail=''):
    if not condition:
        failures.append(what)
        print('FAIL: %s%s' % (what, '\n  ' + str(detail)[:2000] if detail else ''))


def documents(path):
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


# ---- nodes

def make_node(cluster, name, instance, port=0):
    """A node as the device plugins of the instance type would leave it, ready at once."""
    labels = {'kubernetes.io/hostname': name, 'node.kubernetes.io/instance-type': instance['name']}
    cluster.kubectl('create', '-f', '-', stdin=json.dumps({'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': name, 'labels': labels}}))
    capacity = {'cpu': str(instance['cpu']['vcpus']), 'memory': instance['memory'].replace(' GiB', 'Gi'), 'pods': '110',
                'hugepages-2Mi': '64Gi'}
    if instance.get('accelerators', {}).get('kind') == 'gpu':
        capacity['nvidia.com/gpu'] = str(instance['accelerators']['count'])
    if instance.get('network', {}).get('efa'):
        capacity['vpc.amazonaws.com/efa'] = str(instance['network']['efa']['count'])
    status = {'capacity': capacity, 'allocatable': capacity, 'addresses': [{'type': 'InternalIP', 'address': '127.0.0.1'}],
              'conditions': [{'type': 'Ready', 'status': 'True', 'reason': 'Test', 'lastTransitionTime': '2026-01-01T00:00:00Z'}],
              'daemonEndpoints': {'kubeletEndpoint': {'Port': port}}}
    cluster.request('PATCH', '/api/v1/nodes/%s/status' % name, json.dumps({'status': status}).encode(), 'application/merge-patch+json')
    cluster.request('PATCH', '/api/v1/nodes/' + name, b'{"spec":{"taints":null}}', 'application/merge-patch+json')


def make_claim(cluster, name, namespace):
    volume = {'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': '%s-%s' % (namespace, name)},
              'spec': {'capacity': {'storage': '1Gi'}, 'accessModes': ['ReadWriteMany'], 'hostPath': {'path': '/tmp'},
                       'storageClassName': '', 'claimRef': {'name': name, 'namespace': namespace}}}
    claim = {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': name, 'namespace': namespace},
             'spec': {'accessModes': ['ReadWriteMany'], 'storageClassName': '', 'volumeName': '%s-%s' % (namespace, name),
                      'resources': {'requests': {'storage': '1Gi'}}}}
    cluster.kubectl('create', '-f', '-', stdin=yaml.safe_dump_all([volume, claim]))


# ---- muster

class Muster:
    def __init__(self, program, cluster, state):
        self.program, self.runs = program, state / 'runs'
        self.environment = dict(cluster.environment(), MUSTER_PROJECT=str(ROOT), MUSTER_RUNS_DIR=str(self.runs),
                                HOME=str(state), REGISTRY='registry.example')

    def start(self, *words):
        return subprocess.Popen([self.program, *words], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words, limit=180):
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        return process.returncode, out, err

    def last(self):
        return json.loads(self.run('status', '-o', 'json')[1])['run']


def wait_until(condition, limit, what):
    until = time.monotonic() + limit
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.3)
    expect(False, what)
    return None


def check(document, name):
    return next((c for c in document['verdict']['checks'] if c['name'] == name), {'outcome': 'absent', 'evidence': ''})


def nothing_left(cluster, namespace, what, kinds='jobs,services,pods'):
    left = cluster.kubectl('get', kinds, '-n', namespace, '-l', 'app.kubernetes.io/instance', '-o', 'name').stdout.split()
    expect(not left, '%s leaves nothing in the cluster' % what, left)


def runs_end_to_end(cluster, muster, instances, state, kind='IndexedJob', kinds='jobs,services,pods'):
    """Runs of a case of two pods with two processes each, which the kubelet of the tests runs on this machine. `kind` is the object
    that the case becomes, `kinds` are the resources of which nothing may be left."""
    fake = FAKES / 'foreign/case.yaml'
    environment = dict(os.environ, PATH='%s:%s:/usr/bin:/bin' % (state / 'bin', FAKES / 'foreign/venv/bin'), PWD=str(ROOT))
    (state / 'bin').mkdir()
    (state / 'bin/getent').symlink_to(FAKES / 'fake/getent')
    cluster.kubectl('create', 'namespace', 'ml')
    arguments = ('run', str(fake), '--profile', 'kubernetes', '--target', 'kubernetes', '--set', 'targets.kubernetes.object=' + kind,
                 '-o', 'json')
    with Kubelet(cluster, 'cpu-', environment, state) as kubelet:
        for i in range(2):
            make_node(cluster, 'cpu-%d' % i, instances['m5.large'] if 'm5.large' in instances else
                      {'name': 'test', 'cpu': {'vcpus': 8}, 'memory': '32 GiB'}, kubelet.port)
        code, out, err = muster.run(*arguments)
        document = json.loads(out) if out else {'verdict': {'checks': []}}
        expect(code == 0, 'a run of two pods passes', out + err)
        for name in ('completed', 'ranks-joined', 'loss-fell', 'transport'):
            expect(check(document, name)['outcome'] == 'pass', 'its check %s passes' % name, check(document, name))
        print('a run of a %s on the cluster: exit %d; %s' % (kind, code, check(document, 'ranks-joined')['evidence']))
        nothing_left(cluster, 'ml', 'a run that passed', kinds)

        kubelet.environment['FAKE_FAULT'] = '3:exit-7'
        code, out, err = muster.run(*arguments)
        evidence = check(json.loads(out), 'completed')['evidence'] if out else err
        expect(code == 3 and 'exit code 7' in evidence and 'rank 3' in evidence, 'a rank that fails fails the run, by name', evidence)
        nothing_left(cluster, 'ml', 'a run that failed', kinds)
        kubelet.environment.pop('FAKE_FAULT')

        kubelet.environment['FAKE_STEPS_APART'] = '5'
        for how, wanted in (('cancel', 4), ('interrupt', 130)):
            process = muster.start(*arguments)
            wait_until(lambda: process.poll() is not None or (muster.last()['state'] == 'running' and
                                                              'Loss' in muster.run('logs', '--rank', '0')[1]), 120,
                       'muster logs shows the log of a pod that runs')
            status = muster.last()
            job = status.get('kubernetes', {})
            expect(job.get('state') == 'active' and len(job.get('pods', [])) == 2, 'muster status sees two pods', status)
            if how == 'cancel':
                expect(muster.run('cancel', 'last')[0] == 0, 'muster cancel from another process ends the run')
            else:
                process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
            expect(process.returncode == wanted, 'a run that is ended by %s exits with %d, not %s' % (how, wanted, process.returncode))
            nothing_left(cluster, 'ml', 'a run ended by ' + how, kinds)
        expect(not kubelet.errors, 'the API server takes what the kubelet says', kubelet.errors[:3])
