"""Operators of custom resources as they run in a cluster: the main programs of their Go modules, on the cluster of the tests."""
import base64
import json
import pathlib
import subprocess
import urllib.error

import yaml

from cluster import free_ports


def folder_of(module):
    answer = subprocess.run(['go', 'mod', 'download', '-json', module], check=True, capture_output=True, text=True).stdout
    return pathlib.Path(json.loads(answer)['Dir'])


def jobset(cluster, programs):
    """JobSet's controller with its webhooks, which the API server asks before each JobSet and each pod."""
    home = cluster.state / 'jobset-controller'
    certificates = home / 'k8s-webhook-server/serving-certs'
    certificates.mkdir(parents=True)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=127.0.0.1', '-days', '2',
                    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', str(certificates / 'tls.key'),
                    '-out', str(certificates / 'tls.crt')], check=True, capture_output=True)
    webhooks, health = free_ports(2)
    (home / 'config.yaml').write_text(yaml.safe_dump({
        'apiVersion': 'config.jobset.x-k8s.io/v1alpha1', 'kind': 'Configuration',
        'leaderElection': {'leaderElect': False}, 'internalCertManagement': {'enable': False},
        'webhook': {'host': '127.0.0.1', 'port': webhooks}, 'metrics': {'bindAddress': '0'},
        'health': {'healthProbeBindAddress': '127.0.0.1:%d' % health}}))
    cluster.launch(programs / 'jobset', '--config=%s' % (home / 'config.yaml'), '--kubeconfig=%s' % cluster.kubeconfig,
                   env=dict(cluster.environment(), TMPDIR=str(home)))
    # The module's own configuration, with the address of this process in the place of a Service.
    authority = base64.b64encode((certificates / 'tls.crt').read_bytes()).decode()
    manifests = list(yaml.safe_load_all((folder_of('sigs.k8s.io/jobset@v0.8.0') / 'config/components/webhook/manifests.yaml').read_text()))
    for manifest in manifests:
        manifest['metadata']['name'] = 'jobset-' + manifest['metadata']['name']
        for hook in manifest['webhooks']:
            path = hook['clientConfig']['service']['path']
            hook['clientConfig'] = {'url': 'https://127.0.0.1:%d%s' % (webhooks, path), 'caBundle': authority}

    def ready():
        try:
            return cluster.get('http://127.0.0.1:%d/readyz' % health) == 200
        except (OSError, urllib.error.HTTPError):
            return False

    cluster.wait_for(ready, 120, 'the controller of JobSet')
    cluster.kubectl('create', '-f', '-', stdin=yaml.safe_dump_all(manifests))
