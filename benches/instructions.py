"""Counts the instructions of four fixed workloads under callgrind, and compares the counts with those of
benches/instructions.json. The time of a shared machine varies by a half; its instructions hardly vary. A count that is
more than LIMIT above the baseline ends the script with 1. Counts of another compiler or processor are only shown.
`.ci/long instructions` runs this script, and `BASELINE=write .ci/long instructions` writes the baseline anew.
"""

import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from support import installed, repository
from support.records import content, response
from support.urls import urls

BASELINE, LIMIT = Path(__file__).with_suffix(".json"), 0.03
HOSTS, RECORDS, CAPTURES, URLS = 10, 10_000, 2_000, 100_000
COUNT = re.compile(r"^==\d+== Collected : (\d+)", re.MULTILINE)


def said(*command):
    """The first line that a program writes, without its end."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.partition("\n")[0]


def conditions():
    """What changes the counts of the same source text."""
    target = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    flags = re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    has_avx2 = flags and "avx2" in flags[1].split()
    return {
        "rustc": said("rustc", "--version"),
        "target": re.search(r"^host: (.*)", target, re.MULTILINE)[1],
        "flags": os.environ.get("RUSTFLAGS", ""),
        "processor": platform.machine() + (" with AVX2" if has_avx2 else ""),
        "valgrind": said("valgrind", "--version"),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }


def domain(rng):
    """The records of a host: most of them promise bytes, some redirect, some have a comment."""
    records = ["---\n"]
    for number in range(RECORDS // HOSTS):
        path = f"/data/{number % 40:02}/{rng.choice(['table', 'image', 'spectrum'])}-{number:05}.fits"
        promise = f"content-length: {rng.randrange(1 << 32)}\ncontent-sha256: {rng.randbytes(32).hex()}\n"
        if number % 10 == 0:
            promise = f"redirect-ok: true\n# moved in {2000 + number % 26}\n"
        records.append(f"---\n_path: {path}\n{promise}")
    return "".join(records)


def inputs(repo, rng):
    """Generates the same inputs each time."""
    repository(repo, "", {f"host{number}.example.org": domain(rng) for number in range(HOSTS)})
    (repo / "archive").mkdir()
    with open(repo / "archive" / "fixed.warc.gz", "wb") as file:
        for number in range(CAPTURES):
            file.write(response(number, content(rng, rng.randrange(500, 12_000))))
    (repo / "urls").write_text("".join(urls(URLS, rng)))


def instructions(repo, arguments, stdin):
    """Counts the instructions of one command: on one processor, with fixed addresses and a fixed environment."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    counter = ["setarch", "--addr-no-randomize", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(repo), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    with open(repo / stdin if stdin else os.devnull) as file:
        run = subprocess.run(
            [*counter, "urldb", *arguments], cwd=repo, env=environment, stdin=file, capture_output=True, text=True
        )
    count = COUNT.search(run.stderr)
    if run.returncode != 0 or not count:
        sys.exit(f"exit code {run.returncode} of {arguments}:\n{run.stdout[-500:]}\n{run.stderr[-1000:]}")
    return int(count[1])


def counted():
    workloads = {
        "fmt --check": (["fmt", "--check"], None),
        "list --format jsonl": (["list", "--format", "jsonl"], None),
        "archive verify": (["archive", "verify", "--quiet"], None),
        "url surt": (["url", "surt"], "urls"),
    }
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch, "repo")
        inputs(repo, random.Random(18))
        return {name: instructions(repo, *workload) for name, workload in workloads.items()}


def compared(counts, baseline):
    """Prints a table, and returns the workloads that need too many instructions."""
    print(f"{'workload':20} {'instructions':>14} {'baseline':>14} difference")
    slower = []
    for name, count in counts.items():
        before = baseline.get(name)
        if before is None:
            print(f"{name:20} {count:14,} {'':14} new")
            continue
        difference = count / before - 1
        print(f"{name:20} {count:14,} {before:14,} {difference:+10.2%}")
        if difference > LIMIT:
            slower.append(name)
    return slower


def main():
    if not installed("valgrind", "a package of that name is everywhere"):
        return None
    here, counts = conditions(), counted()
    if os.environ.get("BASELINE") == "write":
        BASELINE.write_text(json.dumps({"conditions": here, "instructions": counts}, indent=2) + "\n")
    baseline = json.loads(BASELINE.read_text())
    slower = compared(counts, baseline["instructions"])
    others = [name for name, value in here.items() if value != baseline["conditions"].get(name)]
    for name in others:
        print(f"counted with {name} {here[name]!r}; the baseline with {baseline['conditions'].get(name)!r}")
    if others:
        print("such counts cannot be compared with the baseline: `BASELINE=write .ci/long instructions` writes it anew")
        return None
    return f"more than {LIMIT:.0%} above the baseline: {', '.join(slower)}" if slower else None


sys.exit(main())
