"""Measures the index of a year of daily runs, at 100,000, a million and ten million lines: its size, what a run pays to
add its lines, lookups, and the merge of all segments. Then gzip and sort read all lines, and pywb answers queries from
the same files. `.ci/long index` runs it; COUNTS="100000" chooses other sizes.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
DAYS = 365


def main():
    build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "urldb-warc", "--example", "index_scale"]
    subprocess.run(build, cwd=SOURCE, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target"))
    for count in os.environ.get("COUNTS", "100000 1000000 10000000").split():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([target / "release" / "examples" / "index_scale", scratch, count], check=True)
            read_by_others(Path(scratch), int(count) // DAYS)
        print(flush=True)


def read_by_others(folder, urls):
    """The lines are in order for sort, and pywb finds the captures of five URLs."""
    command = "gzip -dc index/*.cdxj.gz | LC_ALL=C sort -c -u && gzip -dc index/*.cdxj.gz | wc -l"
    counted = subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True, text=True)
    assert int(counted.stdout) == urls * DAYS, counted.stdout
    print(f"gzip and sort: {urls * DAYS} lines in order")
    if not shutil.which("wayback"):
        print("pywb is not installed: `pip install pywb`")
        return
    (folder / "config.yaml").write_text("collections:\n  urldb:\n    index_paths: index/\n    archive_paths: ./\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with open(folder / "pywb.log", "wb") as log:
        pywb = subprocess.Popen(["wayback", "--bind", "127.0.0.1", "--port", str(port)], cwd=folder, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert time.monotonic() < deadline, "pywb does not start"
            time.sleep(0.1)
        times = []
        for number in (0, urls // 3, urls // 2, urls - 1):
            url = f"https://data.example.org/releases/{number % 500:03}/table-{number:07}.csv"
            began = time.monotonic()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/urldb/cdx?url={url}&limit=1000") as answer:
                lines = answer.read().decode().splitlines()
            times.append(time.monotonic() - began)
            assert len(lines) == DAYS and all(url in line for line in lines), f"pywb finds {len(lines)} captures of {url}"
        print(f"pywb: {DAYS} captures of each URL, a query in {sorted(times)[len(times) // 2] * 1000:.0f} ms")
    finally:
        pywb.terminate()
        pywb.wait()


sys.exit(main())
