"""A year of daily runs over 2,000 URLs (URLS), of which one in a hundred changes on a day (NEWS), played by a scripted
server on loopback and by libfaketime. The script prints the sizes of the archive and of its index before and after
`urldb archive compact` with each policy, and after `prune`. It fails unless all promised bytes and the evidence of every
incident come out of the archive with their digest, `verify` finds nothing, and pywb replays ten random dates.
`.ci/long year` runs it.
"""

import contextlib
import datetime
import gzip
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


DAYS = int(os.environ.get("DAYS", 365))
URLS = int(os.environ.get("URLS", 2_000))
NEWS = float(os.environ.get("NEWS", 0.01))
HOSTS = 20
START = datetime.datetime(2026, 1, 1, 4, 17)
CHANCE = random.Random(365)
LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def host_name(number):
    return f"data.site{number % HOSTS:02}.example"


def path_of(number):
    return f"/release/file-{number:05}.csv"


def content(number, version):
    """A few kilobytes, half of which compresses well."""
    rng = random.Random(number << 16 | version)
    rows = "".join(f"{number},{row},{rng.randrange(10**6)}\n" for row in range(rng.choice([20, 100, 300])))
    return rows.encode()


class Server:
    """Serves the current version of each file, on keep-alive connections."""

    def __init__(self):
        self.versions = [0] * URLS
        self.numbers = {(host_name(number), path_of(number)): number for number in range(URLS)}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                number = server.numbers.get((self.headers["Host"].split(":")[0], self.path))
                body = b"" if number is None else content(number, server.versions[number])
                # Without a `Date`: the days pass for urldb only, which would say that its clock is wrong.
                self.send_response_only(404 if number is None else 200)
                self.send_header("Content-Type", "text/csv")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Listener(ThreadingHTTPServer):
            request_queue_size = 500

            def handle_error(self, *_):
                """A client that gave up is no news."""

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def record(number):
    body = content(number, 0)
    digest = hashlib.sha256(body).hexdigest()
    return f"---\n_path: {path_of(number)}\ncontent-length: {len(body)}\ncontent-sha256: {digest}\n"


def database(folder):
    for host in range(HOSTS):
        numbers = range(host, URLS, HOSTS)
        text = "---\nhttp: true\n" + "".join(map(record, numbers))
        Path(folder, "urldb", f"{host_name(host)}.yaml").write_text(text)


def urldb(folder, *arguments, day=None, expect=(0,)):
    environment = dict(os.environ)
    if day is not None:
        moment = START + datetime.timedelta(days=day)
        environment |= {"LD_PRELOAD": LIBRARY, "FAKETIME": f"@{moment:%Y-%m-%d %H:%M:%S}", "TZ": "UTC"}
    done = subprocess.run(["urldb", *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in expect:
        sys.exit(f"urldb {arguments}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def size(folder, pattern):
    return sum(file.stat().st_size for file in Path(folder, "archive").glob(pattern))


def report(what, folder):
    warcs, index = size(folder, "*.warc.gz"), size(folder, "index/*")
    files = len(list(Path(folder, "archive").glob("*.warc.gz")))
    lines = sum(1 for _ in entries(folder))
    each = index / max(lines, 1)
    print(f"{what}: {warcs / 1e6:.1f} MB in {files} files, index {index / 1e6:.2f} MB of {lines} lines ({each:.1f} bytes each)", flush=True)


def entries(folder):
    """Every line of the index, once."""
    seen = set()
    for segment in Path(folder, "archive", "index").glob("*.cdxj.gz"):
        with gzip.open(segment, "rt") as lines:
            for line in lines:
                if line not in seen:
                    seen.add(line)
                    key, timestamp, fields = line.split(" ", 2)
                    yield timestamp, json.loads(fields)


def evidence(folder):
    """URL and observed digest of each incident."""
    import yaml

    for file in sorted(Path(folder, "status", "incidents").glob("*.yaml")):
        first = next(yaml.safe_load_all(file.read_text()))
        observed = first["evidence"].get("observed", {}).get("sha256")
        if observed:
            yield first["evidence"]["url"], observed


def prove(folder, versions_by_day):
    """Everything that was promised or reported comes out, and pywb replays, unless `versions_by_day` is None."""
    out = urldb(folder, "archive", "verify", "--quiet")
    assert not out, out
    shutil.rmtree(Path(folder, "bag"), ignore_errors=True)
    exported = urldb(folder, "archive", "export", "--bagit", "bag")
    assert f"exported {URLS} of {URLS:} " in exported.replace(",", "").replace("\u202f", ""), exported
    for line in Path(folder, "bag", "manifest-sha256.txt").read_text().splitlines():
        digest, name = line.split("  ", 1)
        assert hashlib.sha256(Path(folder, "bag", name).read_bytes()).hexdigest() == digest
    proved = prove_evidence(folder)
    replayed = replay(folder, versions_by_day) if versions_by_day else 0
    print(f"  {URLS} promises and the evidence of {proved} incidents come out, pywb replays {replayed} captures", flush=True)


def prove_evidence(folder):
    """Takes the observed content of each incident out of its record, and twenty of them with `get` too."""
    places = {}
    for timestamp, fields in entries(folder):
        if fields["mime"] != "warc/revisit":
            places.setdefault((fields["url"], fields["digest"]), (timestamp, fields))
    found = list(evidence(folder))
    assert found or DAYS < 5, "no incident has evidence"
    for url, digest in found:
        place = places.get((url, f"sha256:{digest}"))
        assert place, f"the evidence of {url} is gone"
        with Path(folder, "archive", place[1]["filename"]).open("rb") as file:
            file.seek(int(place[1]["offset"]))
            record = gzip.decompress(file.read(int(place[1]["length"])))
        _, _, body = record.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
        assert hashlib.sha256(body).hexdigest() == digest, f"the evidence of {url} has other bytes"
    for url, digest in random.Random(20).sample(found, min(20, len(found))):
        body = urldb(folder, "archive", "get", url, "--at", moment(places[url, f"sha256:{digest}"][0])).encode()
        assert hashlib.sha256(body).hexdigest() == digest, f"get {url}"
    return len(found)


def moment(timestamp):
    return f"{datetime.datetime.strptime(timestamp, '%Y%m%d%H%M%S'):%Y-%m-%dT%H:%M:%SZ}"


def replay(folder, versions_by_day):
    """pywb serves ten URLs at ten random dates with the bytes of that date."""
    if not shutil.which("wayback"):
        print("  pywb is not installed: `pip install pywb`")
        return 0
    archive = Path(folder, "archive")
    Path(folder, "config.yaml").write_text(
        f"collections:\n  urldb:\n    index_paths: {archive}/index/\n    archive_paths: {archive}/\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    log = open(Path(folder, "pywb.log"), "ab")
    pywb = subprocess.Popen(["wayback", "--bind", "127.0.0.1", "--port", str(port)], cwd=folder, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert time.monotonic() < deadline, "pywb does not start"
            time.sleep(0.1)
        chance, count = random.Random(10), 0
        for day in sorted(chance.sample(range(DAYS), min(10, DAYS))):
            moment = START + datetime.timedelta(days=day, hours=1)
            for number in chance.sample(range(URLS), 10):
                url = f"http://{host_name(number)}{path_of(number)}"
                address = f"http://127.0.0.1:{port}/urldb/{moment:%Y%m%d%H%M%S}id_/{url}"
                with urllib.request.urlopen(address) as answer:
                    body = answer.read()
                # pywb takes the nearest capture, which may be of a day before or after.
                possible = {content(number, version) for version in {versions[number] for versions in versions_by_day}}
                assert body in possible, f"other bytes for {url} on day {day}"
                exact = urldb(folder, "archive", "get", url, "--at", f"{moment:%Y-%m-%dT%H:%M:%SZ}").encode()
                assert exact == content(number, versions_by_day[day][number]), f"{url} on day {day}"
                count += 1
        return count
    finally:
        pywb.terminate()
        pywb.wait()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch, "year")
        subprocess.run(["urldb", "init", base], check=True, stdout=subprocess.DEVNULL)
        server = Server()
        maps = "".join(f'    "{host_name(host)}:80=127.0.0.1:{server.port}",\n' for host in range(HOSTS))
        settings = f'[check]\nhost-concurrency = 8\nhost-interval = "0s"\nretry-wait = "1ms"\n[network]\nmap = [\n{maps}]\n'
        (base / "urldb.toml").write_text(settings)
        database(base)
        urldb(base, "fmt")
        versions_by_day, times = [], []
        for day in range(DAYS):
            # One in a hundred has another content for three days.
            for number in CHANCE.sample(range(URLS), round(URLS * NEWS)) if day else []:
                server.versions[number] = day
            for number, version in enumerate(server.versions):
                if version and day >= version + 3:
                    server.versions[number] = 0
            versions_by_day.append(list(server.versions))
            began = time.monotonic()
            urldb(base, "run", "--quiet", day=day, expect=(0, 1))
            times.append(time.monotonic() - began)
            if day % 60 == 59 or day + 1 == DAYS:
                report(f"after {day + 1} days", base)
        print(f"runs took {min(times):.2f} to {max(times):.2f} s, the last ten {sum(times[-10:]) / 10:.2f} s on average")
        prove(base, versions_by_day)
        for policy in ("all", "weekly", "monthly"):
            copy = Path(scratch, policy)
            shutil.copytree(base, copy)
            with (copy / "urldb.toml").open("a") as configuration:
                configuration.write(f'[archive]\nkeep-revisits = "{policy}"\n')
            began = time.monotonic()
            urldb(copy, "archive", "compact", "--quiet")
            report(f"compacted, {policy}, in {time.monotonic() - began:.1f} s", copy)
            prove(copy, versions_by_day)
            if policy == "monthly":
                urldb(copy, "archive", "prune", "--older-than", "180d", "--quiet", day=DAYS)
                report("and pruned after 180 days", copy)
                prove(copy, None)
            shutil.rmtree(copy)


main()
