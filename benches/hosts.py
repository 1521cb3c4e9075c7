"""Measures time and memory of `urldb check` with 100,000 records over 1,000 virtual hosts: once with all hosts
answering, once with 50 hosts that accept connections and never answer. `.ci/long hosts` runs this script. URLDB names
a binary to compare with.
"""

import socket
import sys
import tempfile
import threading
from pathlib import Path

from support import BINARIES, measured, nginx, repository

HOSTS, EACH, HANGING, PATIENCE = 1_000, 100, 50, 10


def silent(listener):
    """Accepts connections, and keeps them open."""
    kept = []
    while True:
        kept.append(listener.accept()[0])


def main():
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of `test`
    record = "---\n_path: /{:03}\ncontent-length: 4\ncontent-sha256: " + digest + "\n"
    text = "---\n" + "".join(record.format(number) for number in range(EACH))
    names = [f"h{number:04}.example.org" for number in range(HOSTS)]
    with tempfile.TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        threading.Thread(target=silent, args=(listener,), daemon=True).start()
        www = Path(scratch, "www")
        www.mkdir()
        for number in range(EACH):
            (www / f"{number:03}").write_text("test")
        with nginx(scratch, www) as port:
            deaf = listener.getsockname()[1]
            commands = {}
            for hanging in (0, HANGING):
                ports = [deaf if number % (HOSTS // HANGING) == 0 and hanging else port for number in range(HOSTS)]
                places = ", ".join(f'"{name}:80=127.0.0.1:{to}"' for name, to in zip(names, ports))
                settings = (
                    f'[network]\nmap = [{places}]\n[check]\nhost-interval = "0s"\nretry-wait = "1s"\n'
                    f'head-timeout = "3s"\nhost-patience = "{PATIENCE}s"\n'
                )
                repo = Path(scratch, f"hanging-{hanging}")
                repository(repo, settings, dict.fromkeys(names, text))
                for binary in BINARIES:
                    name = f"{HOSTS * EACH:,} records, {hanging} hosts hang, {binary}"
                    commands[name] = ([binary, "check", "--quiet"], repo)
            measured(commands, attempts=3, expected=(0, 1))


sys.exit(main())
