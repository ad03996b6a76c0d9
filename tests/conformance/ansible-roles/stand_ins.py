"""stand_ins.py FOLDER ROOT SYSTEM RELEASE VARS…: what the roles take from vendors, made here: packages of the versions that the rendered
variables name, in signed repositories; archives; git repositories with the tags. They install files by the vendors' names and nothing
that works. FOLDER is served over HTTP; ROOT is the system's root, into which the git repositories go (below /srv/git)."""

import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import yaml

served, root, system, release = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
values = {}
for path in sys.argv[5:]:
    values.update(yaml.safe_load(open(path)))
home = served.parent / 'gnupg'
home.mkdir(mode=0o700)
environment = dict(os.environ, GNUPGHOME=str(home), LC_ALL='C.UTF-8')


def run(*words, **options):
    return subprocess.run([str(w) for w in words], check=True, env=environment, stdout=subprocess.PIPE, text=True, **options).stdout


run('gpg', '--batch', '--quiet', '--passphrase', '', '--quick-generate-key', 'stand-in', 'rsa2048', 'sign', '1d')
key = run('gpg', '--batch', '--armor', '--export')


def package(folder, name, version, files=()):
    """A package of nothing but a few files."""
    tree = served.parent / 'tree'
    run('rm', '-rf', tree)
    (tree / 'DEBIAN').mkdir(parents=True)
    (tree / 'DEBIAN/control').write_text('Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: nobody <nobody@example.com>\n'
                                         'Description: stand-in\n' % (name, version))
    for file in ('usr/share/doc/%s/stand-in' % name, *files):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text('stand-in of %s %s\n' % (name, version))
    folder.mkdir(parents=True, exist_ok=True)
    run('dpkg-deb', '--build', '--root-owner-group', tree, folder / ('%s_%s_amd64.deb' % (name, version.replace(':', '+'))))


def pinned(folder, name, version, files=()):
    """That version and a newer one, which a role that does not pin would take."""
    package(folder, name, version, files)
    if version != '1':
        package(folder, name, '999:9-1')


def sign(folder, top):
    """The index of the packages below `top`, as folder/Packages, signed as folder's release."""
    (folder / 'Packages').write_text(run('apt-ftparchive', 'packages', os.path.relpath(folder, top), cwd=top))


def release_file(folder):
    (folder / 'Release').write_text(run('apt-ftparchive', 'release', '.', cwd=folder))
    run('gpg', '--batch', '--yes', '--clearsign', '--output', folder / 'InRelease', folder / 'Release')
    (folder / 'Release').unlink()


def flat(path, key_name, packages):
    folder = served / path
    for one in packages:
        pinned(folder, *one)
    sign(folder, folder)
    release_file(folder)
    key_file = folder / key_name
    key_file.parent.mkdir(parents=True, exist_ok=True)
    key_file.write_text(key)


def suited(path, key_name, packages):
    """A repository with dists/RELEASE/main."""
    top = served / path
    for one in packages:
        pinned(top / 'pool', *one)
    binary = top / 'dists' / release / 'main/binary-amd64'
    binary.mkdir(parents=True)
    (binary / 'Packages').write_text(run('apt-ftparchive', 'packages', 'pool', cwd=top))
    release_file(top / 'dists' / release)
    (top / key_name).write_text(key)


dcgm = '1:%s-1' % values['dcgm_version']
driver = values['nvidia_driver_version'] + '-1ubuntu1'
cuda = values['cuda_version']
flat('nvidia/%s/x86_64' % system, '3bf863cc.pub', [
    ('nvidia-open', driver), ('nvidia-fabricmanager', driver), ('nvidia-persistenced', driver),
    ('cuda-toolkit-' + '-'.join(cuda.split('.')[:2]), cuda + '-1', ['usr/local/cuda/include/cuda.h']),
    ('datacenter-gpu-manager-4-core', dcgm), ('datacenter-gpu-manager-4-proprietary', dcgm),
    ('datacenter-gpu-manager-4-cuda' + cuda.split('.')[0], dcgm),
    ('datacenter-gpu-manager-exporter', values['dcgm_exporter_version'] + '-1')])
toolkit = values['nvidia_container_toolkit_version'] + '-1'
flat('toolkit/stable/deb/amd64', '../../../gpgkey', [
    (name, toolkit) for name in ('nvidia-container-toolkit', 'nvidia-container-toolkit-base', 'libnvidia-container-tools', 'libnvidia-container1')])
suited('fsx', 'key.asc', [('lustre-client-modules-aws', '1')])
suited('neuron', 'GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB', [
    ('aws-neuronx-dkms', values['neuron_driver_version']), ('aws-neuronx-runtime-lib', values['neuron_runtime_version'] + '-a1b2c3d4'),
    ('aws-neuronx-collectives', values['neuron_collectives_version'] + '-a1b2c3d4'), ('aws-neuronx-tools', values['neuron_tools_version'])])
for name in ('enroot', 'enroot+caps'):
    folder = served / 'enroot' / ('v' + values['enroot_version'])
    package(folder, name, values['enroot_version'] + '-1', ['etc/enroot/environ.d/stand-in'] if name == 'enroot' else [])


def archive(name, files):
    """A .tar.gz or .zip with scripts in it."""
    folder = served / 'archives'
    folder.mkdir(exist_ok=True)
    tree = served.parent / 'archive'
    run('rm', '-rf', tree)
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
        (tree / path).chmod(0o755)
    if name.endswith('.zip'):
        with zipfile.ZipFile(folder / name, 'w') as out:
            for path in files:
                info = zipfile.ZipInfo(path)
                info.external_attr = 0o755 << 16
                out.writestr(info, files[path])
    else:
        with tarfile.open(folder / name, 'w:gz') as out:
            for path in sorted(tree.iterdir()):
                out.add(path, path.name)


archive('aws.zip', {'aws/install': '#!/bin/sh\nd=/usr/local/aws-cli/v2/%s/bin; mkdir -p $d; echo stand-in >$d/aws; ln -sfn $d/aws /usr/local/bin/aws\n'
                    % values['aws_cli_version']})
archive('efa.tar.gz', {'aws-efa-installer/efa_installer.sh':
                       '#!/bin/sh\nmkdir -p /opt/amazon/ofi-nccl/lib\necho stand-in >/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so\n'
                       'printf "# EFA installer version: %s\\n# options: $*\\n" >/opt/amazon/efa_installed_packages\n' % values['efa_version']})
archive('node_exporter.tar.gz', {'node_exporter-x/node_exporter': '#!/bin/sh\necho stand-in\n'})


def repository(name, tag, makefile):
    tree = root / 'srv/git' / name
    tree.mkdir(parents=True)
    (tree / 'Makefile').write_text(makefile)
    for words in (['init', '-q'], ['add', 'Makefile'], ['-c', 'user.name=stand-in', '-c', 'user.email=nobody@example.com', 'commit', '-qm', tag],
                  ['tag', tag]):
        run('git', '-C', tree, *words)
    (tree / 'Makefile').write_text('all lib lib_install driver driver_install src.build install:\n\tfalse # this is not the tag\n')
    run('git', '-C', tree, '-c', 'user.name=stand-in', '-c', 'user.email=nobody@example.com', 'commit', '-qam', 'newer')


repository('gdrcopy', values['gdrcopy_tag'],
           'lib driver:\n\t@echo built\nlib_install:\n\tmkdir -p $(prefix)/lib && echo stand-in >$(prefix)/lib/libgdrapi.so.2\ndriver_install:\n\t@echo built\n')
repository('nccl', values['nccl_tag'],
           'src.build:\n\tmkdir -p $(BUILDDIR)/lib && echo "$(NVCC_GENCODE)" >$(BUILDDIR)/lib/gencode\n')
repository('nccl-tests', values['nccl_tests_tag'],
           'all:\n\ttest -e $(NCCL_HOME)/lib/gencode\n\tmkdir -p $(BUILDDIR) && echo "$(MPI) $(NVCC_GENCODE)" >$(BUILDDIR)/all_reduce_perf\n')
repository('pyxis', values['pyxis_tag'],
           'install:\n\techo "#include <slurm/spank.h>" | $(CC) $(CPPFLAGS) -E - >/dev/null\n\tmkdir -p $(prefix)/lib/slurm && echo stand-in >$(prefix)/lib/slurm/spank_pyxis.so\n')

# The agent that signed would stay otherwise.
run('gpgconf', '--kill', 'gpg-agent')
