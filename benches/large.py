"""One file of 1 GiB on nginx: `urldb check` beside `curl | sha256sum`. `.ci/long large` runs it."""

import hashlib
import random
import sys
import tempfile
from pathlib import Path

from support import measured, nginx, repository

SIZE, PIECE, HOST = 1 << 30, 1 << 20, "data.example.org"


def main():
    rng = random.Random(61)
    with tempfile.TemporaryDirectory() as scratch:
        www, repo = Path(scratch, "www"), Path(scratch, "repo")
        www.mkdir()
        digest = hashlib.sha256()
        with open(www / "large", "wb") as file:
            for _ in range(SIZE // PIECE):
                piece = rng.randbytes(PIECE)
                file.write(piece)
                digest.update(piece)
        record = f"---\n---\n_path: /large\ncontent-length: {SIZE}\ncontent-sha256: {digest.hexdigest()}\n"
        repository(repo, "", {HOST: record})
        with nginx(scratch, www) as port:
            times = measured(
                {
                    "urldb": (["urldb", "check", "--quiet", "--map", f"{HOST}:80=127.0.0.1:{port}"], repo),
                    "curl | sha256sum": (f"curl --silent http://127.0.0.1:{port}/large | sha256sum", scratch),
                }
            )
            print(f"urldb is {times['curl | sha256sum'] / times['urldb']:.1f} times as fast")


sys.exit(main())
