"""suite.py PROGRAMS STATE MUSTER: what a real API server of a current version says of what Muster renders, submits and shows.
Exit 3 when something is not as it should be."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import yaml

import crds
from cluster import Cluster
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


# ---- every committed object

def dry_run(cluster, paths):
    """The server's answers: how many objects it takes, and its refusals."""
    words = [w for path in paths for w in ('-f', str(path))]
    return cluster.kubectl('apply', '--dry-run=server', '--validate=strict', *words, check=False)


def catalog():
    """All YAML files below the folders of cases."""
    return sorted(p for folder in ('test_cases', 'micro-benchmarks') for p in (ROOT / folder).rglob('*.yaml'))


def committed(cluster, ours):
    counts, unvalidated = Counter(), Counter()
    for target in ('kubernetes', 'hyperpod-eks'):
        paths = [p for p in catalog() if p.parent.name == target]
        asked = Counter(d['kind'] for path in paths for d in documents(path))
        answer = dry_run(cluster, paths)
        taken = answer.stdout.count('(server dry run)')
        expect(answer.returncode == 0 and taken == sum(asked.values()),
               'the server takes all %d objects of %s, it took %d' % (sum(asked.values()), target, taken), answer.stderr)
        counts.update(asked)
        # Where the kind's schema is ours, the pods in it are still Kubernetes' own.
        for path in paths:
            for document in documents(path):
                if document['kind'] in ours:
                    unvalidated[document['kind']] += 1
                    for part in document['spec'].get('replicaSpecs', []):
                        pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': document['metadata']['name'], 'namespace': 'default'},
                               'spec': part['template']['spec']}
                        answer = cluster.kubectl('apply', '--dry-run=server', '--validate=strict', '-f', '-', stdin=json.dumps(pod), check=False)
                        expect(answer.returncode == 0, 'the server takes the pod in %s' % path, answer.stderr)
    # A judge that takes any key judges nothing.
    seen = set()
    for path in catalog():
        if path.parent.name not in ('kubernetes', 'hyperpod-eks'):
            continue
        for document in documents(path):
            if document['kind'] in seen:
                continue
            seen.add(document['kind'])
            document['spec']['noSuchKey'] = 1
            answer = cluster.kubectl('apply', '--dry-run=server', '--validate=strict', '-f', '-', stdin=json.dumps(document), check=False)
            expect(answer.returncode != 0 and 'noSuchKey' in answer.stderr, 'a %s with an unknown key is refused' % document['kind'],
                   answer.stdout + answer.stderr)
    print('%d objects of %d kinds taken by the server (strict): %s' % (
        sum(counts.values()), len(counts), ', '.join('%s %d' % i for i in sorted(counts.items()))))
    print('not validated by the vendor\'s schema, ours stands in: %s' % (dict(unvalidated) or 'none'))


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


def nothing_left(cluster, namespace, what):
    left = cluster.kubectl('get', 'jobs,services,pods', '-n', namespace, '-l', 'app.kubernetes.io/instance', '-o', 'name').stdout.split()
    expect(not left, '%s leaves nothing in the cluster' % what, left)


def scheduling(cluster, muster, instances):
    """A rendered GPU case gets all of its nodes; with one node too many, one pod waits and its reason is shown."""
    name = 'training/pytorch/nvrx/llama3_1-8b'
    rendered = yaml.safe_load(muster.run('show', 'case', name)[1])
    nodes, instance = rendered['topology']['nodes'], instances[rendered['topology']['instance_type']]
    for i in range(nodes):
        make_node(cluster, 'gpu-%d' % i, instance)
    for mount in rendered.get('storage', {}).get('mounts', []):
        make_claim(cluster, mount['claim'], 'default')
    main = next(p for p in sorted((ROOT / 'test_cases' / name / 'kubernetes').glob('*.yaml'))
                if any(d['kind'] == 'Job' and d['spec'].get('completionMode') == 'Indexed' for d in documents(p)))
    cluster.kubectl('create', '-f', str(main))

    def placed():
        pods = json.loads(cluster.kubectl('get', 'pods', '-o', 'json').stdout)['items']
        return [p['spec'].get('nodeName') for p in pods]

    wait_until(lambda: len(placed()) == nodes and all(placed()), 180, 'all %d pods of %s are scheduled' % (nodes, main.name))
    where = placed()
    expect(len(set(where)) == nodes, 'each pod of %s has a node of its own' % main.name, where)
    cluster.kubectl('delete', '--cascade=foreground', '--wait=false', '-f', str(main))
    # No kubelet ends them.
    for pod in cluster.kubectl('get', 'pods', '-o', 'name').stdout.split():
        cluster.kubectl('delete', pod, '--force', '--grace-period=0', check=False)
    wait_until(lambda: not placed(), 120, 'the pods are gone')

    process = muster.start('run', name, '--target', 'kubernetes', '--set', 'topology.nodes=%d' % (nodes + 1), '--set', 'steps=null',
                           '--start-timeout', '30', '-o', 'json')
    words = wait_until(lambda: process.poll() is None and muster.runs.exists() and
                       re.search('Insufficient nvidia.com/gpu', muster.run('status')[1]) and muster.run('status')[1], 120,
                       'muster status shows why a pod waits')
    print('muster status: %s' % (words or '').strip())
    deleter = subprocess.Popen(['sh', '-c', 'while kill -0 %d 2>/dev/null; do for p in $(kubectl get pods -o name --field-selector '
                                'spec.nodeName!= 2>/dev/null); do kubectl get $p -o jsonpath="{.metadata.deletionTimestamp}" | grep -q . && '
                                'kubectl delete $p --force --grace-period=0; done; sleep 1; done' % process.pid],
                               env=cluster.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out, err = process.communicate(timeout=180)
    deleter.wait(30)
    document = json.loads(out) if out else {}
    evidence = check(document, 'completed')['evidence'] if document else err
    expect(process.returncode == 3 and 'Insufficient nvidia.com/gpu' in evidence and 'pod ' in evidence,
           'a pod that no node takes fails the run by name', evidence)
    nothing_left(cluster, 'default', 'a start that failed')
    print('start timeout: %s' % evidence[:300])
    cluster.kubectl('delete', 'nodes', '--all')


def runs_end_to_end(cluster, muster, instances, state):
    """Runs of a case of two pods with two processes each, which the kubelet of the tests runs on this machine."""
    fake = FAKES / 'foreign/case.yaml'
    environment = dict(os.environ, PATH='%s:%s:/usr/bin:/bin' % (state / 'bin', FAKES / 'foreign/venv/bin'), PWD=str(ROOT))
    (state / 'bin').mkdir()
    (state / 'bin/getent').symlink_to(FAKES / 'fake/getent')
    cluster.kubectl('create', 'namespace', 'ml')
    arguments = ('run', str(fake), '--profile', 'kubernetes', '--target', 'kubernetes', '-o', 'json')
    with Kubelet(cluster, 'cpu-', environment, state) as kubelet:
        for i in range(2):
            make_node(cluster, 'cpu-%d' % i, instances['m5.large'] if 'm5.large' in instances else
                      {'name': 'test', 'cpu': {'vcpus': 8}, 'memory': '32 GiB'}, kubelet.port)
        code, out, err = muster.run(*arguments)
        document = json.loads(out) if out else {'verdict': {'checks': []}}
        expect(code == 0, 'a run of two pods passes', out + err)
        for name in ('completed', 'ranks-joined', 'loss-fell', 'transport'):
            expect(check(document, name)['outcome'] == 'pass', 'its check %s passes' % name, check(document, name))
        print('a run on the cluster: exit %d; %s' % (code, check(document, 'ranks-joined')['evidence']))
        nothing_left(cluster, 'ml', 'a run that passed')

        kubelet.environment['FAKE_FAULT'] = '3:exit-7'
        code, out, err = muster.run(*arguments)
        evidence = check(json.loads(out), 'completed')['evidence'] if out else err
        expect(code == 3 and 'exit code 7' in evidence and 'rank 3' in evidence, 'a rank that fails fails the run, by name', evidence)
        nothing_left(cluster, 'ml', 'a run that failed')
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
            nothing_left(cluster, 'ml', 'a run ended by ' + how)
        expect(not kubelet.errors, 'the API server takes what the kubelet says', kubelet.errors[:3])


def main():
    programs, state, muster = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), str(pathlib.Path(sys.argv[3]).resolve())
    instances = {i['name']: i for i in yaml.safe_load((ROOT / 'facts/instances.yaml').read_text())['instances']}
    began = time.monotonic()
    with Cluster(programs, state) as cluster:
        print('API server %s, up in %.1f s' % (
            json.loads(cluster.kubectl('version', '-o', 'json').stdout)['serverVersion']['gitVersion'], time.monotonic() - began))
        ours = crds.load(cluster, ROOT)
        committed(cluster, ours)
        program = Muster(muster, cluster, state)
        scheduling(cluster, program, instances)
        runs_end_to_end(cluster, program, instances, state)
    print('%d expectations failed' % len(failures))
    sys.exit(3 if failures else 0)


main()
