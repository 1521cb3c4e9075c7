"""Times the pre-commit hook in made repositories, as `git commit` starts it: FILES domain files (10,000), one of them
staged, in order and not; and OTHERS files (100,000), domain files or others, with nothing of the database staged.
`git diff --cached --name-only` runs in turn with the hook. `.ci/long hook` prints medians of RUNS runs (20).
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

FILES = int(os.environ.get("FILES", 10_000))
OTHERS = int(os.environ.get("OTHERS", 100_000))
RUNS = int(os.environ.get("RUNS", 20))
ORDERED = "---\n---\n_path: /a\nname: one\n---\n_path: /b\n"
REVERSED = "---\n---\n_path: /b\n---\n_path: /a\nname: two\n"
# The index is the repository's, as in a plain `git commit`.
HOOK_ENV = {**os.environ, "GIT_INDEX_FILE": ".git/index", "GIT_PREFIX": ""}


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder):
    """Commits all files; git then has the ids of all folders in its index."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "files")


def repository(folder, domains, others=0):
    """A repository with so many domain files and other files, and with the hook."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    for key, value in (("user.name", "urldb"), ("user.email", "urldb@example.org"), ("gc.auto", "0")):
        git(folder, "config", key, value)
    subprocess.run(["urldb", "init"], cwd=folder, check=True, capture_output=True)
    for number in range(domains):
        (folder / "urldb" / f"site{number:06}.example.yaml").write_text(ORDERED)
    for number in range(others):
        path = folder / "data" / f"{number // 1000:03}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a file\n")
    subprocess.run(["urldb", "hook", "install"], cwd=folder, check=True, capture_output=True)
    commit(folder)
    git(folder, "gc", "--quiet", "--force")
    return folder


def stage(folder, path, text):
    """Stages a file, and lets git cache the ids of all folders, as `git commit` does before the hook."""
    (folder / path).write_text(text)
    git(folder, "add", path)
    git(folder, "write-tree")


def timed(command, folder, env=HOOK_ENV):
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, env=env, capture_output=True)
    return (time.perf_counter() - began) * 1000


def measure(name, folder, prepare):
    """Times the hook and `git diff --cached` in turn; `prepare` comes before each run of the hook."""
    hook, diff = [], []
    for attempt in range(RUNS + 2):
        prepare()
        seconds = timed(["git", "diff", "--cached", "--name-only"], folder), timed([".git/hooks/pre-commit"], folder)
        if attempt >= 2:
            diff.append(seconds[0])
            hook.append(seconds[1])
    ratio = statistics.median(a / b for a, b in zip(hook, diff))
    print(
        f"{name}: hook {statistics.median(hook):.1f} ms ({min(hook):.1f} to {max(hook):.1f}), "
        f"git diff --cached {statistics.median(diff):.1f} ms; ratio, run by run, {ratio:.2f}"
    )


def main():
    scratch = Path(tempfile.mkdtemp())
    try:
        folder = repository(scratch / "files", FILES)
        path = "urldb/site000007.example.yaml"
        measure(f"{FILES} domain files, one staged and in order", folder, lambda: stage(folder, path, ORDERED + "name: x\n"))
        measure(f"{FILES} domain files, one staged and to be put in order", folder, lambda: stage(folder, path, REVERSED))
        stage(folder, path, ORDERED)
        measure(f"{FILES} domain files, nothing staged", folder, lambda: None)
        folder = repository(scratch / "many", OTHERS)
        measure(f"{OTHERS} domain files, nothing staged", folder, lambda: None)
        stage(folder, "notes.txt", "notes\n")
        measure(f"{OTHERS} domain files, another file staged", folder, lambda: None)
        folder = repository(scratch / "others", 10, OTHERS)
        stage(folder, "notes.txt", "notes\n")
        measure(f"{OTHERS} other files, one of them staged", folder, lambda: None)
        print(f"urldb --version: {statistics.median(timed(['urldb', '--version'], scratch) for _ in range(RUNS)):.1f} ms")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
