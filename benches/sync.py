"""Lists and the database that follows them, unchanged, without network: thousands of small files, and few large ones.
`.ci/long sync` runs it."""

import hashlib
import sys
import tempfile
from pathlib import Path

from support import measured, repository

FILES, SMALL_ROWS, LARGE_ROWS, HOSTS = 9_000, 7_000, 100_000, 3


def digest(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def source(name, kind, pattern, extra=""):
    return f'[source.{name}]\nformat = "{kind}"\npath = ["{pattern}"]\n{extra}\n'


def small(folder):
    """A third of the files each: tables, checksums of TFDS, recipes of Conan. Some files have no row."""
    for number in range(FILES):
        has_row = number < SMALL_ROWS
        url, sha256 = f"https://host{number % 50}.example.org/{number}.tar.gz", digest(number)
        rows = {
            "csv": ("url,size,sha256\n", f"{url},{number},{sha256}\n"),
            "txt": ("# checksums\n", f"{url}\t{number}\t{sha256}\tname\n"),
            "yml": ("# sources\n", f'sources:\n  "1.0":\n    url: "{url}"\n    sha256: "{sha256}"\n'),
        }
        kind = ["csv", "txt", "yml"][number % 3]
        path = folder / "lists" / str(number % 90) / f"{number}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(rows[kind][: 1 + has_row]))
    return (
        source("tables", "table", "lists/*/*.csv")
        + source("tfds", "tfds", "lists/*/*.txt")
        + source("recipes", "conandata", "lists/*/*.yml")
    )


def large(folder):
    """One list of digests for each host."""
    settings = ""
    for host in range(HOSTS):
        rows = (f"{digest(number)}  {number}\n" for number in range(host, LARGE_ROWS, HOSTS))
        (folder / f"SHA256SUMS.{host}").write_text("".join(rows))
        base = f'base = "https://host{host}.example.org/"'
        settings += source(f"sums-{host}", "sums", f"SHA256SUMS.{host}", base)
    return settings


def main():
    with tempfile.TemporaryDirectory() as scratch:
        commands = {}
        names = {
            small: f"{SMALL_ROWS:,} rows in {FILES:,} files",
            large: f"{LARGE_ROWS:,} rows on {HOSTS} hosts",
        }
        for lists, name in names.items():
            folder = Path(scratch, lists.__name__)
            folder.mkdir()
            repository(folder, lists(folder), {})
            measured({f"first sync of {name}": (["urldb", "sync", "--quiet"], folder)}, attempts=1)
            commands[f"sync of {name}, unchanged"] = (["urldb", "sync", "--quiet"], folder)
        measured(commands)


sys.exit(main())
