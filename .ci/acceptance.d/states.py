"""Writes the state that a run leaves as text that two plays of a script can compare, with `diff -r`. Times, ids, ports, and
the places of records within the archive are masked."""

import collections
import email
import email.policy
import gzip
import itertools
import os
import re
import sys
from pathlib import Path

# Messages that servers of the script have taken since the last run, as bytes.
RECEIVED = []
NUMBERS = collections.defaultdict(lambda: itertools.count(1))
MASKS = [
    (r"\d{8}T\d{6}Z-[0-9a-f]{8}", "RUN"),
    (r"urldb-\d{14}-\d{5}-[^\s\"',]+?\.warc\.gz", "FILE"),
    (r"urn:uuid:[0-9a-f-]{36}", "RECORD"),
    (r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?)?", "TIME"),
    (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})?\b", "DAY"),
    (r"\b\d\d:\d\d(:\d\d)?( UTC)?\b", "TIME"),
    (r"\b\d{14}\b", "TIME"),
    # A record begins anywhere in a file, and has any length once it is compressed.
    (r'"(offset|length)": "\d+"', r'"\1": N'),
    (r'class="off">\d+', 'class="off">N'),
    (r"'?\b[0-9a-f]{8}\b'?", "ID"),
    (r"\b[0-9a-f]{40}\b|(?<=>)[0-9a-f]{7}(?=<)", "COMMIT"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b\d+(\.\d+)? ?(ms|s|min)\b", "DURATION"),
    (r"\"milliseconds\": ?\d+", '"milliseconds": DURATION'),
    # The paths of a chart over time.
    (r' d="M[^"]*"', ' d="PATH"'),
    # A digest over the settings of a notifier, which may have a port.
    (r'"settings": "[0-9a-f]{16}"', '"settings": "DIGEST"'),
]


def steady(text):
    """The text without what differs between two plays."""
    text = text.replace("\N{NO-BREAK SPACE}", " ").replace(str(Path.cwd()), "HERE")
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


def mail(content):
    """The headers for people and the texts of a mail."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    headers = [f"{name}: {message[name]}" for name in ("From", "To", "Subject", "List-Id")]
    parts = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]
    return steady("\n".join(headers + parts))


def index(archive):
    """The lines of the index, each once."""
    segments = [gzip.decompress(segment.read_bytes()).decode() for segment in (archive / "index").glob("*.cdxj.gz")]
    lines = {line for segment in segments for line in segment.splitlines()}
    return "".join(sorted(steady(line) + "\n" for line in lines))


def files(repository):
    """Masked name and content of every file of the ledger, and of those that notifiers have written."""
    for path in sorted(path for path in repository.rglob("*") if path.is_file()):
        name = path.relative_to(repository)
        is_other = name.parts[0] in (".git", "archive", "urldb", "urldb.toml")
        # The manifest of a site has nothing but digests of unmasked pages.
        if is_other or name.name.startswith(".") or name.name == "manifest.json":
            continue
        if name.suffix == ".eml":
            # The name has the time, too.
            yield f"{name.parent}/mail", mail(path.read_bytes())
        else:
            yield steady(str(name)), steady(path.read_text(errors="replace"))


def record(repository):
    """Writes the state of a repository after a run."""
    number = next(NUMBERS[repository.resolve()])
    folder = Path(os.environ["ACCEPTANCE_STATES"], Path(sys.argv[0]).name, repository.resolve().name, f"{number:03}")
    left = [*files(repository), ("index", index(repository / "archive")), *(("received", mail(content)) for content in RECEIVED)]
    RECEIVED.clear()
    # Files of one masked name are one file: their ids have no order.
    for name, named in itertools.groupby(sorted(left), lambda file: file[0]):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{content}\n" for _, content in named))
