"""Measures seconds and memory of each archive command for one record of 5 GiB (SIZE, in bytes), as gzip and plain,
compared with warcio and fastwarc. Then it measures runs that fetch such a file, archive it, and find it unchanged.
`.ci/long record` runs this script, which needs four times the space in TMPDIR. ONLY=verify compares `archive verify`
with fastwarc, in turn, and does nothing else; URLDB names a further binary for that.
"""

import hashlib
import os
import random
import shutil
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from support import BINARIES, installed, measured, nginx, repository

SIZE, PIECE, HOST = int(os.environ.get("SIZE", 5 << 30)), 1 << 20, "data.example.org"
DATE = "2026-11-20T06:00:00Z"


class Gzip:
    """Writes gzip members from chunks that are compressed once: compressing all would take minutes."""

    def __init__(self, path):
        self.file, self.known = open(path, "wb"), {}

    def member(self, pieces):
        self.file.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        checksum, length = 0, 0
        for piece in pieces:
            if piece not in self.known:
                squeeze = zlib.compressobj(6, wbits=-15)
                self.known[piece] = squeeze.compress(piece) + squeeze.flush(zlib.Z_FULL_FLUSH)
            self.file.write(self.known[piece])
            checksum, length = zlib.crc32(piece, checksum), length + len(piece)
        self.file.write(b"\x03\0" + checksum.to_bytes(4, "little") + (length % (1 << 32)).to_bytes(4, "little"))


class Plain:
    """Writes chunks without compression."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def member(self, pieces):
        self.file.writelines(pieces)


def record(number, path, body):
    """The chunks of a response record with this body, which is a list of chunks too."""
    length = sum(map(len, body))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % length
    payload, block = hashlib.sha256(), hashlib.sha256(head)
    for piece in body:
        payload.update(piece)
        block.update(piece)
    fields = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\n"
        f"WARC-Date: {DATE}\r\nWARC-Target-URI: http://{HOST}{path}\r\n"
        f"WARC-Payload-Digest: sha256:{payload.hexdigest()}\r\nWARC-Block-Digest: sha256:{block.hexdigest()}\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(head) + length}\r\n\r\n"
    )
    return [fields.encode() + head, *body, b"\r\n\r\n"], payload.hexdigest()


def content(rng):
    """Content of which half compresses well, like most content of the web."""
    text = [b" ".join(b"%d" % rng.randrange(1000) for _ in range(PIECE // 3))[:PIECE] for _ in range(8)]
    pieces = [piece for pair in zip([rng.randbytes(PIECE) for _ in range(8)], text) for piece in pair]
    return [pieces[number % len(pieces)] for number in range(SIZE // PIECE)]


def archives(scratch, rng):
    """Creates a repository per storage form, with the record between two small ones, and a promise."""
    large, digest = record(2, "/large", content(rng))
    small = [record(number, f"/small/{number}", [b"small"])[0] for number in (1, 3)]
    promise = f"---\n---\n_path: /large\ncontent-length: {SIZE}\ncontent-sha256: {digest}\n"
    repos = {}
    for name, kind, end in (("gzip", Gzip, ".warc.gz"), ("plain", Plain, ".warc")):
        repo = Path(scratch, name)
        repository(repo, "", {HOST: promise})
        (repo / "archive").mkdir()
        output = kind(repo / "archive" / f"record{end}")
        starts = []
        for pieces in (small[0], large, small[1]):
            starts.append(output.file.tell())
            output.member(pieces)
        output.file.close()
        repos[name] = (repo, Path(output.file.name), starts)
        print(f"{name}: {os.path.getsize(output.file.name) / 1e9:.2f} GB")
    return repos, promise


def check_zip(path, file):
    """Ends the script unless another program reads the WACZ file, whose sizes need 64 bits in its directory."""
    with zipfile.ZipFile(path) as package:
        member = package.getinfo(f"archive/{file.name}")
        stored = member.compress_type == zipfile.ZIP_STORED and member.file_size == file.stat().st_size
        if not stored or package.testzip() is not None:
            sys.exit(f"{path} is damaged: {member}")


def reading(name, repo, file):
    """Runs all commands that do not change the archive."""
    url = f"http://{HOST}/large"
    commands = {
        "archive index": ["index"],
        "archive verify": ["verify", "--quiet"],
        "archive get -o": ["get", "--quiet", "-o", "got", url],
        "archive export --warc": ["export", "--quiet", "--warc", "copy", "--version", "1.0"],
        "archive export --bagit": ["export", "--quiet", "--bagit", "bag"],
        "archive export --wacz": ["export", "--quiet", "--wacz", "all.wacz"],
    }
    for what, arguments in commands.items():
        measured({f"{name}, urldb {what}": (["urldb", "archive", *arguments], repo)}, 1)
        if (repo / "all.wacz").exists():
            check_zip(repo / "all.wacz", file)
        for made in ("copy", "bag", "got", "all.wacz"):
            path = repo / made
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for peer, command in (("warcio", ["warcio", "index", str(file)]), ("fastwarc", ["fastwarc", "check", str(file)])):
        if installed(peer, f"`pip install {peer}` to compare with it"):
            measured({f"{name}, {' '.join(command[:2])}": (command, repo)}, 1)


def verifying(name, repo, file):
    """Verifies the archive, in turn with the other programs."""
    commands = {f"{name}, {binary} archive verify": ([binary, "archive", "verify", "--quiet"], repo) for binary in BINARIES}
    if installed("fastwarc", "`pip install fastwarc` to compare with it"):
        # Without the option, it compares the digest of the block alone.
        for options in ([], ["--verify-payloads"]):
            command = ["fastwarc", "check", *options, str(file)]
            commands[f"{name}, {' '.join(command[:-1])}"] = (command, repo)
    measured(commands)


def repairing(name, repo, file, starts):
    """Repairs an archive whose last record is truncated, then one whose large record has an overwritten start."""
    repair = (["urldb", "archive", "repair", "--quiet"], repo)
    os.truncate(file, (starts[2] + file.stat().st_size) // 2)
    measured({f"{name}, urldb archive repair, small record cut": repair}, 1)
    with open(file, "r+b") as output:
        output.seek(starts[1])
        output.write(bytes(16))
    measured({f"{name}, urldb archive repair, large record damaged": repair}, 1)


def writing(scratch, promise, rng):
    """Runs urldb twice on the file: the second run finds it unchanged."""
    www, repo = Path(scratch, "www"), Path(scratch, "repo")
    www.mkdir()
    with open(www / "large", "wb") as file:
        file.writelines(content(rng))
    repository(repo, '[check]\ntimeout = "1h"\nmax-body = "16GiB"\n', {HOST: promise})
    with nginx(scratch, www) as port:
        command = ["urldb", "run", "--quiet", "--map", f"{HOST}:80=127.0.0.1:{port}"]
        for which in ("first", "second"):
            measured({f"urldb run, {which}": (command, repo)}, 1)
    print(f"archived in {sum(file.stat().st_size for file in (repo / 'archive').glob('*.warc.gz')) / 1e9:.2f} GB")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        free = shutil.disk_usage(scratch).free
        if free < 4 * SIZE:
            return f"{scratch} has {free / 1e9:.0f} GB of free space, and {4 * SIZE / 1e9:.0f} GB are needed"
        repos, promise = archives(scratch, random.Random(5))
        for name, (repo, file, starts) in repos.items():
            if os.environ.get("ONLY") == "verify":
                verifying(name, repo, file)
                continue
            reading(name, repo, file)
            repairing(name, repo, file, starts)
            shutil.rmtree(repo)
        if os.environ.get("ONLY") != "verify":
            writing(scratch, promise, random.Random(5))
    return None


sys.exit(main())
