"""Contents and records of generated archives."""

import base64
import gzip
import hashlib

HOST = "data.example.org"


def content(rng, size):
    """Content of which half compresses well, like most content of the web."""
    text = b" ".join(b"%d" % rng.randrange(1000) for _ in range(size // 4))
    return (rng.randbytes(size // 2) + text)[:size].ljust(size, b".")


def response(number, body):
    """A response record as a gzip member."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
    fields = (
        "WARC/1.1\r\nWARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\nWARC-Date: 2026-11-20T06:00:00Z\r\n"
        f"WARC-Target-URI: http://{HOST}/{number:08}\r\n"
        f"WARC-Payload-Digest: sha1:{base64.b32encode(hashlib.sha1(body).digest()).decode()}\r\n"
        f"WARC-Block-Digest: sha1:{base64.b32encode(hashlib.sha1(head + body).digest()).decode()}\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
    )
    return gzip.compress(fields.encode() + head + body + b"\r\n\r\n", 6, mtime=0)
