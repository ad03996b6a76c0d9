#!/bin/bash
# Makes a small repository of samples with numbered directories, as the guide to `muster reorg` uses it: make-repository.sh DIR
set -euo pipefail
mkdir "$1"
cd "$1"
git init -q -b main
git config user.name Reader
git config user.email reader@example.org
mkdir -p 0.docs 1.architectures/5.pod 3.test_cases/pytorch/{fsdp,vllm} .github/workflows
echo png >0.docs/overview.png
cat >README.md <<'TEXT'
# Samples

![overview](0.docs/overview.png) Start with [a pod](1.architectures/5.pod/README.md), then run `3.test_cases/pytorch/fsdp/train.sh`.
The [old guide](0.docs/guide.md) is gone.
TEXT
cat >1.architectures/5.pod/README.md <<'TEXT'
# A pod

```
git clone https://github.com/acme/samples.git
cd samples/1.architectures/5.pod
bash create.sh
```
TEXT
echo 'echo created' >1.architectures/5.pod/create.sh
cat >3.test_cases/pytorch/fsdp/train.sh <<'TEXT'
#!/bin/bash
HERE="$(cd "$(dirname "$0")" && pwd)"
bash "$HERE/../../../1.architectures/5.pod/create.sh"
TEXT
echo '[the pod](../../../1.architectures/5.pod/)' >3.test_cases/pytorch/vllm/README.md
cat >.github/workflows/test.yml <<'TEXT'
on:
  push:
    paths: ['3.test_cases/pytorch/**']
TEXT
git add .
git commit -qm 'Add samples'
git tag v1.0
git checkout -q -b tutorial
mkdir 3.test_cases/pytorch/trl
echo '[the pod](../../../1.architectures/5.pod/)' >3.test_cases/pytorch/trl/README.md
git add .
git commit -qm 'Begin a tutorial'
git checkout -q main
