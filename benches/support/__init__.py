"""Shared by the scripts of benches/: an nginx on loopback, a repository, and commands measured in turn."""

import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# URLDB names a second binary to compare with, for example of an earlier version.
BINARIES = ["urldb", *filter(None, [os.environ.get("URLDB")])]


def free_port():
    """A free port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def nginx(scratch, www, port=None, globally="", http="", server="", location=""):
    """Serves the folder `www` for every host name, and returns the port. The other arguments are further lines of
    the configuration, for the part that each argument names.
    """
    port = port or free_port()
    Path(scratch, "nginx.conf").write_text(
        f"daemon off; master_process off; pid nginx.pid; error_log nginx.log;\n{globally}\n"
        "events { worker_connections 4096; }\n"
        f"http {{ access_log off; {http}\n"
        f"server {{ listen 127.0.0.1:{port} default_server backlog=4096; {server}\n"
        f"root {www}; location / {{ {location} }} }} }}\n"
    )
    process = subprocess.Popen(["nginx", "-e", "nginx.log", "-p", scratch, "-c", "nginx.conf"])
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def repository(folder, settings, domains):
    """A repository with this urldb.toml and these domain files, in canonical form."""
    subprocess.run(["urldb", "init", folder], check=True, stdout=subprocess.DEVNULL)
    Path(folder, "urldb.toml").write_text(settings)
    for host, text in domains.items():
        Path(folder, "urldb", f"{host}.yaml").write_text(text)
    subprocess.run(["urldb", "fmt"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def high_water(pid):
    """The peak of memory of the process so far, in KiB. wait4 would count the parent process too."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


def timed(command, cwd, expected=(0,)):
    """Runs a command (argument list or shell text). Returns seconds, peak of memory in MiB, and the output."""
    began, peak = time.monotonic(), 0
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=cwd, shell=isinstance(command, str), stdout=output, stderr=output)
        while child.poll() is None:
            peak = max(peak, high_water(child.pid))
            time.sleep(0.005)
        seconds = time.monotonic() - began
        output.seek(0)
        said = output.read().decode(errors="replace")
    if child.returncode not in expected:
        print(f"exit code {child.returncode} of {command}", said[-1000:], sep="\n", file=sys.stderr)
    return seconds, peak / 1024, said


def measured(commands, attempts=5, expected=(0,)):
    """Runs the commands in turn, so that other load on this machine affects all of them equally.

    `commands` maps a name to (argument list or shell text, working folder). Prints the wall-clock
    time of each attempt and, for an argument list, the peak of memory. Returns the median times.
    """
    seconds = {name: [] for name in commands}
    peaks = {name: [] for name in commands}
    for _ in range(attempts):
        for name, (command, cwd) in commands.items():
            took, peak, _ = timed(command, cwd, expected)
            seconds[name].append(took)
            peaks[name].append(peak)
    for name, times in seconds.items():
        each = " ".join(f"{time:.2f}" for time in sorted(times))
        memory = "" if isinstance(commands[name][0], str) else f"; at most {max(peaks[name]):.1f} MiB"
        print(f"{name}: median {statistics.median(times):.2f} s of {each}{memory}")
    return {name: statistics.median(times) for name, times in seconds.items()}


def installed(program, how):
    """Whether a program is installed for comparison. If not, prints how to install it."""
    if shutil.which(program):
        return True
    print(f"{program} is not installed: {how}")
    return False
