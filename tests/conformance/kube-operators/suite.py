"""suite.py PROGRAMS STATE RENDERED MUSTER: what the operators' own validation says of the objects that Muster renders (those beside the
cases, and those of every kind in the folder RENDERED), each as a real API server gives it back with the defaults of its resource
definition; and of objects made to be refused (tests/lint/operators), which that server takes. Then runs of JobSets to their verdicts, by JobSet's own controller. Exit 3 when something is not as it
should be."""
import json
import pathlib
import subprocess
import sys
from collections import Counter

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'kube-apiserver'))
import crds  # noqa: E402
import operators  # noqa: E402
from cluster import Cluster  # noqa: E402
from running import ROOT, Muster, documents, expect, failures, runs_end_to_end  # noqa: E402

BROKEN = ROOT / 'tests/lint/operators'
# The kinds that muster renders and whose operators' code is public.
KINDS = {'PyTorchJob', 'MPIJob', 'JobSet', 'LeaderWorkerSet', 'TrainJob', 'ClusterTrainingRuntime', 'RayCluster', 'RayJob', 'RayService'}

class Judge:
    def __init__(self, cluster, program):
        self.cluster, self.program, self.namespaces = cluster, program, {'default'}

    def taken(self, paths):
        """The objects of the files as the server would keep them, and what it refuses."""
        for space in {d['metadata'].get('namespace', 'default') for path in paths for d in documents(path)} - self.namespaces:
            self.cluster.kubectl('create', 'namespace', space)
            self.namespaces.add(space)
        words = [w for path in paths for w in ('-f', str(path))]
        answer = self.cluster.kubectl('create', '--dry-run=server', '--validate=strict', '-o', 'json', *words, check=False)
        objects, decoder, at = [], json.JSONDecoder(), 0
        while at < len(answer.stdout.rstrip()):
            one, at = decoder.raw_decode(answer.stdout, at)
            objects += one['items'] if one['kind'] == 'List' else [one]
            while at < len(answer.stdout) and answer.stdout[at].isspace():
                at += 1
        return objects, answer.stderr

    def judged(self, objects):
        """The verdict of each object's operator, in order."""
        given = json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': objects})
        result = subprocess.run([str(self.program)], input=given, capture_output=True, text=True, timeout=120)
        if result.returncode != 0:
            raise SystemExit('validate: %s' % result.stderr[-2000:])
        verdicts = [json.loads(line) for line in result.stdout.splitlines()]
        if len(verdicts) != len(objects):
            raise SystemExit('validate judged %d of %d objects' % (len(verdicts), len(objects)))
        return verdicts


def ours(judge, rendered):
    """Every object of ours is taken by the server, and by its operator."""
    paths = [p for folder in ('test_cases', 'micro-benchmarks') for p in sorted((ROOT / folder).rglob('*.yaml')) if p.parent.name in ('kubernetes', 'hyperpod-eks')]
    paths += sorted(rendered.glob('*.yaml'))
    objects, refused = judge.taken(paths)
    asked = sum(len(documents(path)) for path in paths)
    expect(len(objects) == asked, 'the server takes %d of %d objects' % (len(objects), asked), refused)
    looked_at, others = Counter(), Counter()
    for verdict in judge.judged(objects):
        (looked_at if verdict.get('judge') else others)[verdict['kind']] += 1
        expect(not verdict['errors'], 'the operator takes %s %s' % (verdict['kind'], verdict['name']), verdict['errors'])
    for kind in sorted(KINDS | set(looked_at)):
        expect(looked_at[kind] > 0, 'an object of ours of the kind %s was looked at' % kind)
    print('taken by their operators: %s' % ', '.join('%s %d' % i for i in sorted(looked_at.items())))
    print('of kinds without an operator of public code, the server alone judged: %s' % ', '.join('%s %d' % i for i in sorted(others.items())))
    return sum(looked_at.values())


def made_to_be_refused(judge):
    """Each is taken by the server, so that the operator's function is what refuses it, and in the words that it is known for."""
    counts, sound = Counter(), Counter()
    for path in sorted(BROKEN.glob('*.yaml')):
        objects, refused = judge.taken([path])
        wanted = {d['metadata']['name']: d['metadata'].get('annotations', {}).get('muster.test/operator') for d in documents(path)}
        expect(len(objects) == len(wanted), 'the resource definitions let all of %s pass' % path.name, refused)
        for verdict in judge.judged(objects):
            words, said = wanted.get(verdict['name']), ' '.join(verdict['errors'])
            if words is None:
                sound[verdict['kind']] += 1
                expect(verdict.get('judge') and not said, '%s of %s is sound' % (verdict['name'], path.name), said)
                continue
            counts[verdict['kind']] += 1
            expect(words in said, '%s %s is refused with "%s"' % (verdict['kind'], verdict['name'], words), said or 'taken')
    for kind in sorted(KINDS):
        expect(counts[kind] > 0, 'a %s that its operator refuses was tried' % kind)
    print('refused by their operators, taken by their resource definitions: %s' % ', '.join('%s %d' % i for i in sorted(counts.items())))
    print('sound beside these, and taken: %s' % ', '.join('%s %d' % i for i in sorted(sound.items())))
    return sum(counts.values())


def main():
    programs, state, rendered, muster = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
    instances = {i['name']: i for i in yaml.safe_load((ROOT / 'facts/instances.yaml').read_text())['instances']}
    with Cluster(programs, state) as cluster:
        crds.load(cluster, ROOT)
        judge = Judge(cluster, programs / 'validate')
        sound, broken = ours(judge, rendered), made_to_be_refused(judge)
        operators.jobset(cluster, programs)
        runs_end_to_end(cluster, Muster(str(muster), cluster, state), instances, state, 'JobSet', 'jobsets,jobs,services,pods')
    print('the operators\' own code: %d objects of ours taken, %d made to be refused; runs by JobSet\'s controller; %d expectations failed' % (
        sound, broken, len(failures)))
    sys.exit(3 if failures else 0)


main()
