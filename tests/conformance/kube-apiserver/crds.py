"""The custom resources of the operators, from their Go modules at exact versions; of vendors without a public schema, ours."""
import json
import pathlib
import subprocess

import yaml

MODULES = {
    'github.com/kubeflow/training-operator@v1.8.1': 'manifests/base/crds/kubeflow.org_pytorchjobs.yaml',
    'github.com/kubeflow/mpi-operator@v0.6.0': 'manifests/base/kubeflow.org_mpijobs.yaml',
    'github.com/kubeflow/trainer/v2@v2.0.0': 'manifests/base/crds/trainer.kubeflow.org_*.yaml',
    'github.com/ray-project/kuberay/ray-operator@v1.5.0': 'config/crd/bases/ray.io_*.yaml',
    'sigs.k8s.io/jobset@v0.8.0': 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml',
    'sigs.k8s.io/lws@v0.6.0': 'config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
}
# Not validated by the vendor's schema: nobody publishes one.
REDUCED = ('hyperpod', 'dynamo')


def from_modules():
    """Paths of the files; the Go module proxy is asked for what is not in the cache."""
    for module, pattern in MODULES.items():
        answer = subprocess.run(['go', 'mod', 'download', '-json', module], check=True, capture_output=True, text=True).stdout
        folder = pathlib.Path(json.loads(answer)['Dir'])
        files = sorted(folder.glob(pattern))
        if not files:
            raise SystemExit('%s has no %s' % (module, pattern))
        yield from files


def schema_of(types, word):
    """A type of facts/kubernetes as a structural schema."""
    word = word.rstrip('!')
    if word.startswith('['):
        return {'type': 'array', 'items': schema_of(types, word[1:-1])}
    if word.startswith('{'):
        return {'type': 'object', 'additionalProperties': schema_of(types, word[1:-1])}
    if word in ('string', 'integer', 'number', 'boolean'):
        return {'type': word}
    if word in types:
        fields = types[word]
        schema = {'type': 'object', 'properties': {k: schema_of(types, v) for k, v in fields.items() if isinstance(v, str)}}
        required = [k for k, v in fields.items() if isinstance(v, str) and v.endswith('!')]
        return dict(schema, required=required) if required else schema
    # Kubernetes' own types, judged as pods of their own, and what may be anything.
    return {'x-kubernetes-preserve-unknown-fields': True}


def reduced(root):
    """CustomResourceDefinitions of the reduced schemas."""
    for name in REDUCED:
        facts = json.loads((root / 'facts/kubernetes' / (name + '.json')).read_text())
        for key, kind in facts['objects'].items():
            api, _ = key.split(' ')
            group, version = api.split('/')
            spec = schema_of(facts['types'], facts['types'][kind]['spec'])
            schema = {'type': 'object', 'properties': {'spec': spec, 'status': {
                'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}, 'required': ['spec']}
            plural = kind.lower() + 's'
            yield {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
                   'metadata': {'name': '%s.%s' % (plural, group)},
                   'spec': {'group': group, 'scope': 'Namespaced',
                            'names': {'plural': plural, 'singular': kind.lower(), 'kind': kind},
                            'versions': [{'name': version, 'served': True, 'storage': True, 'subresources': {'status': {}},
                                          'schema': {'openAPIV3Schema': schema}}]}}


def load(cluster, root):
    """Applies all; returns the kinds that only our own schema judges."""
    files = [w for path in from_modules() for w in ('-f', str(path))]
    # A server-side apply: the descriptions do not fit the annotation of a client's.
    cluster.kubectl('apply', '--server-side', *files)
    ours = list(reduced(root))
    cluster.kubectl('apply', '--server-side', '-f', '-', stdin=yaml.safe_dump_all(ours))
    cluster.kubectl('wait', '--for=condition=Established', '--timeout=240s', 'crd', '--all')
    return {crd['spec']['names']['kind'] for crd in ours}
