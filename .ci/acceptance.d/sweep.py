"""What the scripts about faults share: a command is killed, or the disk fails it, at every system call of
its main thread that touches a file of the repository. On one processor, as here, no other thread does.

A point is a system call: the n-th `write`, say. The calls are counted in a run that is left alone;
whether an injection fired is asserted each time, so that a sweep which hits nothing fails. A case gets every third point,
or fewer if its attempts take long; SWEEP=all gives it every one (`.ci/long faults`)."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from support import check

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

CALLS = "openat,write,writev,pwrite64,fsync,fdatasync,rename,renameat,renameat2,linkat,unlink,unlinkat,rmdir,mkdir,ftruncate,fchmod,flock,copy_file_range,sendfile"  # fmt: skip
ERRORS = {"openat": "ENOSPC", "write": "ENOSPC", "fsync": "EIO", "rename": "EIO", "renameat": "EIO", "mkdir": "ENOSPC", "ftruncate": "EIO", "fchmod": "EIO", "unlink": "EIO"}  # fmt: skip
CALL = re.compile(r"(\w+)\((.*)")


# Seconds after which a command hangs, and what stands for its exit code then.
LIMIT = 120
HANGS = f"none after {LIMIT} seconds"


def traced(command, cwd, inject=()):
    """The command under strace: its exit code, and the calls of its main thread."""
    log = cwd.parent / "strace.log"
    strace = ["strace", "-qq", "-y", "-s", "400", "-o", log, "-e", f"trace={CALLS}", *inject]
    with subprocess.Popen([*strace, *command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as child:  # fmt: skip
        try:
            output, code = child.communicate(timeout=LIMIT), child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, code = child.communicate(), HANGS
    return subprocess.CompletedProcess(command, code, *output), log.read_text().splitlines()


def points(lines, root):
    """(call, n) for every call that can change a file below the root. Of `openat` that is only one that
    creates: after any other, all is as it was before."""
    counts, found = {}, []
    for line in lines:
        if not (match := CALL.match(line)):
            continue
        call, arguments = match.groups()
        counts[call] = counts.get(call, 0) + 1
        if str(root) in arguments and (call != "openat" or "O_CREAT" in arguments):
            found.append((call, counts[call]))
    return found


def files(root):
    """Every file below the root but git's own objects, with its bytes."""
    found = (path for path in root.rglob("*") if path.is_file() and "objects" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def strays(root):
    """Files that only a write under way may have."""
    names = (name for name in files(root) if not name.startswith(".git/"))
    # Several processes may write to the cache: what a killed one leaves there goes after a day.
    names = [name for name in names if "/.cache/" not in name]
    return [name for name in names if "/.urldb-" in name or name.endswith((".tmp", ".open"))]


class Case:
    """A command, the repository it starts from, and how that is judged after a fault. `step` is the distance of the points
    that are tried."""

    errors = ERRORS
    # Whether a fault may miss: in a command with threads of its own, another call may have the number.
    may_miss = False

    def __init__(self, name, prepared, command, again, judge, step=3):
        self.name, self.prepared, self.command, self.again, self.judge = name, prepared, command, again, judge
        self.step = 1 if os.environ.get("SWEEP") == "all" else step
        self.work = Path("work").absolute()

    def fresh(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.prepared, self.work, symlinks=True)
        return self.work

    def sweep(self):
        """Every kill, then every error; a row of the table for each."""
        before = files(self.fresh())
        done, lines = traced(self.command, self.work)
        after = files(self.work)
        known = {name: {before.get(name), after.get(name)} for name in {*before, *after}}
        found = points(lines, self.work)
        check(len(found) > 5, f"{self.name}: only {len(found)} points: {done.stderr}")
        yield self.kill_all(found, known)
        yield self.fail_all(found, known)

    def inject(self, call, number, what):
        """The command with one fault: what it came to, and whether the fault was at a file. Threads that send requests are
        woken by writes, not always as many, so the same number may be another call."""
        for _ in range(5):
            done, lines = traced(self.command, self.fresh(), ["-e", f"inject={call}:{what}:when={number}"])
            # A killed process ends before its last call is made.
            calls = [line for line in lines if CALL.match(line)]
            hit = calls[-1:] if done.returncode == -9 else [line for line in calls if "(INJECTED)" in line]
            if any(str(self.work) in line for line in hit):
                return done, True
            if done.returncode == HANGS:
                break
        return done, False

    def kill_all(self, found, known):
        row = Row(self.name, "kill")
        for call, number in found[:: self.step]:
            done, was_hit = self.inject(call, number, "signal=KILL")
            row.fired += done.returncode == -9 and (was_hit or self.may_miss)
            self.look(row, known, f"killed at {call} {number}")
        return row

    def fail_all(self, found, known):
        row = Row(self.name, "error")
        found = [(call, number) for call, number in found if call in self.errors]
        for call, number in found[self.step // 2 :: self.step]:
            done, was_hit = self.inject(call, number, f"error={self.errors[call]}")
            if not was_hit and self.may_miss:
                continue
            row.fired += was_hit
            what = f"{self.errors[call]} at {call} {number}"
            left = [name for name in strays(self.work) if not name.endswith(".open")]
            row.note("strays", left, f"{what}: left at once")
            if done.returncode == self.judge.code:  # it says that all went well
                row.note("silent", self.judge.unsaid(self.work, known), what)
            else:
                row.note("silent", [] if done.returncode == 2 else [done.returncode, done.stderr], what)
            self.look(row, known, what)
        return row

    def look(self, row, known, what):
        """What the fault left, and what the next command makes of it."""
        row.points += 1
        row.note("torn", self.judge.torn(self.work, known), what)
        code = subprocess.run(self.again, cwd=self.work, capture_output=True, text=True)
        row.note("stuck", [code.stderr] if code.returncode != self.judge.code else [], what)
        row.note("torn", self.judge.unfinished(self.work, known), f"{what}, and the next command")
        row.note("strays", strays(self.work), f"{what}, and the next command")
        row.note("lost", self.judge.lost(self.work), what)


class Row:
    """One line of the table. Each kind of failure is counted, and shown with where it happened."""

    KINDS = ("torn", "stuck", "strays", "silent", "lost")

    def __init__(self, name, fault):
        self.name, self.fault, self.points, self.fired = name, fault, 0, 0
        self.failures = dict.fromkeys(self.KINDS, 0)
        self.shown = []

    def note(self, kind, problems, what):
        if problems:
            self.failures[kind] += 1
            self.shown.append(f"{self.name}: {kind}: {what}: {str(problems)[:300]}")

    def is_good(self):
        return self.points == self.fired > 0 and not any(self.failures.values())

    def __str__(self):
        counts = "".join(f"{self.failures[kind]:8}" for kind in self.KINDS)
        return f"{self.name:10}{self.fault:7}{self.points:7}{self.fired:7}{counts}"


def sweep(cases):
    """Sweeps all cases, and shows what came of it."""
    rows = [row for case in cases for row in case.sweep()]
    for row in rows:
        for failure in row.shown:
            print(failure)
    print(f"{'command':10}{'fault':7}{'points':>7}{'fired':>7}" + "".join(f"{kind:>8}" for kind in Row.KINDS))
    print(*rows, sep="\n")
    check(all(row.is_good() for row in rows), "a fault left something behind, or did not fire")
