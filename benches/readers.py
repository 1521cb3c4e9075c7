"""The readers of lists against an independent reading in Python: for each format a generated tree of FILES (2,000) files with
every edge of the format. Compared are the records with their promises, the places of each URL, and what is left out and refused,
by line and by kind. Each difference is printed with file and line, and fails the script. Then a million rows (ROWS) of 1,000
hosts in each format, in as many files as its bound needs: `urldb import`, `urldb sync`, and a sync without change.
`.ci/long readers` runs this script.

READERS names the readers (all, unless set), and PARTS the parts: compare, rows. URLDB names a binary in place of `urldb`.
"""

import base64
import collections
import functools
import gzip
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from support import BINARIES, listing, nginx, reading, referring, timed, writing

FILES = int(os.environ.get("FILES", 2000))
ROWS = int(os.environ.get("ROWS", 1_000_000))
PARTS = os.environ.get("PARTS", "compare rows")
URLDB = BINARIES[-1]
BASE = "http://h0.example.org/base/"
HOSTS = [*(f"h{number}.example.org" for number in range(listing.HOSTS)), *(f"www.h{number}.example.org" for number in range(listing.HOSTS)), "doi.org", "arxiv.org"]
Reader = collections.namedtuple("Reader", "format name text parse options")


def each(write):
    """A list of entries that know nothing of each other."""
    return lambda rng, entries: "".join(write(rng, number) for number in entries)


def lines(write):
    return lambda rng, entries: listing.line_ends(rng, each(write)(rng, entries))


def sums(write, name):
    text = lambda rng, entries: ("\ufeff" if rng.random() < 0.1 else "") + listing.signed(rng, listing.line_ends(rng, each(write)(rng, entries)))  # noqa: E731
    return Reader("sums", name, text, functools.partial(reading.sums, base=BASE), {"base": BASE})


def documents(ending, base=None):
    def parse(path, text, root):
        most = 512 << 10 if ending in ("md", "markdown") else 8 << 20
        if text.startswith("\0") or len(text.encode()) > most:
            return [reading.refused(1, "encoding" if text.startswith("\0") else "too-large")]
        exists = lambda below: (root / below).exists()  # noqa: E731
        name = str(path.relative_to(root))
        return referring.entries(referring.reader_of(path.name)(text), name, base, exists)

    text = lambda rng, entries: writing.document(rng, ending, entries)  # noqa: E731
    return Reader("links", f"docs/{{0}}/page.{ending}", text, parse, {"base": base} if base else {})


READERS = {
    "table": Reader("table", "{0}.csv", lambda rng, entries: listing.line_ends(rng, listing.table(rng, entries)), reading.table, {}),
    "table-without-header": Reader(
        "table", "{0}.tsv", listing.bare_table, functools.partial(reading.table, columns="url,-,content-sha256"), {"columns": "url,-,content-sha256"}
    ),
    "sums-gnu": sums(listing.gnu, "{0}/SHA256SUMS"),
    "sums-blake": sums(listing.gnu, "{0}/B2SUMS"),
    "sums-bsd": sums(listing.bsd, "{0}.sha256"),
    "sums-openssl": sums(listing.openssl, "{0}/checksums.txt"),
    "sums-pooch": sums(listing.pooch, "{0}/registry.txt"),
    "tfds": Reader("tfds", "url_checksums/{0}.txt", lines(listing.tfds), reading.tfds, {}),
    "conandata": Reader("conandata", "recipes/{0}/all/conandata.yml", listing.conandata, reading.conandata, {}),
    "bazel": Reader("bazel-registry", "modules/m{0}/1.{0}/source.json", each(listing.bazel_registry), reading.bazel_registry, {}),
    "bazel-base": Reader(
        "bazel-registry", "modules/m{0}/1.{0}/source.json", each(listing.bazel_registry), functools.partial(reading.bazel_registry, base=BASE), {"base": BASE}
    ),
    **{f"links-{ending}": documents(ending) for ending in writing.WRITERS},
    "links-md-base": documents("md", BASE),
    "links-html-base": documents("html", BASE),
    "lychee": Reader("lychee", "{0}.txt", lines(writing.lychee), lambda path, text: referring.entries(referring.in_lychee(text), path.name), {}),
}


def write_tree(reader, repo, rng):
    """The files of a reader, and the entries that an independent reading finds in them."""
    numbers = itertools.count()
    size = 1 if reader.format == "bazel-registry" else 12
    for number in range(FILES):
        text = reader.text(rng, [next(numbers) for _ in range(size)])
        path = repo / "lists" / reader.name.format(number)
        if reader.format == "links":
            path.parent.mkdir(parents=True)
            # One document is too large, and some are UTF-16.
            path.write_bytes(text.encode("utf-16" if number % 97 == 3 else "utf-8") + b" " * (9 << 20 if number == 5 else 0))
            (path.parent / "other.md").touch()
        else:
            listing.write(repo / "lists", reader.name.format(number), text, rng)
    expected = {}
    for path in sorted((repo / "lists").glob(reader.name.format("*"))):
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        root = {"root": repo} if reader.format == "links" else {}
        text = "\0" if data.startswith(b"\xff\xfe") else data.decode()
        expected[str(path.relative_to(repo))] = list(reader.parse(path, text, **root))
    return expected


def urldb(repo, *words, expected=(0, 1)):
    done = subprocess.run([URLDB, "--color=never", *map(str, words)], cwd=repo, capture_output=True, text=True)
    if done.returncode not in expected:
        sys.exit(f"{URLDB} {' '.join(words[:4])} ended with {done.returncode}: {done.stderr[-1000:]}")
    return done


def options_of(reader):
    return [word for key, value in reader.options.items() for word in (f"--{key}", value)]


def notices(reader, repo, expected):
    """The notices of `urldb import`, which shows a hundred of each severity: so a few files at a time."""
    batch, found, known = [], [], collections.Counter()

    def read():
        done = urldb(repo, "import", "-n", "--keep-going", *options_of(reader), reader.format, *batch)
        for severity, file, line, message, code in re.findall(r"^(left out|refused): (.+?):(\d+): (.*) \((\S+?)\)$", done.stderr, re.MULTILINE):
            count = re.match(r"(\d+) (?:is|are) no URL to watch", message)
            found.append((file, int(line), severity, code, int(count[1]) if count else 1))
        batch.clear()
        known.clear()

    for file, entries in expected.items():
        here = collections.Counter()
        for entry in entries:
            if not reading.is_item(entry):
                here[entry[1]] += entry[3]
        if batch and (any(known[key] + here[key] > 90 for key in here) or len(batch) == 100):
            read()
        batch.append(file)
        known.update(here)
    read()
    return found


def difference(what, expected, found):
    """Prints what only one of two lists has; returns the number of these."""
    expected, found = collections.Counter(expected), collections.Counter(found)
    missing, more = expected - found, found - expected
    for word, only in (("only Python has", missing), ("only urldb has", more)):
        for entry in sorted(only, key=str)[:5]:
            print(f"  {what}: {word} {entry}")
    return sum(missing.values()) + sum(more.values())


def records_of(expected):
    """The promise, the URLs and the places of each record, by host and path."""
    promises, urls, places = {}, set(), collections.defaultdict(set)
    for file, entries in expected.items():
        for entry in filter(reading.is_item, entries):
            line, url, promise = entry
            parts = urlsplit(url)
            url = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment="").geturl()
            key = url.partition("://")[2]
            promises.setdefault(key, {}).update(promise)
            urls.add(url)
            places[key].add((file, line))
    return promises, urls, places


def told(repo, port):
    """The places of each URL in the findings of a check against a server that has none of them."""
    done = urldb(repo, "check", "--format", "jsonl")
    for line in done.stdout.splitlines():
        finding = json.loads(line)
        if finding["kind"] == "finding" and "url" in finding:
            places = [(place["file"], place["line"]) for place in finding["locations"] if not place["file"].startswith("urldb/")]
            yield finding["url"].partition("://")[2], (finding["used"], finding["used_files"], tuple(places))


def compare(name, reader, repo, port):
    expected = write_tree(reader, repo, random.Random(f"{name} 32"))
    settings = "".join(f'{key} = "{value}"\n' for key, value in reader.options.items())
    places = ", ".join(f'"{host}:{scheme}=127.0.0.1:{port}"' for host in HOSTS for scheme in (80, 443))
    (repo / "urldb").mkdir()
    (repo / "urldb.toml").write_text(
        f'[network]\nmap = [{places}]\n[check]\nhost-interval = "0s"\nhost-concurrency = 16\nretry-wait = "1ms"\n'
        f'[source.lists]\nformat = "{reader.format}"\npath = ["lists/{reader.name.format("*")}"]\n{settings}'
    )
    entries = [(file, *entry) for file, entries in expected.items() for entry in entries]
    told_by_import = [entry for entry in entries if not reading.is_item(entry[1:]) and entry[2] != "held"]
    faults = difference(f"{name}, notices", told_by_import, notices(reader, repo, expected))

    done = urldb(repo, "sync")
    counts = collections.Counter()
    for _, _, severity, code, count in (entry for entry in entries if len(entry) == 5):
        counts["refused" if severity == "refused" and code not in ("scheme", "port") else code] += count
    line = re.search(r"^left out: (.*)$", done.stdout, re.MULTILINE)
    found = {part.split(" ", 1)[1]: int(part.split(" ")[0]) for part in line[1].split(", ")} if line else {}
    more = re.search(r"^(\d+) more lines were refused", done.stdout, re.MULTILINE)
    found["refused"] = len(re.findall(r"^refused: ", done.stdout, re.MULTILINE)) + (int(more[1]) if more else 0)
    faults += difference(f"{name}, counts of sync", counts.items(), ((key, value) for key, value in found.items() if value))
    if other := [line for line in done.stdout.splitlines() if re.search(r": (?:error|warning|list-|other-page)", line)]:
        print(f"  {name}: sync says {other[:3]}")
        faults += len(other)

    promises, urls, where = records_of(expected)
    records = (json.loads(line) for line in urldb(repo, "export", "jsonl").stdout.splitlines())
    own = {"_path", "source", "schemes"}
    found = {
        record["url"].partition("://")[2]: {key: value for key, value in record["record"].items() if key not in own} for record in records
    }
    as_items = lambda all: [(key, json.dumps(promise, sort_keys=True)) for key, promise in all.items()]  # noqa: E731
    faults += difference(f"{name}, promises", as_items(promises), as_items(found))
    faults += difference(f"{name}, URLs", urls, urldb(repo, "export", "list").stdout.split())
    summed = {key: (len(all), len({file for file, _ in all}), tuple(sorted(all)[:10])) for key, all in where.items()}
    faults += difference(f"{name}, places", summed.items(), dict(told(repo, port)).items())
    items = sum(1 for entry in entries if len(entry) == 4)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    print(f"{name}: {FILES:,} files, {items:,} items, {len(promises):,} records; left out or refused: {kinds}; {faults} differences", flush=True)
    return faults


def row_of(format):
    """A function from a number to a row, the text around the rows, and the rows of a file; 0 for all in one file."""
    host = lambda number: f"h{number % 1000}.example.org"  # noqa: E731
    url = lambda number: f"https://{host(number)}/f{number}"  # noqa: E731
    digest = lambda number: hashlib.sha256(b"%d" % number).hexdigest()  # noqa: E731
    name = lambda number: f"{host(number)}/f{number}"  # noqa: E731
    sri = lambda number: f"sha256-{base64.b64encode(hashlib.sha256(b'%d' % number).digest()).decode()}"  # noqa: E731
    text = lambda number: json.dumps(f"- [a]({url(number)})\n")  # noqa: E731
    mirrors = lambda number: ", ".join(f'"{url(number * 10 + mirror)}"' for mirror in range(1, 10))  # noqa: E731
    return {
        "table": (lambda n: f"{url(n)},{n},{digest(n)}\n", "url,size,sha256\n", "", 0),
        "table-without-header": (lambda n: f"{url(n)},x,{digest(n)}\n", "", "", 0),
        "sums-gnu": (lambda n: f"{digest(n)}  {name(n)}\n", "", "", 0),
        "sums-bsd": (lambda n: f"SHA256 ({name(n)}) = {digest(n)}\n", "", "", 0),
        "sums-openssl": (lambda n: f"SHA2-256({name(n)})= {digest(n)}\n", "", "", 0),
        "sums-pooch": (lambda n: f"{name(n)} {digest(n)}\n", "", "", 0),
        "tfds": (lambda n: f"{url(n)}\t{n}\t{digest(n)}\tf{n}\n", "", "", 0),
        "conandata": (lambda n: f'  "1.{n}":\n    url: {url(n)}\n    sha256: "{digest(n)}"\n', "sources:\n", "", 1500),
        # A row is a URL with nine mirrors.
        "bazel": (lambda n: f'{{"url": "{url(n * 10)}", "mirror_urls": [{mirrors(n)}], "integrity": "{sri(n)}"}}', "", "", 1),
        "links-md": (lambda n: f"- [a]({url(n)})\n", "", "", 10_000),
        "links-html": (lambda n: f"<a href={url(n)}>a</a>\n", "", "", 100_000),
        "links-bib": (lambda n: f"@misc{{k{n},\n url = {{{url(n)}}}\n}}\n", "", "", 100_000),
        "links-csl.json": (lambda n: f'{{"id": {n}, "URL": "{url(n)}"}},\n', "[\n", '{"id": 0}]', 100_000),
        "links-ipynb": (lambda n: f'{{"cell_type": "markdown", "source": [{text(n)}]}},\n', '{"cells": [\n', '{"cell_type": "code"}]}', 50_000),
        "lychee": (lambda n: f"{url(n)} (docs/a.md)\n", "", "", 0),
    }.get(format)  # fmt: skip


def rows(name, reader, scratch):
    """Imports and follows many rows."""
    if not (found := row_of(name)):
        return
    row, head, tail, size = found
    repo, count = scratch / "rows", ROWS // 10 if name == "bazel" else ROWS
    size = size or count
    base = {"base": "https://"} if "base" in reader.options and reader.format == "sums" else {}
    options = {**reader.options, **base}
    files = [(f"lists/{reader.name.format(start)}", range(start, min(start + size, count))) for start in range(0, count, size)]
    for file, numbers in files:
        (repo / file).parent.mkdir(parents=True, exist_ok=True)
        with open(repo / file, "w") as output:
            output.write(head)
            output.writelines(map(row, numbers))
            output.write(tail)
    settings = "".join(f'{key} = "{value}"\n' for key, value in options.items())
    pattern = f'path = ["lists/{reader.name.format("*")}"]\n'
    (repo / "urldb.toml").write_text(f'[source.lists]\nformat = "{reader.format}"\n{pattern}{settings}')
    (repo / "urldb").mkdir()
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    batches = [[file for file, _ in files[start : start + 20_000]] for start in range(0, len(files), 20_000)]
    took, most = 0, 0
    for batch in batches:
        seconds, peak, said = timed([URLDB, "import", "--quiet", *words, reader.format, *batch], repo)
        took, most = took + seconds, max(most, peak)
    shown = [f"import {took:.1f} s, {most:.0f} MiB"]
    if size < count and reader.format != "bazel-registry":
        big = repo / f"big/{reader.name.format('x')}"
        big.parent.mkdir(parents=True)
        with open(big, "w") as output:
            output.write(head)
            output.writelines(map(row, range(count)))
            output.write(tail)
        seconds, peak, said = timed([URLDB, "import", *words, reader.format, str(big)], repo, expected=(1, 2))
        shown.append(f"all in one file: {said.strip().splitlines()[0].replace(f'{repo}/', '')} ({seconds:.1f} s, {peak:.0f} MiB)")
    shutil.rmtree(repo / "urldb")
    for what in ("sync", "sync --check"):
        seconds, peak, said = timed([URLDB, *what.split()], repo)
        shown.append(f"{what} {seconds:.1f} s, {peak:.0f} MiB")
    records = sum(path.read_text().count("\n_path:") for path in (repo / "urldb").iterdir())
    megabytes = sum((repo / file).stat().st_size for file, _ in files) / 1e6
    print(f"{name}, {records:,} rows, {len(files):,} files, {megabytes:.0f} MB: {'; '.join(shown)}", flush=True)


def main():
    wanted = os.environ.get("READERS", "").split()
    faults = 0
    for name, reader in READERS.items():
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            repo = Path(scratch, "repo")
            repo.mkdir()
            if "compare" in PARTS:
                with nginx(scratch, scratch, location="return 410;") as port:
                    faults += compare(name, reader, repo, port)
            if "rows" in PARTS:
                rows(name, reader, Path(scratch))
    return faults > 0


sys.exit(main())
