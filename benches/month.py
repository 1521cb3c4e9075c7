"""A month of two runs a day over 10,000 URLs (URLS) on 100 hosts, played by a scripted server on loopback and by
libfaketime: outages of one run, long outages, hanging hosts, flapping, challenges, true changes, redirect rules,
removed files, and one request in a hundred that fails. The script compares the messages with the truth, and fails
unless no message is false, no incident is missed and every affected URL was named. `.ci/long month` runs it.
"""

import asyncio
import collections
import datetime
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import installed
from support.days import environment, git, response

HOSTS = 100
RUNS = int(os.environ.get("RUNS", 60))
URLS = int(os.environ.get("URLS", 10_000))
EACH = URLS // HOSTS
CHANCE = random.Random(2026)
# How long urldb waits for an answer, in seconds. A machine that is busy with other work is slow.
HEAD_TIMEOUT = 5
START = datetime.datetime(2026, 9, 1, 4, 17)

# What a plugin keeps of a message: the envelope itself.
PLUGIN = """
import json, pathlib, sys
envelope = json.load(sys.stdin)
pathlib.Path(sys.argv[1], envelope["run"]["id"] + ".json").write_text(json.dumps(envelope))
print(json.dumps({"outcome": "delivered", "message": "kept"}))
"""

Event = collections.namedtuple("Event", "host kind first last paths")
# The state of the incident that a kind of event is; absent for events that are no news.
STATES = {"down": "unreachable", "hangs": "unreachable", "error": "server-error", "changed": "changed", "gone": "gone", "rule": "changed"}  # fmt: skip
# How many runs pass before an event is certain. A page in place of a table is doubtful at first.
CONFIRMED = {"down": 1, "hangs": 1, "error": 1, "changed": 0, "gone": 0, "rule": 1}


def host_name(number):
    return f"data.site{number:02}.example"


def paths():
    return [f"/{folder}/file-{number:03}.csv" for number in range(EACH) for folder in ["abcd"[number % 4]]]


def body(host, path):
    return f"{host}{path}\n".encode() * 8


def events():
    """The truth: at most three events for each host, with quiet runs between them."""
    kinds = ["one-run", "down", "hangs", "flaps", "challenge", "changed", "gone", "rule", "error", "calm"]
    found = []
    for number in range(HOSTS):
        first = CHANCE.randrange(1, 6)
        for kind in CHANCE.sample(kinds, 3):
            length = {"one-run": 1, "calm": 4, "flaps": 12}.get(kind) or CHANCE.randrange(3, 12)
            last = first + length - 1
            if last >= RUNS:
                break
            some = sorted(CHANCE.sample(paths(), CHANCE.choice([1, 3, min(40, EACH)])))
            whole = kind in ("one-run", "down", "hangs", "flaps", "challenge", "error")
            chosen = paths() if whole else [path for path in paths() if path.startswith("/a/")] if kind == "rule" else some
            if kind != "calm":
                found.append(Event(host_name(number), kind, first, last, frozenset(chosen)))
            first = last + CHANCE.randrange(6, 14)
    return found


class Server:
    """Plays the events of the current run."""

    def __init__(self, truth):
        self.truth, self.run, self.noise = truth, 0, random.Random(7)
        self.current = {}
        self.requests = 0
        # The longest time that the server did not answer, in seconds, of this run and of each bad run.
        self.lag, self.slow = 0.0, {}

    def begin(self, run):
        self.end()
        self.run, self.lag = run, 0.0
        self.current = {event.host: event for event in self.truth if event.first <= run <= event.last}

    def end(self):
        if self.lag > HEAD_TIMEOUT / 2:
            self.slow[self.run] = round(self.lag, 1)

    async def watch(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.05)
            self.lag = max(self.lag, time.monotonic() - before - 0.05)

    def answer(self, host, path):
        """The bytes of a response; nothing for a reset, and `None` for silence."""
        self.requests += 1
        event = self.current.get(host)
        if event and path in event.paths:
            if event.kind in ("one-run", "down"):
                return b""
            if event.kind == "hangs":
                return None
            if event.kind == "flaps" and (self.run - event.first) % 2 == 0:
                return response("503 Service Unavailable", b"busy\n")
            if event.kind == "challenge":
                return response("403 Forbidden", b"<html>checking your browser</html>", "cf-mitigated: challenge\r\n")
            if event.kind == "error":
                return response("500 Internal Server Error", b"broken\n")
            if event.kind == "changed":
                return response("200 OK", body(host, path) + b"one line more\n")
            if event.kind == "gone":
                return response("404 Not Found", b"no such file\n")
            if event.kind == "rule":
                return response("302 Found", b"", f"Location: http://{host}/\r\n")
        if path == "/":
            return response("200 OK", b"<html>home</html>", "Content-Type: text/html\r\n")
        if self.noise.random() < 0.01:
            return self.noise.choice([b"", response("503 Service Unavailable", b"busy\n"), response("502 Bad Gateway", b"")])
        return response("200 OK", body(host, path))

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                host = next(line[5:].strip() for line in head.decode().split("\r\n") if line.lower().startswith("host:"))
                answer = self.answer(host, path)
                if answer is None:
                    await asyncio.sleep(3600)
                if not answer:
                    writer.transport.abort()
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def start(self):
        started, ports = threading.Event(), []

        async def main():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1000)
            ports.append(server.sockets[0].getsockname()[1])
            watching = asyncio.create_task(self.watch())  # noqa: F841: a task without a name may end early
            started.set()
            await server.serve_forever()

        threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
        started.wait()
        return ports[0]


def repository(folder, port):
    """The database, its settings and the plugin."""
    (folder / "urldb").mkdir()
    (folder / "messages").mkdir()
    (folder / "collect.py").write_text(PLUGIN)
    names = [host_name(number) for number in range(HOSTS)]
    places = ", ".join(f'"{name}:80=127.0.0.1:{port}"' for name in names)
    (folder / "urldb.toml").write_text(
        f'[network]\nmap = [{places}]\n'
        '[check]\nconcurrency = 64\nhost-interval = "0s"\nhost-concurrency = 8\nretry-wait = "20ms"\n'
        f'head-timeout = "{HEAD_TIMEOUT}s"\nhost-patience = "10s"\n'
        f'[notify.people]\ntype = "command"\ncommand = ["{sys.executable}", "collect.py", "messages"]\n'
    )
    for name in names:
        records = "".join(
            f"---\n_path: {path}\ncontent-length: {len(body(name, path))}\n"
            f"content-sha256: {hashlib.sha256(body(name, path)).hexdigest()}\n"
            for path in sorted(paths())
        )
        (folder / "urldb" / f"{name}.yaml").write_text(f"---\nhttp: true\n{records}")
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "urldb")
    git(folder, "config", "user.email", "urldb@example.org")


def size(folder):
    git(folder, "gc", "--quiet")
    return sum(path.stat().st_size for path in (folder / ".git" / "objects").rglob("*") if path.is_file())


def main():
    if not installed("faketime", "apt-get install faketime"):
        return
    truth = events()
    server = Server(truth)
    port = server.start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository(folder, port)
        clock = folder / "clock"
        git(folder, "add", "urldb", "urldb.toml")
        git(folder, "commit", "--quiet", "-m", "database")
        before = None
        for run in range(RUNS):
            server.begin(run)
            clock.write_text(f"@{START + datetime.timedelta(hours=12 * run)}\n")
            done = subprocess.run(["urldb", "run", "-q"], cwd=folder, env=environment(clock), capture_output=True, text=True)
            if done.returncode not in (0, 1, 3):
                sys.exit(f"run {run}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            git(folder, "add", "status")
            git(folder, "commit", "--quiet", "-m", f"run {run}")
            if run == 0:
                before = size(folder)
        server.end()
        after = size(folder)
        messages = sorted((folder / "messages").glob("*.json"))
        envelopes = [json.loads(path.read_text()) for path in messages]
    judge(truth, envelopes, server, after - before)


def run_of(envelope):
    started = datetime.datetime.fromisoformat(envelope["run"]["started"].rstrip("Z")[:19])
    return round((started - START).total_seconds() / 43200)


def judge(truth, envelopes, server, grown):
    """Compares the incidents of the messages with the truth."""
    told, false, repeated, closed = {}, [], [], set()
    for envelope in envelopes:
        run = run_of(envelope)
        for incident in envelope["incidents"]:
            place = (incident["host"], incident["state"])
            if incident["phase"] == "opened":
                event = next(
                    (event for event in truth if (event.host, STATES.get(event.kind)) == place and event.first <= run <= event.last),
                    None,
                )
                if event is None:
                    false.append((run, place, incident["urls"][0]["url"], incident["evidence"]["detail"]))
                elif event in told:
                    repeated.append((run, place))
                else:
                    told[event] = (run, set())
            for event, (_, named) in told.items():
                if event.host == incident["host"] and event.first <= run <= event.last + 1:
                    named.update(url["url"] for url in incident["urls"])
                    if incident["phase"] == "closed":
                        closed.add(event)
    expected = [event for event in truth if event.kind in STATES]
    missed = [event for event in expected if event not in told]
    ended = [event for event in expected if event.last < RUNS - 1]
    not_closed = [event for event in ended if event in told and event not in closed]
    unnamed = sum(
        len({f"http://{event.host}{path}" for path in event.paths} - named) for event, (_, named) in told.items()
    )
    late = [told[event][0] - event.first - CONFIRMED[event.kind] for event in expected if event in told]
    print(f"{len(expected)} incidents and {len(truth) - len(expected)} disturbances that are no news, in {RUNS} runs of {HOSTS * EACH} URLs ({server.requests} requests)")  # fmt: skip
    print(f"{len(envelopes)} messages; false {len(false)}, missed {len(missed)}, told twice {len(repeated)}, recoveries not told {len(not_closed)}, URLs never named {unnamed}")  # fmt: skip
    print(f"runs of delay beyond confirmation: {collections.Counter(late)}")
    print(f"git grew by {grown} bytes, {grown / HOSTS / EACH / RUNS:.2f} per URL and run")
    if server.slow:
        print(f"this machine was too busy: in the runs {server.slow} the server did not answer for so many seconds")
    if false or missed or repeated or not_closed or unnamed:
        sys.exit(f"failed: {false=} {missed=} {repeated=} {not_closed=}"[:4000])


main()
