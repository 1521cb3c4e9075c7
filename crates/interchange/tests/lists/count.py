"""Counts the items and notices of a tree of lists, for trees.rs: an implementation that shares no code with the readers.

Usage: count.py FORMAT DIRECTORY. Prints one line for each item and each notice. Exits with 77 without PyYAML.
"""

import base64
import csv
import io
import json
import re
import shlex
import sys
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

LENGTHS = {32: "md5", 40: "sha1", 64: "sha256", 96: "sha384", 128: "sha512"}
ORDER = ["md5", "sha1", "sha256", "sha384", "sha512"]
BYTES = {name: length // 2 for length, name in LENGTHS.items()}


def item(url, digests, length=None, holds=False, status=None, target=None):
    if url.startswith("ftp:") and not holds:
        print("refused scheme")
        return
    facts = {"length": length, "status": status, "to": target}
    parts = [url] + [f"{name}={value}" for name, value in facts.items() if value is not None]
    print(" ".join(parts + [f"{name}={digests[name]}" for name in ORDER if name in digests]))


def hexadecimal(text, name):
    """The digest in lower case; None if it is none of the algorithm."""
    return text.lower() if re.fullmatch(rf"[0-9a-fA-F]{{{2 * BYTES[name]}}}", text) else None


def below(base, name, digests):
    name = name.removeprefix("./")
    if any(part in ("", ".", "..") for part in name.split("/")):
        print("refused bad-name")
    else:
        item(base + quote(name, safe="!$&'()*+,;=:@/-._~"), digests)


def sums(path, text):
    body, state = [], "plain"
    for line in text.removeprefix("\ufeff").split("\n"):
        line = line.removesuffix("\r")
        if line == "-----BEGIN PGP SIGNED MESSAGE-----":
            state = "headers"
        elif line == "-----BEGIN PGP SIGNATURE-----":
            state = "signature"
        elif state == "headers":
            state = "text" if not line else state
        elif state in ("plain", "text"):
            body.append(line.removeprefix("- ") if state == "text" else line)
    for line in body:
        if line.strip() and line[0] not in "#;":
            digest_of_file(line, path.name)


def digest_of_file(line, file):
    if match := re.fullmatch(r"(\\?)([0-9a-fA-F]+) [ *](.+)", line):
        escaped, digest, name = match.groups()
        if len(digest) in LENGTHS:
            if len(digest) == 128 and file == "B2SUMS":
                print("left out algorithm")
            else:
                if escaped:
                    name = name.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
                below("http://a.test/", name, {LENGTHS[len(digest)]: digest.lower()})
            return
    if match := re.fullmatch(r"([A-Za-z0-9-]+) ?\((.*)\) ?= ?([0-9a-fA-F]+)", line):
        name = match[1].lower().replace("-", "").replace("sha2512", "sha512")
        if name in BYTES:
            digest = hexadecimal(match[3], name)
            if digest is None:
                print("refused bad-digest")
            else:
                below("http://a.test/", match[2], {name: digest})
        else:
            print("left out algorithm")
        return
    words = shlex.split(line)
    if len(words) not in (2, 3):
        print("refused bad-line")
        return
    name, _, digest = words[1].rpartition(":")
    if name and name not in BYTES:
        print("left out algorithm")
    elif file == "B2SUMS" and len(words[1]) == 128:
        print("left out algorithm")
    elif (found := hexadecimal(digest, name or "sha256")) is None:
        print("refused bad-digest")
    elif len(words) == 3:
        item(words[2], {name or "sha256": found})
    else:
        below("http://a.test/", words[0], {name or "sha256": found})


def table(path, text):
    delimiter = next(mark for mark in "\t;," if mark in text.split("\n")[0])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    print("left out", "unknown-column")
    next(rows)
    for row in rows:
        if not row:
            continue
        url, size, sha256, md5, _, sha512 = (cell.strip() for cell in row)
        cells = {"sha256": sha256, "md5": md5, "sha512": sha512}
        found = {name: hexadecimal(cell, name) for name, cell in cells.items() if cell}
        if None in found.values() or size and not size.isdigit():
            print("refused bad-cell")
        else:
            item(url, found, size or None, holds=True)


def tfds(path, text):
    for line in text.split("\n"):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t") if "\t" in line else line.rsplit(maxsplit=2)
        if len(fields) < 3 or not fields[1].isdigit():
            print("refused bad-line")
        elif (digest := hexadecimal(fields[2], "sha256")) is None:
            print("refused bad-digest")
        else:
            item(fields[0], {"sha256": digest}, fields[1])


def integrity(text):
    """The digests of an integrity; None if a word is no digest."""
    found = {}
    for word in (text or "").split():
        name, _, value = word.partition("-")
        if name == "sha224":
            print("left out algorithm")
        elif name not in BYTES:
            print("refused bad-digest")
            return None
        else:
            found.setdefault(name, []).append(base64.b64decode(value.partition("?")[0]).hex())
    for name, values in found.items():
        if len(values) > 1:
            print("left out several-digests")
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def bazel(path, text, base):
    data = json.loads(text)
    for attestation in data.get("attestations", {}).values():
        digests = integrity(attestation["integrity"])
        if digests is not None:
            item(attestation["url"], digests)
    if "attestations" in data:
        return
    kind = data.get("type", "archive")
    if kind != "archive":
        print("left out", {"git_repository": "git", "local_path": "local"}[kind])
    elif (digests := integrity(data.get("integrity"))) is not None:
        if "url" in data:
            item(data["url"], digests)
        else:
            print("refused no-url")
        for url in data.get("mirror_urls", []):
            item(url, digests)
    for folder in ("patches", "overlay"):
        for name, value in data[folder].items():
            if base is None:
                print("left out relative")
            elif (digests := integrity(value)) is not None:
                below(base, "/".join(path.parts[-4:-1] + (folder, name)), digests)


def conandata(path, text):
    import yaml

    seen = set()

    def walk(node):
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, list):
            for child in node:
                walk(child)
        if isinstance(node, dict):
            if "url" in node:
                source(node)
            for child in node.values():
                walk(child)

    def source(node):
        urls = node["url"] if isinstance(node["url"], list) else [node["url"]]
        if node.get("commit"):
            for _ in urls:
                print("left out git")
            return
        digests = {name: hexadecimal(node[name], name) for name in ORDER if node.get(name)}
        if None in digests.values():
            print("refused bad-digest")
            return
        for url in urls:
            if url is None:
                print("left out no-url")
            else:
                item(url, digests)

    # Digests such as 1e5… are text.
    walk(yaml.safe_load(text))


def debian(path, text):
    for paragraph in re.split(r"\n\n+", text):
        paragraph = re.sub(r"^#.*\n?", "", paragraph, flags=re.MULTILINE)
        fields = dict(re.findall(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", paragraph, re.MULTILINE))
        if fields:
            debian_paragraph({name: value.strip() for name, value in fields.items()})


def debian_paragraph(fields):
    is_good = True
    if not re.fullmatch(r"\d*", fields.get("Size", "")):
        print("refused bad-length")
        is_good = False
    digests = {}
    for field, name in {"MD5sum": "md5", "SHA256": "sha256"}.items():
        if field in fields and (value := hexadecimal(fields[field], name)):
            digests[name] = value
        elif field in fields:
            print("refused bad-digest")
            is_good = False
    if "Checksums-X" in fields:
        print("left out algorithm")
    files = {}
    for field, name in {"Files": "md5", "Checksums-Sha1": "sha1", "Checksums-Sha256": "sha256"}.items():
        for line in filter(None, fields.get(field, "").split("\n")):
            words = line.split()
            if len(words) != 3:
                print("refused bad-line")
                continue
            file = files.setdefault(words[2], {})
            if file is None:
                continue
            if not (value := hexadecimal(words[0], name)):
                mistake = "bad-digest"
            elif not words[1].isdigit():
                mistake = "bad-length"
            elif file.setdefault("length", words[1]) != words[1] or file.setdefault(name, value) != value:
                mistake = "contradiction"
            else:
                continue
            print("refused", mistake)
            files[words[2]] = None
    if "Filename" in fields:
        if not is_good:
            pass
        elif ".." in fields["Filename"]:
            print("refused bad-name")
        else:
            item("http://a.test/" + fields["Filename"].removeprefix("./"), digests, fields.get("Size"))
    elif "Directory" not in fields:
        print("refused no-url")
    for name, file in files.items() if "Directory" in fields else ():
        if file and ".." in name:
            print("refused bad-name")
        elif file:
            folder = "" if fields["Directory"] == "." else fields["Directory"] + "/"
            item(f"http://a.test/{folder}{name}", file, file["length"])


def redirects(text, site, default):
    known = set()
    for line in text.removeprefix("\ufeff").split("\n"):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if not line:
            continue
        match = re.fullmatch(r"(\S+)((?:\s+[^/\s]\S*=\S*)*)\s+(/\S*|https?://\S*)(?:\s+(\d{3})!?(?=\s|$))?(.*)", line)
        if not match or not re.match("/|https?://", match[1]):
            print("refused bad-line")
            continue
        source, query, target, status, rest = match.groups()
        if "*" in source or "/:" in source.replace("://", ""):
            print("left out pattern")
        elif query or "?" in source:
            print("left out query")
        elif any("=" not in word for word in rest.split()):
            print("refused bad-line")
        elif rest:
            print("left out condition")
        else:
            source = source.lower() if source.startswith("http") else site + source
            if source in known:
                print("left out shadowed")
            elif status == "200":
                print("left out rewrite")
            elif status == "404":
                print("left out status")
            else:
                item(source, {}, status=status or default, target=target)
            known.add(source)


def nix_sources(path, text):
    for source in json.loads(text.removeprefix("\ufeff"))["sources"]:
        if source["type"] != "url":
            print("left out", source["type"] if source["type"] in ("git", "hg", "svn") else "type")
        elif not isinstance(source["urls"], list):
            print("refused no-url")
        elif source.get("outputHashMode", "flat") != "flat":
            print("left out recursive")
        elif source.get("postFetch"):
            print("left out post-fetch")
        else:
            stated = source["integrity"]
            if isinstance(stated, list):
                print("refused bad-digest")
                continue
            if stated and ":" in stated:
                digests = {"sha256": stated.partition(":")[2].lower()}
            else:
                digests = integrity(stated)
            for url in source["urls"] if digests is not None else []:
                if not isinstance(url, str):
                    print("refused bad-value")
                elif url.startswith("mirror:"):
                    print("left out mirror")
                else:
                    item(url, digests)


def brew_json(path, text):
    for formula in json.loads(text.removeprefix("\ufeff")):
        urls = formula["urls"]
        stable = urls["stable"]
        checksum = stable and stable.get("checksum")
        if not stable:
            print("left out no-url")
        elif "url" not in stable:
            print("refused no-url")
        elif checksum is None and (stable.get("tag") or stable.get("revision")):
            print("left out", "type" if stable.get("using") == "svn" else "git")
        elif checksum == "word":
            print("refused bad-digest")
        else:
            item(stable["url"], {"sha256": checksum.lower()} if checksum else {})
        if "head" in urls:
            print("left out head")
        for bottle in formula["bottle"].values():
            if bottle["files"]:
                print("left out bottle", len(bottle["files"]))


def schemastore(path, text):
    for schema in json.loads(text.removeprefix("\ufeff"))["schemas"]:
        url = schema.get("url")
        if url is None:
            print("refused no-url")
        elif isinstance(url, dict):
            print("refused bad-value")
        else:
            item(url, {})
        versions = schema["versions"] or {}
        if isinstance(versions, list):
            print("refused bad-value")
        else:
            for url in versions.values():
                item(url, {})


def datapackage(path, text):
    for resource in json.loads(text.removeprefix("\ufeff"))["resources"]:
        path = resource.get("path")
        if path is None:
            print("left out inline" if "data" in resource else "refused no-url")
            continue
        paths = path if isinstance(path, list) else [path]
        length, hashed = resource.get("bytes"), resource.get("hash")
        if len(paths) > 1:
            if length is not None or hashed is not None:
                print("left out parts")
            length = hashed = None
        if length is not None and not isinstance(length, int):
            print("refused bad-length")
            continue
        digests = {}
        if hashed is not None:
            name, _, value = hashed.rpartition(":")
            name = name or LENGTHS.get(len(value))
            if name == "crc32":
                print("left out algorithm")
            elif name is None or not hexadecimal(value, name):
                print("refused bad-digest")
                continue
            else:
                digests[name] = value.lower()
        for path in paths:
            if path.startswith(("https:", "ftp:")):
                item(path, digests, length)
            elif ".." in path.split("/") or path.startswith("/"):
                print("refused bad-name")
            else:
                item("https://b.test/d/" + quote(path), digests, length)


def jsonld(path, text):
    def walk(node):
        if isinstance(node, list):
            for child in node:
                walk(child)
        if isinstance(node, dict):
            for key, child in node.items():
                if key != "@context":
                    walk(child)
            describe({key.rpartition(":")[2]: value for key, value in node.items() if value is not None})

    def describe(node):
        types = node.get("@type", [])
        types = {name.rpartition(":")[2] for name in ([types] if isinstance(types, str) else types)}
        if "FileSet" in types:
            print("left out file-set")
        elif "contentUrl" not in node and not types & {"File", "FileObject"}:
            pass
        elif "containedIn" in node:
            print("left out contained")
        elif str(node.get("encodingFormat")).startswith("git+"):
            print("left out git")
        elif "contentUrl" not in node and not ("File" in types and "@id" in node):
            print("refused no-url")
        else:
            file(node)

    def file(node):
        urls = node.get("contentUrl", node.get("@id"))
        length = str(node["contentSize"]) if "contentSize" in node else None
        if length and not length.isdigit():
            print("left out size")
            length = None
        digests = {name: hexadecimal(node[name], name) for name in ORDER if node.get(name)}
        if None in digests.values():
            print("refused bad-digest")
            return
        for url in urls if isinstance(urls, list) else [urls]:
            url = url["@id"] if isinstance(url, dict) else url
            if url.startswith("#"):
                print("left out relative")
            else:
                item(url if ":" in url else "https://b.test/d/" + url, digests, length)

    walk(json.loads(text.removeprefix("\ufeff")))


def metalink(path, text):
    import xml.etree.ElementTree as tree

    space = "{urn:ietf:params:xml:ns:metalink}"
    for file in tree.fromstring(text.removeprefix("\ufeff").encode()).findall(f"{space}file"):
        digests, sizes, is_refused = {}, file.findall(f"{space}size"), False
        for _ in file.findall(f"{space}metaurl"):
            print("left out metaurl")
        for found in file.findall(f"{space}hash"):
            name, value = found.get("type").replace("-", ""), found.text.strip()
            if name not in BYTES:
                print("left out algorithm")
            elif hexadecimal(value, name) is None:
                print("refused bad-digest")
                is_refused = True
            elif digests.setdefault(name, value.lower()) != value.lower():
                print("refused contradiction")
                is_refused = True
        if sizes and not sizes[0].text.isdigit():
            print("refused bad-length")
            is_refused = True
        for url in file.findall(f"{space}url") if not is_refused else []:
            item("".join(url.itertext()).strip(), digests, sizes[0].text if sizes else None)


def dvc(path, text):
    import yaml

    stage = yaml.safe_load(text)
    deps, out = stage.get("deps", []), (stage.get("outs") or [{}])[0]
    if not deps:
        print("left out no-url")
        return
    if "cmd" in stage:
        print("left out command")
        return
    length, digests = None, {}
    if len(deps) == 1:
        length, md5 = out.get("size"), out.get("md5")
        if md5 and md5.endswith(".dir"):
            print("left out folder")
            return
        if length is not None and not isinstance(length, int):
            print("refused bad-length")
            return
        if md5 and out.get("hash") != "md5":
            print("left out text-digest")
        elif md5 and hexadecimal(md5, "md5") is None:
            print("refused bad-digest")
            return
        elif md5:
            digests["md5"] = md5
    for dep in deps:
        if "repo" in dep:
            print("left out git")
        elif "://" not in dep["path"]:
            print("left out local")
        else:
            item(dep["path"], digests, length)


def annex(path, text):
    for line in text.split("\n"):
        if not line.strip():
            continue
        if not line.startswith('{"key"'):
            print("refused bad-line")
            continue
        entry = json.loads(line)
        urls = [url for where in ("whereis", "untrusted") for place in entry.get(where, []) for url in place["urls"]]
        if not urls:
            print("left out no-url")
            continue
        fields, _, name = entry["key"].partition("--")
        backend, *fields = fields.split("-")
        length = next((field[1:] for field in fields if field.startswith("s")), None)
        digests = {}
        if backend.startswith("BLAKE"):
            print("left out algorithm")
        if any(field.startswith("C") for field in fields):
            length = None
        elif backend.startswith(("SHA", "MD5")):
            digests[backend.removesuffix("E").lower()] = name.partition(".")[0]
        for url in urls:
            if url.startswith("yt:"):
                print("left out yt")
            else:
                item(url, digests, length)


def htaccess(path, text):
    """Rules with names of their own, so that each answers for itself. A rule is on one line, or continued on the next one."""
    text = re.sub(r"\\\n", "", text)
    accept = None
    for line in text.split("\n"):
        words = [word.strip("\"'") for word in re.findall(r"\"[^\"]*\"|'[^']*'|\S+", line)]
        if not words or words[0].startswith("#"):
            continue
        name, words = words[0].lower(), words[1:]
        if name == "rewritecond":
            accept = words[1].replace("\\", "")
        elif name == "redirect":
            status = {"gone": "410", "permanent": "301", "seeother": "303"}.get(words[0], words[0])
            status, words = (status, words[1:]) if status.isdigit() else ("302", words)
            print(f"http://a.test{words[0]} status={status}" + (f" to={words[1]}" if words[1:] else ""))
        elif name == "rewriterule":
            rewrite_rule(words, accept)
            accept = None


def rewrite_rule(words, accept):
    flags = re.split(r",\s*", words[2].strip("[]")) if words[2:] else []
    status = next((flag.partition("=")[2] or "302" for flag in flags if flag.split("=")[0] in ("R", "redirect")), None)
    status = {"permanent": "301", "seeother": "303"}.get(status, status)
    if "G" in flags:
        status = "410"
    if words[1] == "-" and status is None or not words[1].startswith("http") and words[1] != "-":
        print("left out internal")
        return
    paths = pattern_texts(words[0])
    if paths is None:
        print("left out pattern")
        return
    for path, group in paths:
        target = words[1].replace("$1", group).replace("\\%", "%")
        fields = [f"http://a.test/{quote(path)}"] + ([f"accept={accept}"] if accept else []) + [f"status={status or 302}"]
        print(" ".join(fields + ([f"to={target}"] if target != "-" else [])))


def pattern_texts(pattern):
    """The texts of a pattern, each with its group; None if they are many."""
    inner = re.fullmatch(r"\^(.*)\$", pattern)
    if not inner or re.search(r"[*+]", inner[1].replace("\\+", "")):
        return None
    found = [("", "")]
    for part in re.findall(r"\([^)]*\)|\\.\??|.\??", inner[1]):
        if part.startswith("("):
            found = [(text + one, one) for text, _ in found for one in part[1:-1].split("|")]
        else:
            char = part.rstrip("?").removeprefix("\\")
            found = [(text + one, group) for text, group in found for one in ([char, ""] if part.endswith("?") else [char])]
    return found


FORMATS = {
    "sums": sums,
    "table": table,
    "tfds": tfds,
    "bazel-registry": lambda path, text: bazel(path, text, None),
    "bazel-registry-base": lambda path, text: bazel(path, text, "https://r.test/"),
    "conandata": conandata,
    "nix-sources": nix_sources,
    "brew-json": brew_json,
    "schemastore": schemastore,
    "datapackage": datapackage,
    "jsonld": jsonld,
    "metalink": metalink,
    "dvc": dvc,
    "annex": annex,
    "debian-sources": debian,
    "redirects": lambda path, text: redirects(text, "http://a.test", None),
    "redirects-netlify": lambda path, text: redirects(text, "https://a.netlify.app", 301),
    "htaccess": htaccess,
}


def main():
    if sys.argv[1] in ("conandata", "dvc"):
        try:
            import yaml  # noqa: F401
        except ImportError:
            sys.exit(77)
    for path in sorted(Path(sys.argv[2]).rglob("*")):
        if path.is_file():
            FORMATS[sys.argv[1]](path, path.read_bytes().decode())


main()
