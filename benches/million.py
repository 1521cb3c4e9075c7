"""Memory and time for a million records (RECORDS), in one domain file and in 1,000 files: `lint`, `list`, `check`
and `run` of every record on a server on loopback that serves the same bytes for every path. `.ci/long million` runs
this script. RECORDS=100000 takes about five minutes with an unoptimized build.

URLDB names a binary to compare with, for example of an earlier version.
"""

import hashlib
import os
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

from support import measured

RECORDS = int(os.environ.get("RECORDS", 1_000_000))
BINARIES = ["urldb", *filter(None, [os.environ.get("URLDB")])]
BODY = b"the same bytes\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY

def serve(listener):
    """Answers every request of every connection with the same bytes."""

    def answer(connection):
        with connection:
            pending = b""
            while piece := connection.recv(65536):
                pending += piece
                complete = pending.count(b"\r\n\r\n")
                pending = pending.rpartition(b"\r\n\r\n")[2] if complete else pending
                connection.sendall(ANSWER * complete)

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def domain_file(path, records):
    """Writes a canonical domain file of static records."""
    promise = f"content-length: {len(BODY)}\ncontent-sha256: {hashlib.sha256(BODY).hexdigest()}\ncontent-type: text/csv\n"
    with open(path, "w") as file:
        file.write("---\n")
        file.writelines(f"---\n_path: /data/table-{number:07}.csv\n{promise}" for number in range(records))


def repository(folder, hosts, each, port):
    """A repository with `each` records for each host, all of which are on the port."""
    database = folder / "urldb"
    database.mkdir(parents=True)
    names = [f"h{number:04}.example.org" for number in range(hosts)]
    places = ", ".join(f'"{name}:80=127.0.0.1:{port}"' for name in names)
    settings = f'[network]\nmap = [{places}]\n[check]\nhost-interval = "0s"\nhost-concurrency = 16\n'
    (folder / "urldb.toml").write_text(settings)
    domain_file(database / f"{names[0]}.yaml", each)
    for name in names[1:]:
        shutil.copy(database / f"{names[0]}.yaml", database / f"{name}.yaml")


def main():
    with tempfile.TemporaryDirectory() as scratch, socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        for hosts in (1, 1000):
            repo = Path(scratch, f"{hosts}-files")
            repository(repo, hosts, RECORDS // hosts, listener.getsockname()[1])
            for arguments in (["lint"], ["list"], ["check", "--path-prefix", "/data/table-0000001"], ["check"], ["run"]):
                commands = {
                    f"{RECORDS:,} records in {hosts} files, {binary} {' '.join(arguments)}": ([binary, *arguments], repo)
                    for binary in BINARIES
                }
                measured(commands, attempts=1)


sys.exit(main())
