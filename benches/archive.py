"""Measures the cost of archiving. The script archives 10,000 URLs of 4 KiB on nginx for the first time, compared with
`wget --warc-file --warc-cdx`, and again without changes, compared with `wget --warc-dedup`. Then it indexes an
archive of 200 MB, compared with cdxj-indexer, and verifies it, compared with fastwarc. `.ci/long archive` runs it. URLDB names
a binary to compare with in the second part.
"""

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import BINARIES, installed, measured, nginx, repository
from support.records import HOST, content, response

FILES, SIZE, AT_ONCE = 10_000, 4096, 32
ATTEMPTS = int(os.environ.get("ATTEMPTS", "3"))
LARGE = 200_000_000


def write_files(www, rng):
    records = ["---\n"]
    for number in range(FILES):
        body = content(rng, SIZE)
        (www / f"{number:05}").write_bytes(body)
        digest = hashlib.sha256(body).hexdigest()
        records.append(f"---\n_path: /{number:05}\ncontent-length: {SIZE}\ncontent-sha256: {digest}\n")
    return "".join(records)


def timed(command, cwd):
    began = time.monotonic()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def size_of(files):
    return sum(file.stat().st_size for file in files)


def first_and_second(scratch, records, port):
    """Returns seconds and bytes of the two runs of urldb in a new repository."""
    repo = Path(scratch, "repo")
    shutil.rmtree(repo, ignore_errors=True)
    repository(repo, f'[check]\nhost-concurrency = {AT_ONCE}\nhost-interval = "0s"\n', {HOST: records})
    command = ["urldb", "run", "--quiet", "--map", f"{HOST}:80=127.0.0.1:{port}"]
    figures, before = [], 0
    for _ in range(2):
        seconds = timed(command, repo)
        after = size_of((repo / "archive").glob("*.warc.gz"))
        figures.append((seconds, after - before))
        before = after
    return figures


def wget_twice(scratch, port):
    """Returns the same for wget, which chooses its own file names."""
    folder = Path(scratch, "wget")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "urls").write_text("".join(f"http://127.0.0.1:{port}/{number:05}\n" for number in range(FILES)))
    base = ["wget", "--quiet", "--input-file=urls", "--delete-after", "--no-directories", "--warc-cdx"]
    first = timed([*base, "--warc-file=first"], folder)
    second = timed([*base, "--warc-file=second", "--warc-dedup=first.cdx"], folder)
    return [(first, size_of([folder / "first.warc.gz"])), (second, size_of([folder / "second.warc.gz"]))]


def median(runs, which):
    seconds = sorted(run[which][0] for run in runs)
    return seconds[len(seconds) // 2], runs[0][which][1]


def archiving(scratch, rng):
    www = Path(scratch, "www")
    www.mkdir()
    records = write_files(www, rng)
    has_wget = installed("wget", "a package of that name is everywhere")
    ours, theirs = [], []
    with nginx(scratch, www) as port:
        for _ in range(ATTEMPTS):
            ours.append(first_and_second(scratch, records, port))
            if has_wget:
                theirs.append(wget_twice(scratch, port))
    for which, name in enumerate(["first run", "second run, unchanged"]):
        for program, runs in (("urldb", ours), ("wget", theirs)):
            if runs:
                seconds, size = median(runs, which)
                print(f"{name}, {program}: {seconds:.2f} s, {size / 1e6:.2f} MB, {size // FILES} bytes a URL")
        if theirs:
            print(f"{name}: {median(theirs, which)[0] / median(ours, which)[0]:.1f} times as fast")


def large_archive(scratch, rng):
    """An archive of this many bytes in one file."""
    repo = Path(scratch, "large")
    repository(repo, "", {})
    (repo / "archive").mkdir()
    noise, text = rng.randbytes(1 << 20), content(rng, 2 << 20)[1 << 20 :]
    number = 0
    with open(repo / "archive" / "large.warc.gz", "wb") as file:
        while file.tell() < LARGE:
            size, start = rng.randrange(500, 12_000), rng.randrange(1 << 19)
            file.write(response(number, noise[start : start + size // 6] + text[start : start + size]))
            number += 1
    print(f"an archive of {number} records and {LARGE / 1e6:.0f} MB")
    return repo


def reading(scratch, rng):
    repo = large_archive(scratch, rng)
    file = str(repo / "archive" / "large.warc.gz")
    commands = {}
    for binary in BINARIES:
        commands[f"{binary} archive index"] = ([binary, "archive", "index"], repo)
        commands[f"{binary} archive verify"] = ([binary, "archive", "verify", "--quiet"], repo)
    if installed("cdxj-indexer", "`pip install cdxj-indexer` to compare with it"):
        commands["cdxj-indexer"] = (["cdxj-indexer", "--sort", "--output", "/dev/null", file], scratch)
    if installed("fastwarc", "`pip install fastwarc` to compare with it"):
        commands["fastwarc check"] = (["fastwarc", "check", file], scratch)
    times = measured(commands, ATTEMPTS)
    for ours, theirs in (("urldb archive index", "cdxj-indexer"), ("urldb archive verify", "fastwarc check")):
        if theirs in times:
            print(f"{ours} is {times[theirs] / times[ours]:.1f} times as fast as {theirs}")


def main():
    rng = random.Random(81)
    with tempfile.TemporaryDirectory() as scratch:
        archiving(scratch, rng)
        reading(scratch, rng)


sys.exit(main())
