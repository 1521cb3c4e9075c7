"""A host that a repository of its own watches over days, with the defaults of urldb: its states, what people hear, and how
many requests it costs. Several hosts are watched at the same time, since urldb waits longer than it works."""

import collections
import email
import email.policy
import hashlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import check, process, repository, urldb

MAIL = '[notify.mail]\ntype = "email"\nfolder = "mail"\nfrom = "urldb@example.org"\nto = ["ada@example.org"]\n'


class Watched:
    """`files` maps each path to its promised bytes; `requests` counts those that the host has had so far."""

    def __init__(self, host, files, port, requests, scheme="http", network=""):
        self.host, self.requests, self.number, self.mails = host, requests, 0, set()
        self.urls = [f"{scheme}://{host}{path}" for path in sorted(files)]
        standard = {"http": 80, "https": 443}[scheme]
        self.root = repository(Path(f"watch-{host}").absolute(), f'map = ["{host}:{standard}=127.0.0.1:{port}"]\n{network}{MAIL}')
        records = "".join(
            f"---\n_path: {path}\ncontent-length: {len(body)}\ncontent-sha256: {hashlib.sha256(body).hexdigest()}\n"
            for path, body in files.items()
        )
        settings = "http: false\nhttps: true\n" * (scheme == "https")
        (self.root / "urldb" / f"{host}.yaml").write_text(f"---\n{settings}{records}")
        urldb("fmt", cwd=self.root)

    def day(self, name, code, states, news=(), most=None):
        """One run: its exit code, the number of URLs in each state, a text that each of its mails has, and the most requests
        that it may take (one for each URL, unless told). Sets of codes and states, and None for news, are for what chance
        decides. The mails are returned."""
        self.number += 1
        told, found, mails, requests, seconds = self.run()
        summary = f"{self.host}, day {self.number} ({name}): exit {told.returncode}, {dict(found)}, {len(mails)} mails, {requests} requests, {seconds:.1f} s"  # fmt: skip
        print(summary, flush=True)
        texts = "\n\n".join([summary, *mails])
        check(told.returncode in (code if isinstance(code, set) else {code}), f"not exit {code}: {texts}\n{told.stderr[-3000:]}")
        check(set(found) <= states if isinstance(states, set) else found == states, f"not {states}: {texts}")
        check(news is None or len(mails) == len(news), f"not {news}: {texts}")
        for text, mail in zip(news or (), mails):
            check(text in mail, f"{text!r} is not in {texts}")
        most = most or len(self.urls)
        check(requests <= most, f"more than {most} requests: {texts}")
        return mails

    def run(self):
        time.sleep(1)  # Times of runs are whole seconds.
        before, began = self.requests(), time.monotonic()
        told = urldb("run", "--format", "json", cwd=self.root, expect=None)
        seconds = time.monotonic() - began
        check(told.stdout, f"{self.host}: exit {told.returncode} without a report: {told.stderr}")
        time.sleep(0.1)  # for the log of the server
        results = json.loads(told.stdout)["results"]
        found = collections.Counter(state(result) for result in results)
        return told, found, self.new_mails(), self.requests() - before, seconds

    def new_mails(self):
        """Subject and text of the mails since the last day, oldest first, each in one line."""
        files = set((self.root / "mail").glob("*.eml")) - self.mails
        self.mails |= files
        mails = [email.message_from_bytes(file.read_bytes(), policy=email.policy.default) for file in sorted(files)]
        texts = (f"{mail['Subject']}: {mail.get_body(('plain',)).get_content()}" for mail in mails)
        return [" ".join(text.split()) for text in texts]

    def accepts_nothing(self):
        """`accept --all --yes` promises none of what the host serves now."""
        promised = (self.root / "urldb" / f"{self.host}.yaml").read_text()
        done = urldb("accept", "--all", "--yes", cwd=self.root, expect=None)
        print(f"{self.host}: accept --all --yes: exit {done.returncode}: {done.stdout[:600]}{done.stderr[:600]}", flush=True)
        check(done.returncode == 1, f"{self.host}: exit {done.returncode} of accept: {done.stdout}{done.stderr}")
        check((self.root / "urldb" / f"{self.host}.yaml").read_text() == promised, f"{self.host}: a fault was accepted")


def state(result):
    """State and reason of a result, with its warnings."""
    words = [result["state"], *([f"({result['reason']})"] if "reason" in result else []), *result.get("warnings", [])]
    return " ".join(words)


def at_once(cases):
    """Plays the cases at the same time, each to its end or its first fault."""
    with ThreadPoolExecutor(len(cases)) as pool:
        playing = [pool.submit(case) for case in cases]
    faults = [str(case.exception()) for case in playing if case.exception()]
    if faults:
        sys.exit("\n\n".join(faults))


def nginx(name, servers, level="error"):
    """nginx with these `server` blocks, in the folder NAME."""
    folder = Path(name).absolute()
    folder.mkdir(exist_ok=True)
    scratch = " ".join(f"{kind}_temp_path {kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid nginx.pid; error_log error.log {level};\nevents {{ worker_connections 512; }}\n"
        f"http {{ types {{ text/csv csv; text/html html; application/json json; }} {scratch}\n{servers}\n}}\n"
    )
    return process("nginx", "-e", "error.log", "-p", folder, "-c", folder / "nginx.conf", log=folder / "out.log")


def lines(file):
    """The number of lines of a log, which may not be there yet."""
    return file.read_text().count("\n") if file.exists() else 0
