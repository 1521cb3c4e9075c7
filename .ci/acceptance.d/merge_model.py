"""A model of domain files and their merges, which shares nothing with urldb: records, keys and comments."""

import ast
import copy
import functools

import yaml
from support import SOURCE, check

DATA = SOURCE.parent / "shared" / "data" / "wwt-url-database"
SETS = ("categories", "cnames")
BYTES = ("content-length", "content-sha256")


@functools.cache
def parsed(text):
    return yaml.safe_load(text) or {}


@functools.cache
def dumped(items):
    return yaml.dump({key: ast.literal_eval(value) for key, value in items}, explicit_start=True, sort_keys=False)


class Document:
    """One document: the comments above it, and its keys and values."""

    def __init__(self, values, comments=()):
        self.values, self.comments = values, list(comments)

    def __eq__(self, other):
        return isinstance(other, Document) and (self.values, self.comments) == (other.values, other.comments)

    def text(self, rng=None):
        """Canonical; with a generator, as an editor leaves it that keeps no order."""
        above = "".join(f"{comment}\n" for comment in self.comments)
        if not self.values:
            return f"{above}---\n"
        keys = rng.sample(sorted(self.values), len(self.values)) if rng else sorted(self.values)
        return above + dumped(tuple((key, repr(self.values[key])) for key in keys))

    def copy(self):
        values = {key: value[:] if isinstance(value, list) else value for key, value in self.values.items()}
        return Document(values, self.comments)


class File:
    """A domain file: its metadata, and its records by path."""

    def __init__(self, text):
        documents, comments = [], []
        for line in text.splitlines():
            if line == "---":
                documents.append((comments, []))
                comments = []
            elif line.startswith("#"):
                comments.append(line)
            else:
                documents[-1][1].append(line)
        documents = [Document(parsed("\n".join(lines)), above).copy() for above, lines in documents]
        check(documents and not comments, f"this is no domain file:\n{text[:400]}")
        self.metadata, *records = documents
        self.records = {record.values["_path"]: record for record in records}
        self.repeats = len(records) - len(self.records)

    def __eq__(self, other):
        return (self.metadata, self.records, self.repeats) == (other.metadata, other.records, other.repeats)

    def paths(self):
        return sorted(self.records, key=lambda path: path.encode())

    def text(self, rng=None):
        records = (self.records[path].text(rng) for path in self.paths())
        return self.metadata.text() + "".join(records)

    def copy(self):
        same = copy.copy(self)
        same.metadata = self.metadata.copy()
        same.records = {path: record.copy() for path, record in self.records.items()}
        return same



def merge_value(key, base, ours, theirs):
    """The merged value of a key, and whether the sides contradict each other."""
    if ours == theirs or base == theirs:
        return ours, False
    if base == ours:
        return theirs, False
    if key in SETS:
        base, ours, theirs = (set(items or ()) for items in (base, ours, theirs))
        return sorted((ours & theirs) | (ours - base) | (theirs - base)) or None, False
    return ours, True


def merge_document(base, ours, theirs):
    """The merged document; `None` for a document that is gone; "conflict"."""
    if ours == theirs or base == theirs:
        return ours
    if base == ours:
        return theirs
    if not ours or not theirs:
        return "conflict"
    before = base or Document({})
    keys = {*before.values, *ours.values, *theirs.values}
    merged = {key: merge_value(key, *(side.values.get(key) for side in (before, ours, theirs))) for key in keys}
    comments = merge_value("comments", before.comments, ours.comments, theirs.comments)
    if comments[1] or any(contradicts for _, contradicts in merged.values()):
        return "conflict"
    values = {key: value for key, (value, _) in merged.items() if value is not None}
    # Length and digest describe the same bytes: no mixture that neither side promised.
    promise = {key: values[key] for key in BYTES if key in values}
    if all(any(side.values.get(key) != promise[key] for key in promise) for side in (ours, theirs)):
        return "conflict"
    return Document(values, comments[0])


def merge_files(base, ours, theirs):
    """The merged file without what is disputed, and the paths in conflict; "" is the metadata's."""
    merged, conflicts = base.copy(), []
    paths = {"": None} | dict.fromkeys([*base.records, *ours.records, *theirs.records])
    for path in paths:
        versions = [file.records.get(path) if path else file.metadata for file in (base, ours, theirs)]
        document = merge_document(*versions)
        merged.records.pop(path, None)
        if document == "conflict":
            conflicts.append(path)
        elif path == "":
            merged.metadata = document
        elif document is not None:
            merged.records[path] = document
    return merged, sorted(conflicts)



class Editor:
    def __init__(self, base, rng):
        self.base, self.rng = base, rng
        self.ours, self.theirs = base.copy(), base.copy()
        self.sides = (self.ours, self.theirs)
        self.shuffles = False

    def digest(self):
        return {"content-length": self.rng.randrange(10**7), "content-sha256": self.rng.randbytes(32).hex()}

    def record(self, path):
        kind = self.rng.choice(["application/octet-stream", "image/png", "text/html"])
        return Document({"_path": path, "content-type": kind} | self.digest())

    def neighbours(self, count):
        paths = self.base.paths()
        at = self.rng.randrange(len(paths) - count + 1)
        return paths[at : at + count]

    def add(self, side, after):
        path = f"{after}{self.rng.choice('-._')}{self.rng.randrange(10**6)}"
        side.records[path] = self.record(path)
        return path

    def update(self, side, path):
        side.records[path].values |= self.digest()

    def tag(self, side, path):
        tags = side.records[path].values.setdefault("categories", [])
        side.records[path].values["categories"] = sorted({*tags, f"tag{self.rng.randrange(1000)}"})


def large_files():
    """The names of the real domain files with more than five records, and their sizes."""
    names = sorted(file.name for file in DATA.glob("*.yaml") if file.read_text().count("---\n") > 6)
    return names, [(DATA / name).stat().st_size for name in names]
