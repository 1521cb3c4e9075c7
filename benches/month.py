"""A month of two runs a day over 10,000 URLs (URLS) on 100 hosts, played by a scripted server on loopback and by
libfaketime: outages of one run, long outages, hanging hosts, flapping by 503 and by 404, challenges, true changes,
changes that turn into 404, redirect rules, removed files of which half come back earlier, and one request in a
hundred that fails. The script compares each URL in each message with the truth, and fails unless no word is false,
no fault of a URL and no recovery is untold, and no event opens or closes an incident twice. `.ci/long month`
runs it.
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
# The states of the kinds of events that are news.
STATES = {
    "down": "unreachable", "hangs": "unreachable", "error": "server-error", "changed": "changed", "gone": "gone",
    "rule": "changed", "turns": "changed", "half": "gone", "flaps": "server-error", "flaps-404": "gone",
}  # fmt: skip
# How many runs pass before an event is certain. A page in place of a table is doubtful at first.
CONFIRMED = {"down": 1, "hangs": 1, "error": 1, "rule": 1}
# Runs of seven days, the window in which three breaks make a URL flap; one more, as runs begin seconds late.
WINDOW = 15
# A message about other states of the same URLs waits for a day, and so does growth by less than half.
HELD = 2


def host_name(number):
    return f"data.site{number:02}.example"


def paths():
    return [f"/{folder}/file-{number:03}.csv" for number in range(EACH) for folder in ["abcd"[number % 4]]]


def body(host, path):
    return f"{host}{path}\n".encode() * 8


def events():
    """The truth: at most three events for each host, with quiet runs between them."""
    kinds = ["one-run", "down", "hangs", "flaps", "flaps-404", "challenge", "changed", "turns", "gone", "half", "rule", "error", "calm"]
    found = []
    for number in range(HOSTS):
        first = CHANCE.randrange(1, 6)
        for kind in CHANCE.sample(kinds, 3):
            length = {"one-run": 1, "calm": 4, "flaps": 12, "flaps-404": 12}.get(kind) or CHANCE.randrange(3, 12)
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


def segments(event):
    """The states of the URLs of an event: paths, state, first and last run of each."""
    middle = (event.first + event.last + 1) // 2
    paths, half = sorted(event.paths), len(event.paths) // 2
    state = STATES.get(event.kind)
    if event.kind == "turns":
        return [(paths, "changed", event.first, middle - 1), (paths, "gone", middle, event.last)]
    if event.kind == "half":
        return [(paths[:half], "gone", event.first, middle - 1), (paths[half:], "gone", event.first, event.last)]
    if event.kind in ("flaps", "flaps-404"):
        return [(paths, state, run, run) for run in range(event.first, event.last + 1, 2)]
    return [(paths, state, event.first, event.last)]


class Server:
    """Plays the events of the current run."""

    def __init__(self, truth):
        self.truth, self.run, self.noise = truth, 0, random.Random(7)
        # The events of the run, and the state of each affected path, by host.
        self.current, self.states = {}, {}
        self.requests = 0
        # The longest time that the server did not answer, in seconds, of this run and of each bad run.
        self.lag, self.slow = 0.0, {}

    def begin(self, run):
        self.end()
        self.run, self.lag = run, 0.0
        self.current = {event.host: event for event in self.truth if event.first <= run <= event.last}
        self.states = {
            (event.host, path): state
            for event in self.current.values()
            for paths, state, first, last in segments(event)
            if first <= run <= last
            for path in paths
        }

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
        if event and (host, path) in self.states:
            if event.kind in ("one-run", "down"):
                return b""
            if event.kind == "hangs":
                return None
            if event.kind == "flaps":
                return response("503 Service Unavailable", b"busy\n")
            if event.kind == "challenge":
                return response("403 Forbidden", b"<html>checking your browser</html>", "cf-mitigated: challenge\r\n")
            if event.kind == "error":
                return response("500 Internal Server Error", b"broken\n")
            if event.kind == "changed" or event.kind == "turns" and self.states[host, path] == "changed":
                return response("200 OK", body(host, path) + b"one line more\n")
            if event.kind in ("gone", "half", "turns", "flaps-404"):
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


def run_at(time):
    at = datetime.datetime.fromisoformat(time.rstrip("Z")[:19])
    return round((at - START).total_seconds() / 43200)


def run_of(envelope):
    return run_at(envelope["run"]["started"])


class Truth:
    """The state of each URL in each run."""

    def __init__(self, events):
        self.bad = {}
        for event in events:
            for paths, state, first, last in segments(event):
                for path in paths:
                    for run in range(first, last + 1):
                        self.bad[f"http://{event.host}{path}", run] = state

    def breaks(self, url, run):
        """How often the URL broke in the window that ends with the run."""
        runs = range(max(0, run - WINDOW), run + 1)
        return sum((url, at) in self.bad and (url, at - 1) not in self.bad for at in runs)


def claims(envelope):
    """What a message says of the URLs of its incidents: URL, phase, state, URL of the incident, run that it is about."""
    run = run_of(envelope)
    for incident in envelope["incidents"]:
        told = incident["id"] and incident["phase"] not in ("unchanged", "unconfirmed", "unknown")
        for url in incident["urls"] if told else []:
            yield run, incident, url


def falsehood(truth, run, incident, url):
    """What is false in the words of a message about a URL; nothing if all is true."""
    name, left = url["url"], url.get("left")
    if left == "recovered":
        until = run_at(url["until"]) if url.get("until") else run
        return f"{left}, but {truth.bad[name, until]}" if (name, until) in truth.bad else None
    if left:
        return f"left because {left}"
    if url.get("flapping"):
        return None if truth.breaks(name, run) >= 3 or truth.breaks(name, run - WINDOW) else "flaps"
    state = url.get("state") or incident["state"]
    seen = truth.bad.get((name, run))
    return None if seen == state else f"{state}, but {seen}"


def judge(events, envelopes, server, grown):
    """Compares what the messages say with the truth."""
    truth, false = Truth(events), []
    said, openings, closings = collections.defaultdict(list), collections.Counter(), collections.Counter()
    for envelope in envelopes:
        run = run_of(envelope)
        for incident in envelope["incidents"]:
            event = next((it for it in reversed(events) if it.host == incident["host"] and it.first <= run), None)
            openings[incident["id"], event] += incident["phase"] == "opened"
            closings[incident["id"], event] += incident["phase"] == "closed"
        for run, incident, url in claims(envelope):
            wrong = falsehood(truth, run, incident, url)
            if wrong:
                false.append((run, url["url"], wrong))
            said[url["url"]].append((run, url.get("state") or incident["state"], url.get("left"), url.get("flapping", False)))
    untold, unended, delays = [], [], collections.Counter()
    news = [event for event in events if event.kind in STATES]
    for event in news:
        confirmed = CONFIRMED.get(event.kind, 0)
        for paths, state, first, last in segments(event):
            for path in paths:
                url = f"http://{event.host}{path}"
                marked = [run for run, _, _, unsteady in said[url] if unsteady and run <= last + 1]
                if event.kind.startswith("flaps"):
                    if last == event.last and last < RUNS and not marked and truth.breaks(url, last) >= 3:
                        untold.append((last, url, "flaps"))
                    continue
                runs = [run for run, told, left, _ in said[url] if told == state and not left and first <= run <= last + 1]
                if runs:
                    delays[min(runs) - first - confirmed] += 1
                elif last - first >= confirmed + HELD and not marked:
                    untold.append((first, url, state))
                is_last = not any((url, run) in truth.bad for run in range(last + 1, min(RUNS, last + 2 + HELD)))
                ended = [run for run, _, left, _ in said[url] if left and run > last]
                if runs and is_last and last + 1 + HELD < RUNS and not ended and not marked:
                    unended.append((last, url))
    # The third break of a URL is told once: that it flaps. The two before open and close its incident.
    most = {"flaps-404": 3}
    again = [
        (incident, event.host, event.kind, event.first, event.last)
        for incident, event in openings | closings
        if event and max(openings[incident, event], closings[incident, event]) > most.get(event.kind, 1)
    ]
    print(f"{len(news)} events that are news and {len(events) - len(news)} disturbances, in {RUNS} runs of {HOSTS * EACH} URLs ({server.requests} requests)")  # fmt: skip
    print(f"{len(envelopes)} messages with {sum(map(len, said.values()))} words about URLs; false {len(false)}, faults never told {len(untold)}, recoveries never told {len(unended)}")  # fmt: skip
    print(f"incidents with more than one opening or closing for an event: {len(again)}; {sum(openings.values())} openings, {sum(closings.values())} closings")  # fmt: skip
    print(f"runs of delay beyond confirmation, by URL: {dict(sorted(delays.items()))}")
    print(f"git grew by {grown} bytes, {grown / HOSTS / EACH / RUNS:.2f} per URL and run")
    if server.slow:
        print(f"this machine was too busy: in the runs {server.slow} the server did not answer for so many seconds")
    if false or untold or unended or again:
        sys.exit(f"failed: {len(false)} {false[:20]=}\n{untold[:20]=}\n{unended[:20]=}\n{again[:20]=}")


main()
