"""Measures the cost of bodies that are small when sent and huge when decoded, and of bodies without end: time and
peak of memory of `urldb check` on a loopback server. The script only prints figures. `.ci/long bombs` runs it.
"""

import gzip
import hashlib
import http.server
import sys
import tempfile
import threading
import zlib
from pathlib import Path

from support import timed

MIB = 1 << 20
PIECE = bytes(MIB)


def zeros_in(wbits, mebibytes):
    """This many MiB of zeros, compressed."""
    coder = zlib.compressobj(9, wbits=wbits)
    return b"".join(coder.compress(PIECE) for _ in range(mebibytes)) + coder.flush()


def digest_of_zeros(mebibytes):
    digest = hashlib.sha256()
    for _ in range(mebibytes):
        digest.update(PIECE)
    return digest.hexdigest()


CODED = {
    "/small": ("gzip", gzip.compress(b"small")),
    "/gzip-256": ("gzip", zeros_in(31, 256)),
    "/gzip-4096": ("gzip", zeros_in(31, 4096)),
    "/deflate-4096": ("deflate", zeros_in(15, 4096)),
}
PROMISED = {
    "/small": hashlib.sha256(b"small").hexdigest(),
    "/gzip-256": digest_of_zeros(256),
    "/gzip-4096": "0" * 64,
    "/deflate-4096": "0" * 64,
    "/endless": "0" * 64,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        if self.path in CODED:
            coding, body = CODED[self.path]
            self.send_header("Content-Encoding", coding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.end_headers()
        try:
            while True:
                self.wfile.write(PIECE)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as repo:
        (Path(repo) / "urldb").mkdir()
        (Path(repo) / "urldb.toml").write_text('[check]\nmax-body = "512MiB"\n')
        for path, digest in PROMISED.items():
            record = f"---\n---\n_path: {path}\ncontent-sha256: '{digest}'\n"
            (Path(repo) / "urldb" / "bombs.example.org.yaml").write_text(record)
            sent = f", {len(CODED[path][1])} bytes on the wire" if path in CODED else ""
            mapping = f"bombs.example.org=127.0.0.1:{server.server_port}"
            seconds, peak, said = timed(["urldb", "check", "--map", mapping], repo, expected=(0, 1, 3))
            print(f"{path}{sent}: {seconds:.2f} s, {peak:.1f} MiB")
            print("  " + said.strip().replace("\n", "\n  "))
    server.shutdown()


sys.exit(main())
