"""Measures checking of Kubernetes objects: Muster and kubeconform in turns, on the same files, with two threads each.

Called by benchmarks/kubernetes.sh. Prints a table to stdout and writes the whole result as JSON. The objects are those of the
catalog (test_cases/**/kubernetes, hyperpod-eks; several KB each) and, as many again, Deployments and Services as people write
them (about 1 KB each); each file is copied under another folder until there are enough. Every time is that of a whole process,
its start and its output included; each figure is the median of its rounds. Processor time stands beside it, since that does not
depend on what else the machine does.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = "1.36.0"
LIMIT = 600  # seconds for any one run
THREADS = 2
KINDS = ("Service", "Deployment", "Job", "Pod", "ConfigMap")  # that both know

TYPICAL = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{n}
  namespace: default
  labels:
    app.kubernetes.io/name: web-{n}
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: web-{n}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web-{n}
    spec:
      securityContext:
        runAsNonRoot: true
      containers:
        - name: web
          image: registry.example.test/web:1.{n}.0
          args: ["--listen", ":8080", "--log-level=info"]
          env:
            - name: BACKEND
              value: http://api-{n}.default.svc:8080
            - name: PASSWORD
              valueFrom:
                secretKeyRef:
                  name: web-{n}
                  key: password
          ports:
            - name: http
              containerPort: 8080
          readinessProbe:
            httpGet:
              path: /ready
              port: http
            periodSeconds: 5
          resources:
            requests:
              cpu: 250m
              memory: 256Mi
            limits:
              memory: 512Mi
---
apiVersion: v1
kind: Service
metadata:
  name: web-{n}
  namespace: default
spec:
  selector:
    app.kubernetes.io/name: web-{n}
  ports:
    - name: http
      port: 80
      targetPort: http
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def objects_of(text):
    return len(re.findall(r"^kind:", text, re.M))


def catalog():
    """The rendered files: (folder of the target, text)."""
    found = []
    for path in sorted(ROOT.glob("test_cases/**/*.yaml")):
        if path.parent.name in ("kubernetes", "hyperpod-eks"):
            found.append((path.parent.name, path.read_text()))
    return found


def write(folder, files, copies):
    """Writes each file as often as asked; returns how many objects and bytes there are."""
    objects = size = 0
    for number in range(copies):
        for index, (target, text) in enumerate(files):
            path = folder / f"{number:04d}" / target / f"{index:04d}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            objects += objects_of(text)
            size += len(text)
    return objects, size


def both_know(text):
    return all(re.search(r"^kind: *(\w+)", part, re.M).group(1) in KINDS for part in text.split("\n---\n"))


def make_schemas(peer, folder):
    """kubeconform reads one file a kind, without references to the web."""
    release = next((peer / "kubernetes_validate").glob(f"**/v{RELEASE}-local-strict"), None)
    if release is None:
        raise SystemExit(f"kubernetes_bench: no schemas of {RELEASE} in {peer}")
    shared = json.loads(next(release.glob("**/_definitions.json")).read_text())
    definitions = json.dumps(shared.get("$defs") or shared["definitions"])
    definitions = json.loads(re.sub(r'"\$ref": "[^"#]*#/(?:\$defs|definitions)/', '"$ref": "#/$defs/', definitions))
    for path in release.glob("**/*.json"):
        if path.name.startswith("_"):
            continue
        text = re.sub(r'"\$ref": "[^"#]*#/(?:\$defs|definitions)/', '"$ref": "#/$defs/', path.read_text())
        schema = json.loads(text)
        schema.pop("$id", None)
        schema["$defs"] = definitions
        (folder / path.name.lower()).write_text(json.dumps(schema))


def timed(command, expected, cwd=ROOT):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in expected:
        raise SystemExit(f"kubernetes_bench: {command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return seconds, processor, done.stdout


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info)
    memory = int(re.search(r"MemTotal: *(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
    return {"processor": model.group(1).strip() if model else platform.processor(), "processors": os.cpu_count(),
            "memory_gib": round(memory / 2**20, 1), "load_before": os.getloadavg()[0]}


def row(objects, size, rounds):
    """Of rounds of (seconds, seconds of processor time)."""
    middle = statistics.median(seconds for seconds, _ in rounds)
    processor = statistics.median(processor for _, processor in rounds)
    return {"objects": objects, "bytes": size, "seconds": middle, "processor_seconds": processor,
            "rounds": [seconds for seconds, _ in rounds], "objects_per_second": objects / middle,
            "objects_per_processor_second": objects / processor, "bytes_per_second": size / middle}


def measure(a, work):
    muster = [str(a.build / "bin" / "muster"), "validate", "-q"]
    schemas = work / "schemas"
    schemas.mkdir()
    make_schemas(a.peer, schemas)
    kubeconform = [str(a.peer / "kubeconform"), "-strict", "-n", str(THREADS), "-kubernetes-version", RELEASE, "-schema-location",
                   f"{schemas}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json", "-summary"]
    files = catalog()
    typical = [("typical", TYPICAL.format(n=n)) for n in range(len(files))]
    sets = {
        "catalog and typical": write(work / "all", files + typical, a.copies),
        "catalog": write(work / "catalog", files, a.copies),
        "core kinds": write(work / "core", [f for f in files if both_know(f[1])] + typical, a.copies),
    }
    folders = {"catalog and typical": "all", "catalog": "catalog", "core kinds": "core"}
    runs = {f"ours {name}": (name, muster + [str(work / folders[name])], (0,)) for name in sets}
    runs["peer core kinds"] = ("core kinds", kubeconform + [str(work / "core")], (0,))
    seconds = {name: [] for name in runs}
    for number in range(a.rounds):
        for name, (_, command, expected) in runs.items():
            took, processor, output = timed(command, expected)
            seconds[name].append((took, processor))
            if name.startswith("peer"):
                check_peer(output, sets["core kinds"][0])
            say(f"round {number + 1}: {name}: {took:.2f} s")
    rows = {name: row(*sets[runs[name][0]], took) for name, took in seconds.items()}
    rows["ours core kinds"]["peer"] = "peer core kinds"
    rows["ours core kinds"]["speed_ratio"] = rows["peer core kinds"]["seconds"] / rows["ours core kinds"]["seconds"]
    return rows


def check_peer(output, objects):
    """The peer must have judged every object, not skipped it."""
    valid = re.search(r"Valid: (\d+), Invalid: (\d+), Errors: (\d+), Skipped: (\d+)", output)
    if not valid or tuple(map(int, valid.groups())) != (objects, 0, 0, 0):
        raise SystemExit("kubernetes_bench: the peer did not take every object: " + output[-600:])


def measure_project(a, work):
    """Everything in the repository."""
    project = work / "project"
    project.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for name in filter(None, listed.decode().split("\0")):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, project / name)
    muster = str(a.build / "bin" / "muster")
    commands = {"validate --all": [muster, "validate", "--all", "-q"], "render --all": [muster, "render", "--all"],
                "render --all --check": [muster, "render", "--all", "--check"]}
    result = {}
    for name, command in commands.items():
        took = [timed(command, (0,), project)[:2] for _ in range(max(a.rounds, 5))]
        result[name] = {"seconds": statistics.median(t[0] for t in took), "rounds": [t[0] for t in took],
                        "processor_seconds": statistics.median(t[1] for t in took)}
    return result


def bars(rows, project):
    made = []

    def bar(name, value, limit, passes):
        made.append({"name": name, "value": value, "limit": limit, "outcome": "pass" if passes else "fail"})

    for name in ("catalog and typical", "catalog"):
        speed = rows["ours " + name]["objects_per_second"]
        bar(f"{name}: objects/s", speed, 15000, speed >= 15000)
    for name, limit in (("validate --all", 1.0), ("render --all", 2.0)):
        bar(f"{name}: seconds", project[name]["seconds"], limit, project[name]["seconds"] < limit)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--peer-version", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=60)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "benchmarks/results/kubernetes.json")
    a = parser.parse_args()
    a.build, a.peer = a.build.resolve(), a.peer.resolve()
    before = machine()
    with tempfile.TemporaryDirectory(prefix="kubernetes-bench.") as name:
        work = pathlib.Path(name)
        rows = measure(a, work)
        project = measure_project(a, work)
    version = subprocess.run([str(a.build / "bin/muster"), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    result = {
        "schema_version": 1, "date": datetime.date.today().isoformat(), "machine": before,
        "versions": {"muster": version.split()[-1], "kubeconform": a.peer_version, "schemas": RELEASE,
                     "python": platform.python_version()},
        "workload": {"copies": a.copies, "rounds": a.rounds, "threads": THREADS},
        "rows": rows, "project": project, "bars": bars(rows, project),
    }
    record.write(a.out, result)
    for name, r in rows.items():
        print(f"{name:28} {r['objects']:7} objects {r['seconds']:7.2f} s {r['objects_per_second']:9.0f} objects/s "
              f"{r['bytes_per_second'] / 1e6:7.1f} MB/s "
              f"{r['objects_per_processor_second']:9.0f} objects per second of processor" + (f"  {r['speed_ratio']:.1f}x" if "speed_ratio" in r else ""))
    for bar in result["bars"]:
        print(f"{bar['outcome']}: {bar['name']} {bar['value']:.2f}, wanted {bar['limit']}")


if __name__ == "__main__":
    main()
