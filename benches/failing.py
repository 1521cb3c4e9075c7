"""Time and memory of `urldb check` with 100,000 records over 500 virtual hosts: all as promised, all 404 with a page of
2 kB, and all with one wrong page in place of the promised bytes. `.ci/long failing` runs this script. URLDB names a
binary to compare with. RECORDS is another number of records.
"""

import os
import sys
import tempfile
from pathlib import Path

from support import BINARIES, measured, nginx, repository

RECORDS, HOSTS = int(os.environ.get("RECORDS", 100_000)), 500
PAGE = "<!doctype html><title>Nothing</title>" + "<p>nothing here</p>" * 100
ANSWERS = {
    "as promised": "default_type text/plain; return 200 'test';",
    "404": f"default_type text/html; return 404 '{PAGE}';",
    "one page": f"default_type text/html; return 200 '{PAGE}';",
}


def main():
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of `test`
    record = "---\n_path: /{:05}.html\ncontent-length: 4\ncontent-sha256: " + digest + "\n"
    text = "---\n" + "".join(record.format(number) for number in range(RECORDS // HOSTS))
    names = [f"h{number:03}.example.org" for number in range(HOSTS)]
    for name, answer in ANSWERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            www = Path(scratch, "www")
            www.mkdir()
            with nginx(scratch, www, location=answer) as port:
                places = ", ".join(f'"{host}:80=127.0.0.1:{port}"' for host in names)
                settings = f'[network]\nmap = [{places}]\n[check]\nhost-interval = "0s"\nretry-wait = "1ms"\nretries = 1\n'
                repo = Path(scratch, "repo")
                repository(repo, settings, dict.fromkeys(names, text))
                commands = {
                    f"{RECORDS:,} records, {name}, {binary}": ([binary, "check", "--quiet"], repo) for binary in BINARIES
                }
                measured(commands, attempts=1, expected=(0, 1))


sys.exit(main())
