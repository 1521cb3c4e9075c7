"""Compares `urldb check`, which compares every byte, with lychee, which checks statuses, and with `curl --parallel`,
which discards the bodies. All fetch 10,000 files of 4 KiB from nginx. `.ci/long fetch` runs this script. URLDB names
a binary to compare with, for example of an earlier version.
"""

import hashlib
import random
import sys
import tempfile
from pathlib import Path

from support import BINARIES, installed, measured, nginx, repository

FILES, SIZE, HOST, AT_ONCE = 10_000, 4096, "data.example.org", 32


def main():
    rng = random.Random(60)
    with tempfile.TemporaryDirectory() as scratch:
        www, repo = Path(scratch, "www"), Path(scratch, "repo")
        www.mkdir()
        records = ["---\n"]
        for number in range(FILES):
            content = rng.randbytes(SIZE)
            (www / f"{number:05}").write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            records.append(f"---\n_path: /{number:05}\ncontent-length: {SIZE}\ncontent-sha256: {digest}\n")
        settings = f'[check]\nhost-concurrency = {AT_ONCE}\nhost-interval = "0s"\n'
        repository(repo, settings, {HOST: "".join(records)})

        with nginx(scratch, www) as port:
            urls = [f"http://127.0.0.1:{port}/{number:05}" for number in range(FILES)]
            check = ["check", "--quiet", "--map", f"{HOST}:80=127.0.0.1:{port}"]
            commands = {
                f"{binary}, bytes compared": ([binary, *check], repo)
                for binary in BINARIES
            }
            if installed("lychee", "`cargo install --locked lychee` to compare with it"):
                links = Path(scratch, "links.txt")
                links.write_text("\n".join(urls))
                # Like urldb here, lychee runs without intervals, and with the same concurrency.
                gentle = ["--host-request-interval", "0ms", "--host-concurrency", str(AT_ONCE)]
                lychee = ["lychee", "--quiet", "--no-progress", *gentle, "--max-concurrency", str(AT_ONCE), str(links)]
                commands["lychee, answers only"] = (lychee, scratch)
            config = Path(scratch, "curl.txt")
            config.write_text("".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in urls))
            curl = ["curl", "--silent", "--parallel", "--parallel-max", str(AT_ONCE), "--config", str(config)]
            commands["curl, bodies discarded"] = (curl, scratch)
            times = measured(commands)
            for name, time in list(times.items())[1:]:
                print(f"urldb takes {times['urldb, bytes compared'] / time:.2f} of the time of {name}")


sys.exit(main())
