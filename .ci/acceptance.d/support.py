"""What the acceptance scripts share: running urldb, servers on free loopback ports, and waiting.

Every server and process is a context manager, so that a script which fails leaves nothing running.
"""

import contextlib
import copy
import gzip
import hashlib
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import states

SOURCE = Path(os.environ["URLDB_SOURCE"])
OUT = Path(os.environ["ACCEPTANCE_OUT"])


def check(condition, message):
    """Ends the script with the message unless the condition holds."""
    if not condition:
        sys.exit(f"failed: {message}")


def sh(*command, cwd=".", expect=0, **options):
    """Runs a command, and ends the script with all it printed unless it exits with `expect`."""
    words, options = [str(word) for word in command], {"cwd": cwd, "capture_output": True, "text": True} | options
    if is_run(words):
        done = shard_and_collect(words, options) if "ACCEPTANCE_ONE_SHARD" in os.environ else subprocess.run(words, **options)
        if "ACCEPTANCE_STATES" in os.environ:
            states.record(Path(cwd))
    else:
        done = subprocess.run(words, **options)
    if expect is not None and done.returncode != expect:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
        sys.exit(f"failed: exit code {done.returncode} instead of {expect}: {' '.join(words)[:300]}")
    return done


def is_run(words):
    """Whether a command is a run of its own, be it at another time."""
    at = 2 if words[0] == "faketime" else 0
    return words[at : at + 2] == ["urldb", "run"] and not {"--shard", "--from"} & set(words)


def shard_and_collect(words, options):
    """Runs one shard and a collecting run in place of a run: the same must come of it. A shard that cannot do its work says
    what the run would say."""
    of_shard = list(words)
    if "--format" in words:  # a shard has no report
        at = words.index("--format")
        del of_shard[at : at + 2]
    with tempfile.TemporaryDirectory() as bundles:
        done = subprocess.run([*of_shard, "--shard", "1/1", "--to", bundles], **options)
        return done if done.returncode else subprocess.run([*words, "--from", bundles], **options)


def urldb(*arguments, **options):
    """Runs urldb as `sh` does."""
    return sh("urldb", *arguments, **options)


def git(*arguments, **options):
    """Runs git as `sh` does, and returns what it printed."""
    return sh("git", *arguments, **options).stdout.strip()


def repository(path, configuration=""):
    """A new git repository with an empty database, which may talk to loopback only."""
    path.mkdir()
    git("init", "--quiet", cwd=path)
    urldb("init", cwd=path)
    (path / "urldb.toml").write_text('[network]\nallow = ["127.0.0.1/32"]\n' + configuration)
    return path


def results(*arguments, cwd, expect):
    """The `results` of `urldb check --format json`, by URL."""
    report = json.loads(urldb("check", "--format", "json", *arguments, cwd=cwd, expect=expect).stdout)
    return {result["url"]: result for result in report["results"]}


def index_lines(archive):
    """The lines of an archive's index, in order and each once, from its compressed segments."""
    lines = set()
    for segment in (archive / "index").glob("*.cdxj.gz"):
        own = gzip.decompress(segment.read_bytes()).decode("ascii").splitlines()
        check(own == sorted(set(own)), f"{segment.name} is out of order")
        lines.update(own)
    return sorted(lines)


def index_entries(archive):
    """What the index says of captures: key, timestamp and fields of each line."""
    rows = (line.split(" ", 2) for line in index_lines(archive) if not line.startswith("continuation:"))
    return [(key, timestamp, json.loads(fields)) for key, timestamp, fields in rows]


def configure_pywb(archive):
    """Makes pywb replay an archive, by its index, as the collection `urldb`."""
    Path("config.yaml").write_text(
        f"collections:\n  urldb:\n    index_paths: {archive}/index/\n    archive_paths: {archive}/\n"
    )


PORTS = iter(random.sample(range(20_000, 32_000), 12_000))


def free_port():
    """A port of 127.0.0.1 that nothing listens on. It is given once, and is none of those that the system takes for outgoing
    connections: a server that starts slowly would else find another one there."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    sys.exit("failed: no port is free")


def wait_for(condition, what, seconds=30):
    """Polls until the condition returns something true, which is returned."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    sys.exit(f"failed: waited {seconds} s for {what}")


def listening(port):
    """Whether something accepts connections on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def process(*command, log, **options):
    """A process in the background, its output in the file `log`; it is ended with the block."""
    with open(log, "ab") as output:
        child = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, **options)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


class Site:
    """A web server for any number of hosts: `files` maps (host, path) to bytes, and `codes` to a status other than 200."""

    def __init__(self):
        self.files = {}
        self.codes = {}
        self.requests = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                key = (self.headers["Host"].split(":")[0], self.path)
                site.requests.append(key)
                body = site.files.get(key)
                self.send_response(site.codes.get(key, 404 if body is None else 200))
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # a client that was killed
                    self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def map(self, *hosts):
        """The `--map` arguments that bring the hosts here."""
        return [word for host in hosts for word in ("--map", f"{host}:80=127.0.0.1:{self.port}")]


@contextlib.contextmanager
def s3_server():
    """An S3 server (moto), and credentials for urldb in the environment. The value is its port on loopback."""
    os.environ.update({"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-K7MDENG"})
    port = free_port()
    with process("moto_server", "-H", "127.0.0.1", "-p", port, log="moto.log"):
        wait_for(lambda: listening(port), "moto", seconds=60)
        yield port


class Bucket:
    """What is below a prefix of a bucket on the server, asked behind the back of every proxy."""

    def __init__(self, server, name, prefix="project"):
        self.root, self.name, self.prefix = f"http://127.0.0.1:{server}", name, prefix
        self.ask("PUT", f"/{name}")

    def beside(self, prefix):
        """Another prefix of the same bucket."""
        other = copy.copy(self)
        other.prefix = prefix
        return other

    def ask(self, method, path, body=None, **headers):
        request = urllib.request.Request(self.root + path, data=body, method=method, headers=headers)
        request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=id/20261122/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")  # fmt: skip
        request.add_header("Content-Type", "application/octet-stream")
        for tries in range(5):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                # moto may fail at a list of a bucket into which another thread writes.
                if (method, error.code) != ("GET", 500) or tries == 4:
                    raise
            except http.client.RemoteDisconnected:
                # Seen once in CI, at its first requests. All that we ask for can be asked for twice.
                if tries == 4:
                    raise
            time.sleep(0.1)

    def path(self, name):
        return f"/{self.name}/{self.prefix}/{name}"

    def tags(self):
        """The names of all objects below the prefix, and their entity tags."""
        listed = self.ask("GET", f"/{self.name}?list-type=2&prefix={self.prefix}/").decode()
        check("<IsTruncated>true" not in listed, "more objects than one list has")
        tags = re.findall("<Key>([^<]*)</Key>.*?<ETag>([^<]*)</ETag>", listed, re.DOTALL)
        return {key.removeprefix(f"{self.prefix}/"): tag for key, tag in tags}

    def objects(self):
        return {name: self.ask("GET", self.path(name)) for name in self.tags()}

    def restore(self, objects):
        """Makes these objects the only ones below the prefix."""
        tags = self.tags()
        for name in set(tags) - set(objects):
            self.ask("DELETE", self.path(name))
        for name, content in objects.items():
            if hashlib.md5(content).hexdigest() not in tags.get(name, ""):
                self.ask("PUT", self.path(name), content)

    def manifest(self):
        return json.loads(self.ask("GET", self.path("manifest.json")))

    def problems(self):
        """How the objects differ from the manifest and the last 8 before it, of which a run may leave a few more."""
        manifest, names = self.manifest(), set(self.tags())
        former = {name for name in names if name.startswith("manifests/")}
        kept = {f"manifests/{serial}.json" for serial in range(max(0, manifest["serial"] - 8), manifest["serial"])}
        named = {entry["name"] for entry in manifest["files"]} | {"manifest.json"}
        problems = [f"objects and manifest differ: {sorted(names - former ^ named)}"] if names - former != named else []
        return problems + [f"former manifests are missing: {sorted(kept - former)}"] * bool(kept - former)
