#!/usr/bin/env python3
"""How long `urldb check` takes for 10,000 files of 4 KiB on nginx, and how much memory, beside lychee
where that is installed. Figures only; nothing here can fail a change. `.ci/long fetch` runs it.
"""

import hashlib
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES, SIZE, HOST = 10_000, 4096, "data.example.org"


def measured(name, *command, cwd, attempts=3):
    """Prints the wall-clock time of each attempt, and the peak of memory."""
    for _ in range(attempts):
        began = time.monotonic()
        child = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds, code = time.monotonic() - began, os.waitstatus_to_exitcode(status)
        print(f"{name}: {seconds:.2f} s, {usage.ru_maxrss / 1024:.0f} MiB, exit code {code}")
        if code:
            print(errors.decode()[-1000:])


def main():
    rng = random.Random(60)
    with tempfile.TemporaryDirectory() as scratch:
        www, repo = Path(scratch, "www"), Path(scratch, "repo")
        www.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        subprocess.run(["urldb", "init", repo], check=True, stdout=subprocess.DEVNULL)
        (repo / "urldb.toml").write_text('[network]\nallow = ["127.0.0.1/32"]\n[check]\nhost-concurrency = 32\nhost-interval = "0s"\n')

        records = ["---\n"]
        for number in range(FILES):
            content = rng.randbytes(SIZE)
            (www / f"{number:05}").write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            records.append(f"---\n_path: /{number:05}\ncontent-length: {SIZE}\ncontent-sha256: {digest}\n")
        (repo / "urldb" / f"{HOST}.yaml").write_text("".join(records))
        subprocess.run(["urldb", "fmt"], cwd=repo, check=True)

        Path(scratch, "nginx.conf").write_text(
            f"daemon off; master_process off; pid nginx.pid; error_log nginx.log;\n"
            f"events {{ worker_connections 512; }}\n"
            f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {www}; }} }}\n"
        )
        nginx = subprocess.Popen(["nginx", "-e", "nginx.log", "-p", scratch, "-c", "nginx.conf"])
        try:
            time.sleep(1)
            mapping = f"{HOST}:80=127.0.0.1:{port}"
            measured("urldb, bytes compared", "urldb", "check", "--quiet", "--map", mapping, cwd=repo)
            if shutil.which("lychee"):
                links = Path(scratch, "links.txt")
                links.write_text("".join(f"http://127.0.0.1:{port}/{number:05}\n" for number in range(FILES)))
                # Its politeness is switched off as ours is, and the concurrency is the same.
                gentle = ["--host-request-interval", "0ms", "--host-concurrency", "32", "--max-concurrency", "32"]
                measured("lychee, answers only", "lychee", "--quiet", "--no-progress", *gentle, str(links), cwd=scratch)
            else:
                print("lychee is not installed: `cargo install --locked lychee` to compare with it")
        finally:
            nginx.terminate()
            nginx.wait()


sys.exit(main())
