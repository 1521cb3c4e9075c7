"""Measures the index of a year of daily runs, at 100,000, a million and ten million lines: its size, what a run pays to
add its lines, lookups, and the merge of all segments. `.ci/long index` runs it; COUNTS="100000" chooses other sizes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent


def main():
    build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "urldb-warc", "--example", "index_scale"]
    subprocess.run(build, cwd=SOURCE, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target"))
    for count in os.environ.get("COUNTS", "100000 1000000 10000000").split():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([target / "release" / "examples" / "index_scale", scratch, count], check=True)


sys.exit(main())
