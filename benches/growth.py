"""How a repository grows by its ledger: URLS URLs (2,000) on hosts of 20, DAYS days (60), RUNS runs a day (1). Each day
NEWS of the URLs (0.01) change their state: half of them break (changed bytes, removed files, errors of the server), and
as many come back, one to ten days after they broke. libfaketime and a scripted server on loopback let the days pass
quickly. Each run is a commit. The script prints the size of git's pack after a plain `git gc`, by kind of file.
`.ci/long growth` runs it.
"""

import collections
import datetime
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from support.days import environment, git, response, serve

URLS = int(os.environ.get("URLS", 2_000))
DAYS = int(os.environ.get("DAYS", 60))
RUNS = int(os.environ.get("RUNS", 1))
NEWS = float(os.environ.get("NEWS", 0.01))
EACH = 20
START = datetime.datetime(2026, 9, 1, 4, 17)
CHANCE = random.Random(2026)


def urls():
    """Host and path of each URL."""
    return [(f"data.site{number // EACH:04}.example", f"/{'abcd'[number % 4]}/file-{number % EACH:03}.csv") for number in range(URLS)]


def body(host, path, version):
    return f"{host}{path} {version}\n".encode() * 8


class World:
    """Breaks and mends URLs from day to day."""

    def __init__(self):
        self.broken, self.news = {}, 0

    def begin(self, day):
        for url in [url for url, (_, until) in self.broken.items() if until <= day]:
            del self.broken[url]
            self.news += 1
        whole = [url for url in urls() if url not in self.broken]
        # The first day has no past: everything is as promised.
        for url in CHANCE.sample(whole, round(URLS * NEWS / 2) if day else 0):
            kind = CHANCE.choice(["changed", "changed", "gone", "error"])
            self.broken[url] = (kind, day + CHANCE.randrange(1, 11))
            self.news += 1

    def answer(self, host, path):
        kind, until = self.broken.get((host, path), ("ok", 0))
        match kind:
            case "ok":
                return response("200 OK", body(host, path, 0), f'ETag: "{hashlib.md5(body(host, path, 0)).hexdigest()}"\r\n')
            case "changed":
                return response("200 OK", body(host, path, until))
            case "gone":
                return response("404 Not Found", b"no such file\n")
            case "error":
                return response("500 Internal Server Error", b"broken\n")


def repository(folder, port):
    """The database and its settings, committed."""
    by_host = collections.defaultdict(list)
    for host, path in urls():
        by_host[host].append(path)
    (folder / "urldb").mkdir()
    (folder / "urldb.toml").write_text(
        "[network]\nmap = [" + ", ".join(f'"{host}:80=127.0.0.1:{port}"' for host in by_host) + "]\n"
        '[check]\nconcurrency = 64\nhost-interval = "0s"\nhost-concurrency = 8\nretry-wait = "20ms"\n'
    )
    for host, paths in by_host.items():
        records = (
            f"---\n_path: {path}\ncontent-length: {len(body(host, path, 0))}\n"
            f"content-sha256: {hashlib.sha256(body(host, path, 0)).hexdigest()}\n"
            for path in sorted(paths)
        )
        (folder / "urldb" / f"{host}.yaml").write_text("---\nhttp: true\n" + "".join(records))
    git(folder, "init", "--quiet")
    for key, value in (("user.name", "urldb"), ("user.email", "urldb@example.org"), ("gc.auto", "0")):
        git(folder, "config", key, value)
    git(folder, "add", "urldb", "urldb.toml")
    git(folder, "commit", "--quiet", "-m", "database")


def size(folder, *options):
    """Bytes of git's packs after `git gc`: what a push or a clone has to carry."""
    git(folder, "gc", "--quiet", "--prune=now", *options)
    return sum(path.stat().st_size for path in (folder / ".git" / "objects" / "pack").glob("*.pack"))


def kind(path):
    """The kind of file that a path of the repository is."""
    top, _, rest = path.partition("/")
    if top != "status":
        return "database" if top else "folders, commits"
    if not rest or rest in ("incidents", "history", "captures"):
        return f"folder {path}"
    folder, _, file = rest.partition("/")
    return folder if file else "history" if rest == "history.jsonl" else "statuses"


def breakdown(folder):
    """Bytes in the pack by kind of file: objects, all bytes, and those of objects that are no delta."""
    names = dict(line.partition(" ")[::2] for line in git(folder, "rev-list", "--objects", "--all").splitlines())
    packs = [str(path) for path in (folder / ".git" / "objects" / "pack").glob("*.idx")]
    kinds = collections.defaultdict(lambda: [0, 0, 0, 0])
    for line in git(folder, "verify-pack", "-v", *packs).splitlines():
        words = line.split()
        if len(words) not in (5, 7) or words[1] not in ("blob", "tree", "commit", "tag"):
            continue
        found = kinds[words[1] if words[1] == "commit" else kind(names.get(words[0], ""))]
        found[0] += 1
        found[1] += int(words[3])
        if len(words) == 5:
            found[2] += 1
            found[3] += int(words[3])
    for name, (objects, packed, whole, whole_bytes) in sorted(kinds.items()):
        print(f"  {name}: {packed:,} bytes in {objects} objects; {whole_bytes:,} of them in {whole} that are no delta")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = World()
        repository(folder, serve(world.answer))
        clock = folder / "clock"
        before = size(folder)
        for day in range(DAYS):
            world.begin(day)
            for run in range(RUNS):
                clock.write_text(f"@{START + datetime.timedelta(days=day, hours=24 * run / RUNS)}\n")
                done = subprocess.run(["urldb", "run", "-q"], cwd=folder, env=environment(clock), capture_output=True, text=True)
                if done.returncode not in (0, 1, 3):
                    sys.exit(f"day {day}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
                git(folder, "add", "status")
                git(folder, "commit", "--quiet", "-m", f"day {day}, run {run}")
        print(f"{URLS} URLs, {DAYS} days, runs a day: {RUNS}, changes of URLs: {world.news}")
        print(f"git gc: grown by {size(folder) - before:,} bytes")
        breakdown(folder)
        print(f"git gc --aggressive: grown by {size(folder, '--aggressive') - before:,} bytes")
        tree = sum(path.stat().st_size for path in (folder / "status").rglob("*") if path.is_file())
        print(f"the folder of the ledger has {tree:,} bytes")


main()
