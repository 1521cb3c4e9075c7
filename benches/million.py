"""Memory and time for a million records (RECORDS), in one domain file and in 1,000 files: `fmt --check`, `lint`,
`list`, `check` and `run` of every record on an nginx on loopback that serves the same bytes for every path; then edits
of one record in a file of 48 MB; then `run` over 20,000 hosts in one process, twice, and in 2 and 4 shards that are
collected. `.ci/long million` runs this script.

PARTS names the parts to run: formatting, edits, files, shards; all unless set. URLDB names a binary to compare with in
the first three parts, for example of an earlier version.
"""

import concurrent.futures
import hashlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from support import BINARIES, measured, nginx, timed

RECORDS = int(os.environ.get("RECORDS", 1_000_000))
PARTS = os.environ.get("PARTS", "formatting edits files shards")
BODY = b"the same bytes\n"


def domain_file(path, records, categories=""):
    """Writes a canonical domain file of static records."""
    promise = f"{categories}content-length: {len(BODY)}\ncontent-sha256: {hashlib.sha256(BODY).hexdigest()}\ncontent-type: text/csv\n"
    with open(path, "w") as file:
        file.write("---\n")
        file.writelines(f"---\n_path: /data/table-{number:07}.csv\n{promise}" for number in range(records))


def repository(folder, hosts, each, port, categories=""):
    """A repository with `each` records for each host, all of which are on the port."""
    database = folder / "urldb"
    database.mkdir(parents=True)
    names = [f"h{number:04}.example.org" for number in range(hosts)]
    places = ", ".join(f'"{name}:80=127.0.0.1:{port}"' for name in names)
    settings = f'[network]\nmap = [{places}]\n[check]\nhost-interval = "0s"\nhost-concurrency = 16\nretry-wait = "1ms"\n'
    (folder / "urldb.toml").write_text(settings)
    domain_file(database / f"{names[0]}.yaml", each, categories)
    for name in names[1:]:
        shutil.copy(database / f"{names[0]}.yaml", database / f"{name}.yaml")


def formatting(scratch, port):
    """Formats canonical files, in turn."""
    commands, sizes = {}, {}
    for what, hosts, categories in (
        ("records in 1 file", 1, ""),
        ("records in 1000 files", 1000, ""),
        ("records with categories in 1 file", 1, "categories:\n- documentation\n- published\n"),
    ):
        repo = scratch / what
        repository(repo, hosts, RECORDS // hosts, port, categories)
        for binary in BINARIES:
            name = f"{RECORDS:,} {what}, {binary} fmt --check"
            commands[name] = ([binary, "fmt", "--check"], repo)
            sizes[name] = sum(path.stat().st_size for path in (repo / "urldb").iterdir())
    for name, seconds in measured(commands).items():
        print(f"{name}: {sizes[name] / seconds / 1e6:.0f} MB/s")


def edits(scratch, port):
    """Edits one of 300,000 records, in turn."""
    repo = scratch / "edits"
    repository(repo, 1, 300_000, port)
    path = repo / "urldb" / "h0000.example.org.yaml"
    record, length = "table-0150000.csv", f"content-length: {len(BODY)}\n"
    text = path.read_text()
    url = f"http://h0000.example.org/data/{record}"
    changes = {
        "add": (["add", "--no-fetch", f"{url}.gz"], text),
        "rm": (["rm", url], text),
        "accept": (["accept", "--yes", url], text.replace(f"{record}\n{length}", f"{record}\ncontent-length: 1\n")),
    }
    seconds, peaks = {}, {}
    for _ in range(5):
        for name, (arguments, before) in changes.items():
            for binary in BINARIES:
                path.write_text(before)
                took, peak, _ = timed([binary, *arguments], repo)
                seconds.setdefault((binary, name), []).append(took)
                peaks.setdefault((binary, name), []).append(peak)
                assert path.read_text() != before, f"{binary} {name} changed nothing"
    for (binary, name), times in seconds.items():
        each = " ".join(f"{time:.2f}" for time in sorted(times))
        peak = max(peaks[binary, name])
        what = f"one record of {len(text) / 1e6:.0f} MB, {binary} {name}"
        print(f"{what}: median {statistics.median(times):.2f} s of {each}; at most {peak:.1f} MiB")


def shards(scratch, port):
    """Checks the records over many hosts in one process, then in 2 and 4 shards at once, and collects them."""
    hosts = max(1, RECORDS // 50)
    repo = scratch / "shards"
    repository(repo, hosts, RECORDS // hosts, port)
    everything = f"{RECORDS // hosts * hosts:,} records of {hosts:,} hosts"

    def show(what, seconds, peaks):
        each = (max(peaks) * 2**20) / RECORDS
        print(f"{everything}, {what}: {seconds:.1f} s; at most {max(peaks):.1f} MiB, {each:.0f} bytes a record", flush=True)

    def clear():
        for name in ("status", "archive"):
            shutil.rmtree(repo / name, ignore_errors=True)

    for what in ("one process, the first run", "one process, the second run"):
        seconds, peak, _ = timed(["urldb", "run", "--quiet"], repo)
        show(what, seconds, [peak])
    for count in (2, 4):
        clear()
        bundles = scratch / f"bundles-{count}"
        commands = [["urldb", "run", "--shard", f"{number + 1}/{count}", "--to", str(bundles)] for number in range(count)]
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            peaks = [peak for _, peak, _ in pool.map(lambda command: timed(command, repo), commands)]
        show(f"{count} shards at once, each", time.monotonic() - began, peaks)
        size = sum(path.stat().st_size for path in bundles.rglob("observations.jsonl"))
        print(f"  {size / RECORDS:.0f} bytes of observations a record")
        seconds, peak, _ = timed(["urldb", "run", "--quiet", "--from", str(bundles)], repo)
        show(f"{count} bundles collected", seconds, [peak])
        shutil.rmtree(bundles)
    clear()


def main():
    answer = 'default_type text/csv; return 200 "the same bytes\\n";'
    with tempfile.TemporaryDirectory() as scratch, nginx(
        scratch, scratch, http="keepalive_requests 1000000000;", location=answer
    ) as port:
        if "formatting" in PARTS:
            formatting(Path(scratch), port)
        if "edits" in PARTS:
            edits(Path(scratch), port)
        for hosts in (1, 1000) if "files" in PARTS else ():
            repo = Path(scratch, f"{hosts}-files")
            repository(repo, hosts, RECORDS // hosts, port)
            for arguments in (["lint"], ["list"], ["check", "--path-prefix", "/data/table-0000001"], ["check"], ["run"]):
                commands = {
                    f"{RECORDS:,} records in {hosts} files, {binary} {' '.join(arguments)}": ([binary, *arguments], repo)
                    for binary in BINARIES
                }
                measured(commands, attempts=1)
        if "shards" in PARTS:
            shards(Path(scratch), port)


sys.exit(main())
