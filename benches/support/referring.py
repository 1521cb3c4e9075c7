"""Reads the links of documents, for benches/readers.py: no code is shared with urldb, and nothing is known of how a document
was made. Markdown is read line by line, without the cases that only a whole parser knows; the generator writes none of them.

Each function yields `(line, reference)`; `entries` makes items and counts of them.
"""

import bisect
import html
import re
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urljoin

from .reading import escaped, json_of, left_out, refused

CUT = ("mailto", "tel", "data", "javascript")
BARE = re.compile(r"(?:https?://|(?<![\w/])www\.)[^\s<\[\]]*", re.IGNORECASE)


def entries(references, path, base=None, exists=lambda path: False):
    """Items and notices of references: one notice for each kind, with the first line and the number."""
    kinds, against = {}, base and f"{base}{quote(path)}"
    for line, reference in references:
        if isinstance(reference, Refusal):
            yield refused(line, reference)
            continue
        if isinstance(reference, Base):
            against = urljoin(against or "https:", reference)
            continue
        kind, url = meaning(reference, against, base, exists)
        if kind:
            first, count = kinds.get(kind, (line, 0))
            kinds[kind] = (min(first, line), count + 1)
        else:
            yield line, url, {}
    for kind, (line, count) in kinds.items():
        yield left_out(line, kind, count)


class Refusal(str):
    """The code of a refusal in place of a reference."""


class Base(str):
    """The URL against which an HTML document resolves its references."""


class Kind(str):
    """The kind of a reference that a reader itself counts."""


def meaning(reference, against, base, exists):
    """The kind of a reference that is no URL, or its URL."""
    if isinstance(reference, Kind):
        return reference, None
    reference = re.sub(r"[\t\r\n]", "", reference.strip())
    scheme = match[1].lower() if (match := re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", reference)) else None
    if scheme in CUT:
        return scheme, None
    if any(mark in reference for mark in ("{{", "${", "{%", "<%")):
        return "template", None
    if "\ufffd" in reference:
        return "encoding", None
    if len(reference) > 64 * 1024:
        return "too-long", None
    if reference.startswith("//"):
        reference = f"https:{reference}"
    elif scheme is None:
        if not against:
            return "relative", None
        reference = urljoin(against, reference).partition("#")[0]
        if base and reference.startswith(base) and exists(unquote(reference.removeprefix(base).partition("?")[0])):
            return "local", None
    elif scheme not in ("http", "https"):
        return "scheme", None
    reference = reference.partition("#")[0]
    authority = re.match(r"https?://([^/?]*)", reference, re.IGNORECASE)[1]
    if "@" in authority:
        return "userinfo", None
    if ":" in authority:
        return "port", None
    if re.search(r"%(?![0-9A-Fa-f]{2})", reference):
        return "bad-percent-encoding", None
    has_path = "/" in reference.partition("://")[2]
    return None, escaped(reference if has_path else f"{reference}/")


def line_of(text):
    """A function from an offset to its line."""
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    return lambda offset: 1 + bisect.bisect_left(breaks, offset)


ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?""")
REFERRING = {
    "href": {"a", "area", "link", "image", "use"}, "xlink:href": {"a", "image", "use"},
    "src": {"img", "source", "script", "iframe", "embed", "video", "audio", "track"},
    "poster": {"video"}, "data": {"object"}, "cite": {"blockquote", "q", "del", "ins"},
}  # fmt: skip


class Tags(HTMLParser):
    """The references of each tag, with the lines of their values."""

    def __init__(self):
        super().__init__()
        self.found, self.base = [], None

    def handle_starttag(self, tag, attrs):
        raw, first = self.get_starttag_text(), self.getpos()[0]
        values = {}
        for match in ATTRIBUTE.finditer(raw, len(tag) + 1):
            group = next((group for group in (2, 3, 4) if match[group] is not None), 1)
            value = html.unescape(match[group]) if group > 1 else ""
            values.setdefault(match[1].lower(), (first + raw.count("\n", 0, match.start(group)), value))
        rel = values.get("rel", (0, ""))[1].lower().split()
        for name, (line, value) in values.items():
            if tag == "base" and name == "href" and self.base is None:
                self.base = value
            elif tag in REFERRING.get(name, ()):
                if tag != "link" or not {"preconnect", "dns-prefetch"}.intersection(rel):
                    self.found.append((line, value))
            elif name == "srcset" and tag in ("img", "source"):
                self.found += [(line, candidate.split()[0]) for candidate in re.split(r",\s+", value) if candidate.strip()]
            elif tag == "meta" and name == "content" and values.get("http-equiv", (0, ""))[1].lower() == "refresh":
                if match := re.match(r"\s*\d+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]*)", value, re.IGNORECASE):
                    self.found.append((line, match[1].strip()))


def tags(text):
    parser = Tags()
    parser.feed(text)
    parser.close()
    return parser


def in_html(text):
    # The parser takes the content of this element for elements.
    text = re.sub(r"(?<=<textarea>)[^\n]*?(?=</textarea>)", "", text.removeprefix("\ufeff"))
    parser = tags(text)
    if parser.base:
        yield 1, Base(parser.base)
    yield from parser.found


def in_markdown(text):
    """Blocks first: what is code or a comment becomes blanks, so that offsets stay."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines, fence, before = [], None, ""
    for line in text.split("\n"):
        marker = re.match(r"(?:> ?)* {0,3}(`{3,}|~{3,})", line)
        if fence:
            closing = re.fullmatch(r"(?:> ?)* {0,3}(`{3,}|~{3,})\s*", line)
            fence = None if closing and closing[1].startswith(fence) else fence
            line = " " * len(line)
        elif marker:
            fence, line = marker[1], " " * len(line)
        elif re.match(r" {4}|\t", line) and not before.strip():
            line = " " * len(line)
        lines.append(line)
        before = line
    yield from inline("\n".join(lines))


# A definition, code, a comment, an escaped character, a link or an image with its destination, `<URL>`, a tag, a bare URL.
PARTS = re.compile(
    r"^ {0,3}\[[^\]\n^]+\]:[ \n]*(?:<(?P<angled>[^>\n]*)>|(?P<defined>\S+))"
    r"|(?P<ticks>`+)(?!`)[\s\S]*?(?<!`)(?P=ticks)(?!`)"
    r"|<!--[\s\S]*?-->"
    r"|(?P<html><(?P<element>code|pre)>[\s\S]*?</(?P=element)>)"
    r"|\\[\[\]<!`*_\\]"
    r"|(?P<open>!?\[)"
    r"|\]\(\s*(?:<(?P<pointed>[^>\n]*)>|(?P<plain>(?:\\.|\([^()\s]*\)|[^\s()\\])*))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
    r"|(?P<close>\])"
    r"|<(?P<auto>[A-Za-z][A-Za-z0-9+.-]+:[^\s<>]*)>"
    r"|<(?P<mail>[\w.+-]+@[\w.-]+)>"
    r"|(?P<tag></?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*>)"
    rf"|(?P<bare>{BARE.pattern})",
    re.MULTILINE | re.IGNORECASE,
)


def inline(text):
    line, opened = line_of(text), []
    found = []
    for match in PARTS.finditer(text):
        kind, at = match.lastgroup, match.start()
        if kind in ("angled", "defined"):
            found.append((line(at), unescape(match[kind])))
        elif kind == "open":
            opened.append(len(found))
            found.append((line(at), None))
        elif kind in ("pointed", "plain") and opened:
            start = opened.pop()
            # The text of a link is no other use, but an image in it is.
            inside = [entry for entry in found[start + 1:] if not isinstance(entry[1], Bare)]
            found[start:] = [(found[start][0], unescape(match[kind])), *inside]
        elif kind == "close" and opened:
            del found[opened.pop()]
        elif kind == "auto":
            found.append((line(at), match["auto"]))
        elif kind == "mail":
            found.append((line(at), "mailto:"))
        elif kind == "tag":
            found += [(line(at) + inside - 1, reference) for inside, reference in in_html(match["tag"])]
        elif kind == "bare":
            found.append((line(at), Bare(trimmed(match["bare"]))))
    yield from ((number, str(reference)) for number, reference in found if reference is not None)


class Bare(str):
    """A bare URL."""


def unescape(destination):
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", destination))


def trimmed(url):
    """A bare URL without the marks that end its sentence (GFM 6.9)."""
    while True:
        short = re.sub(r"(?:[?!.,:*_~'\"]|&[a-zA-Z0-9]+;)$", "", url)
        if short.endswith(")") and short.count(")") > short.count("("):
            short = short[:-1]
        if short == url:
            return f"http://{url}" if url.lower().startswith("www.") else url
        url = short


def in_notebook(text):
    data = json_of(text.removeprefix("\ufeff"))
    for cell in data.get("cells").value:
        if cell.get("cell_type").value != "markdown":
            continue
        source = cell.get("source")
        if source is None or isinstance(source.value, (dict, int)):
            yield (source.line if source else cell.line), Refusal("bad-cell")
            continue
        pieces = source.value if isinstance(source.value, list) else [source]
        lines = [piece.line for piece in pieces for _ in range(len(piece.value))]
        joined = "".join(piece.value for piece in pieces)
        starts = [0, *(match.end() for match in re.finditer("\n", joined))]
        for line, reference in in_markdown(joined):
            # The first character of the line: its piece has the line in the file.
            yield lines[starts[line - 1]], reference


def in_csl(text):
    for reference in json_of(text.removeprefix("\ufeff")).value:
        for name, value in reference.value.items():
            if name in ("URL", "DOI") and isinstance(value.value, str) and value.value.strip():
                yield value.line, doi(value.value) if name == "DOI" else value.value


def doi(text):
    text = text.strip()
    if re.match(r"https?://", text, re.IGNORECASE):
        return text
    return "https://doi.org/" + quote(re.sub(r"^doi:\s*", "", text, flags=re.IGNORECASE), safe="/:;().,-_~!$&'*+=@[]")


def in_bibtex(text):
    text = text.removeprefix("\ufeff")
    line, strings = line_of(text), {}
    for match in re.finditer(r"^[ \t]*@(\w+)\s*[{(]", text, re.MULTILINE):
        kind = match[1].lower()
        if kind in ("comment", "preamble"):
            continue
        fields, is_whole = fields_of(text, match.end(), strings)
        # In parentheses, entries are counted only.
        if not is_whole or match[0].endswith("("):
            yield line(match.start() + match[0].index("@")), Kind("bad-entry")
        elif kind == "string":
            strings.update({name: value for name, value, _ in fields})
        else:
            yield from in_entry(fields, line)


def fields_of(text, at, strings):
    """Names, values and offsets of the values of an entry, and whether the entry ends."""
    fields = []
    field = re.compile(r"[\s,]*(?:([\w-]+)\s*=\s*|([^\s,={}@]+)\s*(?=[,}])|([})]))")
    while match := field.match(text, at):
        at = match.end()
        if match[3]:
            return fields, True
        if not match[1]:
            continue
        start, value = at, ""
        while True:
            piece, at = value_at(text, at, strings)
            if piece is None:
                return fields, False
            value += piece
            if not (more := re.compile(r"\s*#\s*").match(text, at)):
                break
            at = more.end()
        fields.append((match[1].lower(), value, start))
    return fields, False


def value_at(text, at, strings):
    if text[at] not in '{"':
        word = re.compile(r"[\w-]+").match(text, at)
        return (word[0] if word[0].isdigit() else strings.get(word[0].lower(), ""), word.end()) if word else (None, at)
    depth, start = 0, at + 1
    for end in range(start, len(text)):
        character, escaped = text[end], text[end - 1] == "\\"
        if character == "{" and not escaped:
            depth += 1
        elif depth == 0 and character == ("}" if text[at] == "{" else '"') and not escaped:
            return text[start:end], end + 1
        elif character == "}" and not escaped:
            depth -= 1
        elif character == "@" and text[end - 1] == "\n":
            break
    return None, at


def in_entry(fields, line):
    archive = next((value.strip().lower() for name, value, _ in fields if name in ("archiveprefix", "eprinttype")), None)
    for name, value, start in fields:
        commands = [tex(url) for url in re.findall(r"\\(?:url|href)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", value)]
        if name == "url":
            found = commands or [tex(value)]
        elif name == "doi":
            found = [doi(tex(value))]
        elif name in ("note", "howpublished"):
            found = commands
        elif name == "eprint":
            key = re.sub(r"^arxiv:", "", tex(value), flags=re.IGNORECASE)
            is_arxiv = archive == "arxiv" if archive else re.fullmatch(r"\d{4}\.\d{4,5}(v\d+)?", key)
            found = [f"https://arxiv.org/abs/{quote(key)}"] if is_arxiv else []
        else:
            found = []
        yield from ((line(start), url) for url in found if url)


def tex(value):
    value = value.replace("\\textasciitilde", "~").replace("\\textunderscore", "_")
    return re.sub(r"[{}\s]", "", re.sub(r"\\(.)", r"\1", value))


def in_lychee(text):
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip().removeprefix("\ufeff")
        url = line.split(" ")[0]
        if line.endswith(" [excluded]"):
            yield number, Kind("excluded")
        elif url.lower().startswith("file:"):
            yield number, Kind("local")
        elif url:
            yield number, url


BY_ENDING = {
    ".md": in_markdown, ".markdown": in_markdown, ".html": in_html, ".htm": in_html, ".bib": in_bibtex,
    ".csl.json": in_csl, ".ipynb": in_notebook,
}  # fmt: skip


def reader_of(name):
    """The function that reads a document of this name."""
    return next(read for ending, read in BY_ENDING.items() if name.lower().endswith(ending))
