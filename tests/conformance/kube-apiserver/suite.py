"""suite.py PROGRAMS STATE MUSTER: what a real API server of a current version says of what Muster renders, submits and shows.
Exit 3 when something is not as it should be."""
import json
import pathlib
import re
import subprocess
import sys
import time
from collections import Counter

import yaml

import crds
from cluster import Cluster
from running import ROOT, Muster, check, documents, expect, failures, make_claim, make_node, nothing_left, runs_end_to_end, wait_until

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
