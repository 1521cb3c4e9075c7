"""The merge of a database of FILES domain files (1,000), to each of which both sides have added a record at the same place: by
plain git, which leaves conflicts; by git with the merge driver; and by `urldb resolve` after plain git. Prints seconds of
processor time, children included, and of the wall clock: medians of RUNS merges (5). `.ci/long merge` runs it."""

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

FILES = int(os.environ.get("FILES", 1000))
RUNS = int(os.environ.get("RUNS", 5))
RECORDS = 10


def git(*words, cwd, expected=(0,)):
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode in expected, done.stderr
    return done.stdout


def text(number, added=None):
    paths = sorted([f"/{record}.csv" for record in range(RECORDS)] + [f"/5{added}.csv"] * bool(added))
    return "---\n" + "".join(f"---\n_path: {path}\ncontent-length: {number}\n" for path in paths)


def commit(repo, added=None):
    for number in range(FILES):
        (repo / "urldb" / f"site{number:04}.example.yaml").write_text(text(number, added))
    git("add", "--all", cwd=repo)
    git("commit", "--quiet", "--no-verify", "--message", "change", cwd=repo)


def repository(folder):
    folder.mkdir()
    git("init", "--quiet", "--initial-branch", "main", cwd=folder)
    for key, value in (("user.name", "urldb"), ("user.email", "urldb@example.org"), ("gc.auto", "0")):
        git("config", key, value, cwd=folder)
    subprocess.run(["urldb", "init"], cwd=folder, check=True, capture_output=True)
    commit(folder)
    git("checkout", "--quiet", "-b", "other", cwd=folder)
    commit(folder, "a")
    git("checkout", "--quiet", "main", cwd=folder)
    commit(folder, "b")
    return folder


def cost(work):
    """Seconds of the processor and of the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def merge(repo, expected):
    git("merge", "--quiet", "--no-edit", "--no-verify", "other", cwd=repo, expected=expected)


def resolve(repo):
    subprocess.run(["urldb", "resolve", "--quiet"], cwd=repo, check=True, capture_output=True)


def main():
    costs = {"plain git": [], "urldb resolve": [], "git with the driver": []}
    with tempfile.TemporaryDirectory() as scratch:
        plain = repository(Path(scratch, "plain"))
        driven = Path(scratch, "driven")
        shutil.copytree(plain, driven)
        subprocess.run(["urldb", "hook", "install"], cwd=driven, check=True, capture_output=True)
        git("add", "--all", cwd=driven)
        git("commit", "--quiet", "--no-verify", "--allow-empty", "--message", "driver", cwd=driven)
        for repo in (plain, driven):
            git("tag", "start", cwd=repo)
        for _ in range(RUNS):
            costs["plain git"].append(cost(lambda: merge(plain, (1,))))
            costs["urldb resolve"].append(cost(lambda: resolve(plain)))
            assert not git("ls-files", "--unmerged", cwd=plain)
            costs["git with the driver"].append(cost(lambda: merge(driven, (0,))))
            for repo in (plain, driven):
                git("reset", "--quiet", "--hard", "start", cwd=repo)
        starts = [cost(lambda: subprocess.run(["urldb", "--version"], check=True, capture_output=True))[0] for _ in range(50)]
    print(f"{FILES:,} files, to each of which both sides added a record at the same place (medians of {RUNS}):")
    for door, pairs in costs.items():
        processor, clock = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
        print(f"{door}: {processor:.2f} s of processor time, {clock:.2f} s")
    driver, plain = (statistics.median(pair[0] for pair in costs[door]) for door in ("git with the driver", "plain git"))
    start = statistics.median(starts)
    print(f"the driver: {(driver - plain) / FILES * 1000:.1f} ms a file over plain git; urldb --version: {start * 1000:.1f} ms")


main()
