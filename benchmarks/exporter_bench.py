"""Scrapes muster-exporter and node_exporter in turns over one kept connection each; run by benchmarks/exporter.sh."""

import argparse
import datetime
import http.client
import os
import pathlib
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time

import record

HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Exporter:
    """One that runs, and its connection."""

    def __init__(self, name, command):
        self.name, self.port = name, free_port()
        self.process = subprocess.Popen([word.replace("PORT", str(self.port)) for word in command],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.times, self.body = [], b""
        for _ in range(600):
            try:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self.scrape()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{name} does not answer")
        self.times.clear()

    def scrape(self):
        start = time.perf_counter()
        self.connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        answer = self.connection.getresponse()
        self.body = answer.read()
        self.times.append(time.perf_counter() - start)
        if answer.status != 200:
            raise SystemExit(f"{self.name}: status {answer.status}")

    def samples(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return sum(1 for line in lines if line and not line.startswith("#"))

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def row(self):
        times = sorted(self.times)
        return {"samples": self.samples(), "bytes": len(self.body), "scrapes": len(times),
                "p50_ms": times[len(times) // 2] * 1e3, "p99_ms": times[min(len(times) - 1, len(times) * 99 // 100)] * 1e3,
                "processor_ms": self.processor_seconds() / (len(times) + 1) * 1e3, "resident_bytes": self.resident()}

    def end(self):
        self.process.terminate()
        self.process.wait(30)


def processor():
    return next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")), platform.processor())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default="build/release")
    options.add_argument("--devices", type=int, default=32)
    options.add_argument("--scrapes", type=int, default=300)
    options.add_argument("--out", default=str(HERE / "results" / "exporter.json"))
    asked = options.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([HERE / "exporter_tree.sh", work, str(asked.devices)], check=True)
        ours = Exporter("muster-exporter", [f"{asked.build}/bin/muster-exporter", "--root", work, "--textfile", f"{work}/none",
                                            "--web.listen-address", "127.0.0.1:PORT"])
        peer = Exporter("node_exporter", ["prometheus-node-exporter", f"--path.sysfs={work}/sys", "--collector.disable-defaults",
                                          "--collector.infiniband", "--web.listen-address=127.0.0.1:PORT"])
        for _ in range(asked.scrapes):
            for one in (ours, peer):
                one.scrape()
        rows = {one.name: one.row() for one in (ours, peer)}
        for one in (ours, peer):
            one.end()
    version = subprocess.run(["prometheus-node-exporter", "--version"], capture_output=True, text=True, check=True)
    mine = rows["muster-exporter"]
    bars = [("p99 of a scrape (ms)", mine["p99_ms"], 10), ("resident memory (MB)", mine["resident_bytes"] / 1e6, 15)]
    result = {
        "schema_version": 1, "date": datetime.date.today().isoformat(),
        "machine": {"processor": processor(), "processors": os.cpu_count(), "load_before": load},
        "workload": {"devices": asked.devices, "scrapes": asked.scrapes},
        "versions": {"node_exporter": re.search(r"version ([\d.]+)", version.stdout + version.stderr)[1]},
        "rows": rows,
        "bars": [{"name": name, "value": value, "limit": f"under {limit}", "outcome": "met" if value < limit else "missed"}
                 for name, value, limit in bars],
    }
    record.write(pathlib.Path(asked.out), result)
    sys.stdout.write(record.text(result))


if __name__ == "__main__":
    main()
