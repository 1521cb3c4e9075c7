"""Runs examples/slurm/urldb.sh on a Slurm cluster of one machine: a controller and two nodes on loopback, an array
of eight shards and the collecting job. Then shard 3 alone, as after a failure. Compares the ledger with that of one
process. `.ci/long slurm` runs this script; it needs the packages slurm-wlm and munge, and root.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import free_port, installed, nginx, repository

SOURCE = Path(__file__).resolve().parent.parent
HOSTS, EACH, SHARDS = 50, 40, 8

CONFIGURATION = """ClusterName=t
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldLogFile={folder}/log/controller
SlurmdLogFile={folder}/log/%n
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=4000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=4000 State=UNKNOWN
PartitionName=p Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def cluster(folder):
    """A controller and two nodes, which end with the block. Returns the environment of Slurm's commands."""
    for name in ("state", "log", "spool-n1", "spool-n2"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    folder.chmod(0o755)
    configuration = folder / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    ports = {name: free_port() for name in ("controller", "first", "second")}
    configuration.write_text(CONFIGURATION.format(folder=folder, host=host, **ports))
    environment = os.environ | {"SLURM_CONF": str(configuration)}
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.sock", f"--key-file={key}"]
    munge += [f"--pid-file={folder}/munge.pid", f"--log-file={folder}/log/munge", f"--seed-file={folder}/munge.seed"]
    commands = [munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]]
    daemons = []
    try:
        for command in commands:
            with open(folder / "log" / f"{len(daemons)}.out", "ab") as output:
                daemons.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
            time.sleep(1)
        until = time.monotonic() + 60
        while run(["sinfo", "--noheader", "--format=%t %D"], environment).split() != ["idle", "2"]:
            if time.monotonic() > until:
                sys.exit("the nodes do not become idle: " + run(["sinfo", "--long", "--Node"], environment))
            time.sleep(0.5)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()


def run(command, environment, cwd=None):
    done = subprocess.run([str(word) for word in command], env=environment, cwd=cwd, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else f"{done.stdout}{done.stderr}"


def ended(job, environment):
    """Waits for the end of a job, and returns its state and exit code."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        shown = run(["scontrol", "show", "job", job, "--oneliner"], environment)
        states = re.findall(r"JobState=(\w+)", shown)
        if states and all(state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING") for state in states):
            return re.findall(r"JobState=(\w+).*?ExitCode=(\d+):", shown)
        time.sleep(0.5)
    sys.exit(f"job {job} does not end: {shown}")


def statuses(repo):
    """State and reason of each URL, by file; times and ids differ between two runs."""
    found = {}
    for path in sorted((repo / "status").glob("*.yaml")):
        lines = path.read_text().splitlines()
        found[path.name] = [line for line in lines if line.split(":")[0] in ("_path", "state", "reason", "bad-response")]
    return found


def main():
    programs = all(installed(name, "`apt-get install slurm-wlm munge`") for name in ("slurmctld", "slurmd", "munged"))
    if not programs or os.geteuid() != 0:
        print("Slurm was not tried")
        return
    with tempfile.TemporaryDirectory() as scratch:
        www = Path(scratch, "www")
        www.mkdir()
        for number in range(EACH):
            (www / f"{number:02}").write_text("test")
        digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of `test`
        record = "---\n_path: /{:02}\ncontent-length: 4\ncontent-sha256: " + digest + "\n"
        text = "---\n" + "".join(record.format(number) for number in range(EACH + 1))  # the last one is gone
        names = [f"h{number:02}.example.org" for number in range(HOSTS)]
        with nginx(scratch, www) as port, cluster(Path(scratch, "slurm")) as environment:
            environment["GIT_CONFIG_GLOBAL"] = str(Path(scratch, "gitconfig"))
            for key, value in (("user.name", "Slurm"), ("user.email", "slurm@example.org")):
                subprocess.run(["git", "config", "--global", key, value], env=environment, check=True)
            places = ", ".join(f'"{name}:80=127.0.0.1:{port}"' for name in names)
            repo = Path(scratch, "repo")
            repository(repo, f'[check]\nretry-wait = "10ms"\n[network]\nmap = [{places}]\n', dict.fromkeys(names, text))
            for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Promise"]):
                subprocess.run(["git", *command], cwd=repo, env=environment, check=True)
            alone, again = Path(scratch, "alone"), Path(scratch, "again")
            shutil.copytree(repo, alone)
            shutil.copytree(repo, again)
            bundles = Path(scratch, "bundles")
            bundles.mkdir()

            began = time.monotonic()
            subprocess.run(["urldb", "run", "--quiet"], cwd=alone, stdout=subprocess.DEVNULL)
            print(f"{HOSTS * EACH:,} URLs and {HOSTS} gone ones in one process: {time.monotonic() - began:.1f} s")
            began = time.monotonic()
            submit = [SOURCE / "examples" / "slurm" / "urldb.sh", repo, bundles, SHARDS]
            job = run(submit, environment)
            (state, code), *_ = ended(job, environment)
            folder = next(bundles.iterdir())
            log = (folder / "collect.log").read_text()
            manifests = sorted(path.parent.parent.name for path in folder.glob("*/*/manifest.json"))
            print(f"the same in {len(manifests)} tasks on two nodes, and collected: {time.monotonic() - began:.1f} s")
            assert len(manifests) == SHARDS, f"{manifests}\n{log}"
            # Broken URLs are exit code 1, which Slurm calls a failed job.
            assert (state, code) == ("FAILED", "1"), f"{state} {code}\n{log}"
            assert statuses(repo) == statuses(alone), f"the ledger is another one\n{log}"
            assert "\nRun 20" in run(["git", "log", "-1", "--format=%B"], environment, repo), log

            # Shard 3 fails, and runs again alone: Slurm then counts one task.
            folder = bundles / "again"
            wrap = f"urldb -C {again} run --shard $SLURM_ARRAY_TASK_ID/{SHARDS} --to {folder}"
            for tasks in ("1-2,4-8", "3"):
                array = ["sbatch", "--parsable", f"--array={tasks}", f"--chdir={bundles}", "--wrap", wrap]
                codes = {code for _, code in ended(run(array, environment), environment)}
                assert codes == {"0"}, f"{codes}: " + "".join(path.read_text() for path in bundles.glob("slurm-*.out"))
            done = subprocess.run(["urldb", "run", "--from", folder, "--format", "json"], cwd=again, capture_output=True, text=True)
            assert done.returncode == 1 and not done.stderr, f"{done.returncode} {done.stderr}"
            assert json.loads(done.stdout)["summary"]["coverage"]["due"] == HOSTS * (EACH + 1), done.stdout[-2000:]
            assert statuses(again) == statuses(alone), "the ledger after a repeated task is another one"
            zero = ["sbatch", "--parsable", "--array=0-7", f"--chdir={bundles}", "--wrap", wrap]
            codes = {code for _, code in ended(run(zero, environment), environment)}
            assert codes == {"0", "2"}, f"an array from 0 ended with {codes}"
            print("a repeated task is the same shard; task 0 is refused")


sys.exit(main())
