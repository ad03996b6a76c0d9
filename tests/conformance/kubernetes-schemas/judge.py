"""judge.py FOLDER…: every object in the folders' YAML files against its vendor's schema. Exit 3 when one is refused."""
import copy
import importlib.util
import json
import pathlib
import subprocess
import sys
from collections import Counter

import jsonschema
import kubernetes_validate
import yaml

RELEASE = '1.36'
CRDS = {
    'kubeflow.org/v1 PyTorchJob': ('github.com/kubeflow/training-operator@v1.8.1', 'manifests/base/crds/kubeflow.org_pytorchjobs.yaml'),
    'kubeflow.org/v2beta1 MPIJob': ('github.com/kubeflow/mpi-operator@v0.6.0', 'manifests/base/kubeflow.org_mpijobs.yaml'),
    'trainer.kubeflow.org/v1alpha1 TrainJob': ('github.com/kubeflow/trainer/v2@v2.0.0', 'manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml'),
    'trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime': ('github.com/kubeflow/trainer/v2@v2.0.0', 'manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml'),
    'ray.io/v1 RayCluster': ('github.com/ray-project/kuberay/ray-operator@v1.5.0', 'config/crd/bases/ray.io_rayclusters.yaml'),
    'ray.io/v1 RayJob': ('github.com/ray-project/kuberay/ray-operator@v1.5.0', 'config/crd/bases/ray.io_rayjobs.yaml'),
    'ray.io/v1 RayService': ('github.com/ray-project/kuberay/ray-operator@v1.5.0', 'config/crd/bases/ray.io_rayservices.yaml'),
    'jobset.x-k8s.io/v1alpha2 JobSet': ('sigs.k8s.io/jobset@v0.8.0', 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml'),
    'leaderworkerset.x-k8s.io/v1 LeaderWorkerSet': ('sigs.k8s.io/lws@v0.6.0', 'config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml'),
}
MODELS = {
    'sagemaker.amazonaws.com/v1 HyperPodPyTorchJob': ('training/config/hyperpod_pytorch_job_unified_config.py', '_HyperPodPytorchJob'),
    'inference.sagemaker.aws.amazon.com/v1 InferenceEndpointConfig': ('inference/config/hp_endpoint_config.py', '_HPEndpoint'),
}
CORE = {'v1', 'apps/v1', 'batch/v1', 'autoscaling/v2'}


def strict(schema):
    """A structural schema as the API server applies it to `fieldValidation=Strict`: no key that it does not name."""
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: strict(v) for k, v in schema.items() if k not in ('format', 'description')}
    if 'properties' in schema and isinstance(schema['properties'], dict) and not schema.get('x-kubernetes-preserve-unknown-fields'):
        out.setdefault('additionalProperties', False)
    if schema.get('x-kubernetes-int-or-string'):
        out.pop('type', None)
    return out


class Crds:
    def __init__(self):
        self.known = {}

    def check(self, key, node):
        if key not in self.known:
            module, path = CRDS[key]
            answer = subprocess.run(['go', 'mod', 'download', '-json', module], check=True, capture_output=True, text=True).stdout
            crd = yaml.safe_load((pathlib.Path(json.loads(answer)['Dir']) / path).read_text())
            version = key.split(' ')[0].split('/')[-1]
            schema = next(v for v in crd['spec']['versions'] if v['name'] == version)['schema']['openAPIV3Schema']
            self.known[key] = jsonschema.Draft202012Validator(strict(schema['properties']['spec']))
        errors = ['spec.%s: %s' % ('.'.join(map(str, e.absolute_path)), e.message[:300]) for e in self.known[key].iter_errors(node['spec'])]
        if errors:
            raise ValueError('; '.join(errors[:3]))


def model_of(key):
    path, name = MODELS[key]
    root = pathlib.Path(importlib.util.find_spec('sagemaker.hyperpod').submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location(name, root / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def check_model(key, node):
    """The models take their own names for keys, and look no further than those at the top."""
    model = model_of(key)
    unknown = set(node['spec']) - set(model.model_fields)
    if unknown:
        raise ValueError('unknown keys of spec: %s' % ', '.join(sorted(unknown)))
    spec = copy.deepcopy(node['spec'])
    # A pod is Kubernetes' own, and judged as such: the models confuse the terms of the three affinities.
    for replicas in spec.get('replicaSpecs', []):
        pod = {'apiVersion': 'v1', 'kind': 'Pod', **replicas.pop('template')}
        kubernetes_validate.validate(pod, RELEASE, strict=True)
    model.model_validate(spec, by_name=True, by_alias=False)


def judge(node, crds):
    key = '%s %s' % (node['apiVersion'], node['kind'])
    if node['apiVersion'] in CORE:
        kubernetes_validate.validate(node, RELEASE, strict=True)
    elif key in CRDS:
        crds.check(key, node)
    elif key in MODELS:
        check_model(key, node)
    else:
        return False
    return True


def main():
    judged, unjudged, refused, crds = Counter(), Counter(), [], Crds()
    sound = {}
    for folder in sys.argv[1:]:
        for path in sorted(pathlib.Path(folder).rglob('*.yaml')):
            text = path.read_text()
            if 'apiVersion: muster/' in text or '\nkind:' not in text:
                continue
            for node in yaml.safe_load_all(text):
                if not node:
                    continue
                try:
                    counter = judged if judge(node, crds) else unjudged
                    counter[node['kind']] += 1
                    sound.setdefault(node['kind'], node)
                except Exception as error:  # whatever a judge raises is its refusal
                    refused.append('%s: %s %s: %s' % (path, node['kind'], node['metadata']['name'], str(error)[:600]))
    # A judge that lets a key pass that nobody knows judges nothing.
    for kind, node in sound.items():
        if kind not in judged:
            continue
        wrong = copy.deepcopy(node)
        wrong['spec']['noSuchKey'] = 1
        try:
            judge(wrong, crds)
            refused.append('the judge of %s takes any key' % kind)
        except Exception:
            pass
    for line in refused:
        print(line)
    print('not judged by their vendor\'s schema: %s' % (dict(unjudged) or 'none'))
    print('%d objects of %d kinds judged, %d refused' % (sum(judged.values()), len(judged), len(refused)))
    if refused:
        sys.exit(3)
    if not judged:
        sys.exit(4)


main()
