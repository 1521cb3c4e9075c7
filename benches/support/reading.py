"""Reads lists of URLs, for benches/readers.py: no code is shared with urldb, and nothing is known of how a list was made.

Each function takes a path and a text, and yields items `(line, url, promise)` and notices `(line, severity, code, count)`.
"""

import base64
import csv
import io
import re
import shlex
from urllib.parse import quote

ALGORITHMS = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
CODES = {"md5": "d50110", "sha1": "1114", "sha256": "1220", "sha384": "2030", "sha512": "1340"}
NIX = "0123456789abcdfghijklmnpqrsvwxyz"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def refused(line, code):
    return (line, "refused", code, 1)


def left_out(line, code, count=1):
    return (line, "left out", code, count)


def is_item(entry):
    return len(entry) == 3


def by_name(name):
    """The algorithm of a name such as `SHA2-256`."""
    plain = re.sub(r"^sha2-?(?=\d{3})", "sha", name.lower()).replace("-", "")
    return plain if plain in ALGORITHMS else None


def of_nix(text, size):
    number = 0
    for character in text:
        if character not in NIX:
            return None
        number = number * 32 + NIX.index(character)
    return number.to_bytes(size, "little").hex() if number < 256**size else None


def of_base58(text):
    number = 0
    for character in text:
        if character not in BASE58:
            return None
        number = number * 58 + BASE58.index(character)
    return number.to_bytes((number.bit_length() + 7) // 8, "big").hex()


def of_bytes(text, name):
    """The hexadecimal digits of a digest of the algorithm that has no prefix."""
    size, code = ALGORITHMS[name], CODES[name]
    if re.fullmatch(r"[0-9a-fA-F]+", text):
        if len(text) == 2 * size:
            return text.lower()
        if len(text) == 2 * size + len(code) and text.lower().startswith(code):
            return text.lower()[len(code):]
    if len(text) == (size * 8 + 4) // 5 and (found := of_nix(text, size)):
        return found
    found = of_base58(text)
    return found[len(code):] if found and len(found) == 2 * size + len(code) and found.startswith(code) else None


def digest(text, expected=None):
    """The algorithm and the digits; a text that says why there are none."""
    if match := re.fullmatch(r"([A-Za-z][A-Za-z0-9-]*)[:=]([0-9A-Za-z]+)", text):
        if name := by_name(match[1]):
            found = of_bytes(match[2], name)
            return (name, found) if found and expected in (None, name) else "bad-digest"
        return "algorithm" if len(match[2]) >= 8 else "bad-digest"
    if match := re.fullmatch(r"([A-Za-z][A-Za-z0-9]*)-([0-9A-Za-z+/]+=*)(\?.*)?", text):
        if name := by_name(match[1]):
            found = base64.b64decode(match[2]).hex()
            return (name, found) if len(found) == 2 * ALGORITHMS[name] and expected in (None, name) else "bad-digest"
        return "algorithm" if len(match[2]) >= 8 else "bad-digest"
    for name in [expected] if expected else ALGORITHMS:
        if found := of_bytes(text, name):
            return name, found
    return "bad-digest"


def integrity(text):
    """The promise of a list of digests; codes of what is left out; the code of a refusal."""
    values, out = {}, []
    for word in text.split():
        found = digest(word)
        if found == "bad-digest":
            return {}, out, found
        if found == "algorithm":
            out.append(found)
        else:
            values.setdefault(found[0], []).append(found[1])
    out += ["several-digests" for found in values.values() if len(found) > 1]
    return {f"content-{name}": found[0] for name, found in values.items() if len(found) == 1}, out, None


def below(line, base, name, promise):
    name = name.removeprefix("./")
    if any(part in ("", ".", "..") for part in name.split("/")):
        return refused(line, "bad-name")
    return line, base + quote(name, safe="!$&'()*+,;=:@/-._~"), promise


def of_uri(line, uri, promise, holds=False):
    """An item or a refusal. `holds` is for formats that keep URIs which nothing can request; `urldb sync` leaves these out."""
    scheme = uri.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        return (line, "held", scheme, 1) if holds else refused(line, "scheme")
    if re.match(r"https?://[^/]*:\d+", uri):
        return (line, "held", "port", 1) if holds else refused(line, "port")
    return line, escaped(uri), promise


def escaped(url):
    """The URL with the escapes that a request needs."""
    return re.sub(r'[^!-~]|["<>^`{|}]', lambda match: quote(match[0]), url)


def sums(path, text, base):
    state = "plain"
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if line == "-----BEGIN PGP SIGNED MESSAGE-----":
            state = "headers"
        elif line == "-----BEGIN PGP SIGNATURE-----":
            state = "signature"
        elif line == "-----END PGP SIGNATURE-----":
            state = "plain"
        elif state == "headers":
            state = "text" if not line else state
        elif state in ("plain", "text"):
            line = line.removeprefix("- ") if state == "text" else line
            line = line.removeprefix("\ufeff")
            if line.strip() and line[0] not in "#;":
                yield sum_line(number, line, path.name, base)


def unescaped(name):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "r": "\r", "\\": "\\"}[match[1]], name)


def sum_line(number, line, file, base):
    is_blake = file.startswith("B2SUMS") or file.endswith(".b2")
    if (match := re.fullmatch(r"(\\?)([0-9a-fA-F]+) [ *](.+)", line)) and len(match[2]) in (32, 40, 56, 64, 96, 128):
        escaped, found, name = match.groups()
        if len(found) == 56 or is_blake and len(found) == 128:
            return left_out(number, "sha224" if len(found) == 56 else "blake2b")
        algorithm = next(it for it, size in ALGORITHMS.items() if 2 * size == len(found))
        return below(number, base, unescaped(name) if escaped else name, {f"content-{algorithm}": found.lower()})
    if match := re.fullmatch(r"(\\?)([A-Za-z0-9/-]+) ?\((.*)\) ?= ?([0-9a-fA-F]+)\s*", line):
        escaped, tag, name, found = match.groups()
        if algorithm := by_name(tag):
            if len(found) != 2 * ALGORITHMS[algorithm]:
                return refused(number, "bad-digest")
            return below(number, base, unescaped(name) if escaped else name, {f"content-{algorithm}": found.lower()})
        kinds = {"blake2b": "blake2b", "sha224": "sha224", "sha2-224": "sha224", "crc": "crc"}
        return left_out(number, next((kind for start, kind in kinds.items() if tag.lower().startswith(start)), "algorithm"))
    if re.fullmatch(r"\d{1,10} \d+ .+", line):
        return left_out(number, "crc")
    return pooch(number, line, is_blake, base)


def pooch(number, line, is_blake, base):
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if len(words) not in (2, 3):
        return refused(number, "bad-line")
    name, word = words[0], words[1]
    if re.fullmatch(r"[0-9a-fA-F]{8}", word):
        return left_out(number, "crc")
    if is_blake and len(word) == 128:
        return left_out(number, "blake2b")
    prefix = word.partition(":")[0].lower() if ":" in word else None
    if prefix in ("blake2b", "sha224", "crc32"):
        return left_out(number, prefix.removesuffix("32"))
    found = digest(word, None if ":" in word or "=" in word else "sha256")
    if isinstance(found, str):
        return (left_out if found == "algorithm" else refused)(number, found)
    promise = {f"content-{found[0]}": found[1]}
    return of_uri(number, words[2], promise) if len(words) == 3 else below(number, base, name, promise)


COLUMNS = {
    "uri": "url", "loc": "url", "upstreamurl": "url", "size": "content-length", "length": "content-length",
    "contentlength": "content-length", "mediatype": "content-type", "type": "content-type",
    "contenttype": "content-type", "title": "name", "checksum": "digest", "integrity": "digest",
    "redirectsto": "redirects-to", "category": "categories",
}  # fmt: skip
PLAIN = {"url", "digest", "name", "description", "status", "method", "categories"}


def column(name):
    plain = re.sub(r"[\s_-]", "", name).lower()
    bare = plain.removeprefix("content").removesuffix("sum")
    if bare in ALGORITHMS:
        return f"content-{bare}"
    return COLUMNS.get(plain, plain if plain in PLAIN else None)


def table(path, text, columns=None):
    text = text.removeprefix("\ufeff")
    first = next(line for line in text.split("\n") if line.strip())
    named = lambda mark: [column(cell.strip().lstrip("#").strip()) for cell in next(csv.reader([first], delimiter=mark))]  # noqa: E731
    if columns:
        keys = columns.split(",")
        mark = next(mark for mark in ",\t;" if len(next(csv.reader([first], delimiter=mark))) == len(keys))
    else:
        mark = max(",\t;", key=lambda mark: sum(1 for key in named(mark) if key))
        keys = named(mark)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    before, is_header = 0, not columns
    for row in reader:
        # The lines of a row begin behind those of the row before.
        line, before = before + 1, reader.line_num
        if not row or all(not cell.strip() for cell in row):
            continue
        if is_header:
            yield from (left_out(line, "unknown-column") for key in keys if key is None)
            is_header = False
        else:
            yield table_row(line, {key: cell for key, cell in zip(keys, row) if key not in (None, "-") and cell.strip()})


def table_row(line, cells):
    promise = {}
    for key, cell in cells.items():
        word = cell.strip()
        if key in ("content-length", "status") and word:
            if not word.isdigit():
                return refused(line, "bad-cell")
            promise[key] = int(word)
        elif key == "digest" and word:
            found, out, bad = integrity(word)
            if out or bad:
                return refused(line, "bad-cell")
            promise.update(found)
        elif key.removeprefix("content-") in ALGORITHMS and word:
            found = digest(word, key.removeprefix("content-"))
            if isinstance(found, str):
                return refused(line, "bad-cell")
            promise[key] = found[1]
        elif key == "categories":
            promise[key] = sorted(part.strip() for part in cell.split(";") if part.strip())
        elif key not in ("url", "digest") and word:
            promise[key] = cell
    return of_uri(line, cells.get("url", "").strip(), promise, holds=True)


def tfds(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip().removeprefix("\ufeff")
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")] if "\t" in line else line.rsplit(maxsplit=2)
        if len(fields) < 3 or not fields[1].isdigit():
            yield refused(number, "bad-line")
        elif isinstance(found := digest(fields[2], "sha256"), str):
            yield refused(number, found)
        else:
            yield of_uri(number, fields[0], {"content-length": int(fields[1]), "content-sha256": found[1]})


def conandata(path, text):
    import yaml

    seen = set()

    def value(node, key):
        """The last value of a key, also of mappings that `<<` merges."""
        pairs = [(name.value, child) for name, child in node.value if isinstance(name, yaml.ScalarNode)]
        if found := [child for name, child in pairs if name == key]:
            return found[-1]
        for _, merged in (pair for pair in pairs if pair[0] == "<<"):
            for child in merged.value if isinstance(merged, yaml.SequenceNode) else [merged]:
                if isinstance(child, yaml.MappingNode) and (found := value(child, key)):
                    return found
        return None

    def is_null(node):
        return node is None or node.tag == "tag:yaml.org,2002:null" or not node.value

    def source(node, url):
        if isinstance(url, yaml.MappingNode):
            return
        urls = url.value if isinstance(url, yaml.SequenceNode) else [url]
        urls = [url for url in urls if isinstance(url, yaml.ScalarNode)]
        promise, is_git = {}, not is_null(value(node, "commit"))
        for name in () if is_git else ALGORITHMS:
            child = value(node, name)
            if not is_null(child):
                found = digest(child.value, name)
                if isinstance(found, str):
                    yield (left_out if found == "algorithm" else refused)(child.start_mark.line + 1, found)
                    if found == "bad-digest":
                        return
                    continue
                promise[f"content-{name}"] = found[1]
        for url in urls:
            # The text of a block begins on the line behind its mark.
            line = url.start_mark.line + (2 if url.style in ("|", ">") else 1)
            if is_git or is_null(url):
                yield left_out(line, "git" if is_git else "no-url")
            else:
                yield of_uri(line, url.value.strip(), promise)

    def walk(node):
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            if url := value(node, "url"):
                yield from source(node, url)
            for _, child in node.value:
                yield from walk(child)
        elif isinstance(node, yaml.SequenceNode):
            for child in node.value:
                yield from walk(child)

    for document in yaml.compose_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        yield from walk(document)


class Value:
    """A JSON value and its line."""

    def __init__(self, value, line):
        self.value, self.line = value, line

    def get(self, key):
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found if found and found.value is not None else None


def json_of(text):
    """The value of a JSON text, with the line of each value. The first of two members with one name counts."""
    tokens = re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', text)
    tokens = [(match[0], match.start()) for match in tokens]
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    import bisect
    import json

    at = 0

    def parse():
        nonlocal at
        token, offset = tokens[at]
        at += 1
        line = 1 + bisect.bisect_left(breaks, offset)
        if token not in ("{", "["):
            return Value(json.loads(token), line)
        members = {} if token == "{" else []
        while tokens[at][0] not in ("}", "]"):
            if token == "{":
                key = json.loads(tokens[at][0])
                at += 2
                members.setdefault(key, parse())
            else:
                members.append(parse())
            at += tokens[at][0] == ","
        at += 1
        return Value(members, line)

    return parse()


def bazel_registry(path, text, base=None):
    data = json_of(text.removeprefix("\ufeff"))

    def digests(value):
        found, out, bad = integrity(value.value if value else "")
        notices = [left_out(value.line, code) for code in out]
        return (None, [*notices, refused(value.line, bad)]) if bad else (found, notices)

    def download(fields, place):
        promise, notices = digests(fields.get("integrity"))
        yield from notices
        if promise is None:
            return
        if url := fields.get("url"):
            yield of_uri(url.line, url.value, promise)
        else:
            yield refused(place.line, "no-url")
        mirrors = fields.get("mirror_urls")
        for url in mirrors.value if mirrors else []:
            yield of_uri(url.line, url.value, promise)

    if attestations := data.get("attestations"):
        for attestation in attestations.value.values():
            yield from download(attestation, attestation)
        return
    kind = data.get("type")
    if kind and kind.value != "archive":
        yield left_out(kind.line, {"git_repository": "git", "local_path": "local"}.get(kind.value, "type"))
    else:
        yield from download(data, next(iter(data.value.values())))
    for folder in ("patches", "overlay"):
        files = data.get(folder)
        for name, value in files.value.items() if files else ():
            if base is None:
                yield left_out(value.line, "relative")
                continue
            promise, notices = digests(value)
            yield from notices
            if promise is not None:
                yield below(value.line, base, "/".join(("modules", *path.parts[-3:-1], folder, name)), promise)
