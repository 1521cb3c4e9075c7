"""The cost of reading the archive again: in the first run of a day over 10,000 URLs of 4 KiB, beside the second run of that
day, which reads nothing again; and the bytes that `status/archive.yaml` takes in git in a year of daily runs. The archive is
in two folders. `.ci/long fixity` runs it, with nginx and faketime."""

import hashlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

from support import nginx, repository, timed
from support.records import HOST, content

FILES, SIZE, DAYS, YEAR = 10_000, 4096, 7, 365
START = date(2026, 1, 1)


def promised(www, files):
    rng, records = random.Random(33), ["---\n"]
    for number in range(files):
        body = content(rng, SIZE)
        (www / f"{number:05}").write_bytes(body)
        records.append(f"---\n_path: /{number:05}\ncontent-length: {SIZE}\ncontent-sha256: {hashlib.sha256(body).hexdigest()}\n")
    return "".join(records)


def prepared(scratch, name, files):
    """A repository whose archive has two folders, and the web root of its files."""
    www, repo = Path(scratch, f"{name}-www"), Path(scratch, name)
    www.mkdir()
    places = [Path(scratch, f"{name}-{place}") for place in "ab"]
    for place in places:
        place.mkdir()
    stores = ", ".join(f'"file://{place}"' for place in places)
    settings = f'[check]\nhost-concurrency = 32\nhost-interval = "0s"\n[archive]\nstores = [{stores}]\n'
    repository(repo, settings, {HOST: promised(www, files)})
    return repo, www


def run_on(day, repo, port):
    """Seconds of a run on this day."""
    moment = f"{START + timedelta(day)} 06:00:00"
    return timed(["faketime", moment, "urldb", "run", "--quiet", "--map", f"{HOST}:80=127.0.0.1:{port}"], repo)[0]


def git(*words, cwd):
    return subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True).stdout


def cost_of_check(scratch):
    repo, www = prepared(scratch, "large", FILES)
    with nginx(scratch, www) as port:
        run_on(0, repo, port)
        pairs = [(run_on(day, repo, port), run_on(day, repo, port)) for day in range(1, DAYS + 1)]
    first, second = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
    print(f"run of {FILES:,} URLs: the first of a day {first:.2f} s, the second {second:.2f} s (medians of {DAYS})")


def bytes_in_git(scratch):
    repo, www = prepared(scratch, "small", 3)
    history = Path(scratch, "history")
    history.mkdir()
    git("init", "--quiet", cwd=history)
    with nginx(scratch, www) as port:
        for day in range(YEAR):
            run_on(day, repo, port)
            shutil.copy(repo / "status/archive.yaml", history)
            git("add", ".", cwd=history)
            git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--message", "Run", cwd=history)
    git("gc", "--quiet", cwd=history)
    blobs = git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize:disk)", cwd=history)
    size = sum(int(line.split()[1]) for line in blobs.splitlines() if line.startswith("blob"))
    print(f"status/archive.yaml in git: {size:,} bytes of packed contents in {YEAR} days")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        cost_of_check(scratch)
        bytes_in_git(scratch)


sys.exit(main())
