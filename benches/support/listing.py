"""Writes lists of URLs with every edge of their formats, for benches/readers.py. Entries have numbers, so that URLs differ."""

import base64
import gzip
import hashlib
import json

from .reading import ALGORITHMS, BASE58, CODES, NIX

HOSTS = 7


def url(number, tail=""):
    return f"http://h{number % HOSTS}.example.org/f{number}{tail}"


def hexadecimal(number, name="sha256"):
    """A digest that begins with a letter, so that YAML takes it for text."""
    return "a" + hashlib.sha512(f"{name} {number}".encode()).hexdigest()[1 : 2 * ALGORITHMS[name]]


def in_digits(number, digits, size=None):
    text = ""
    while number or size and len(text) < size:
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
    return text


def spellings(number, name="sha256"):
    """One digest in each spelling that has no prefix."""
    text = hexadecimal(number, name)
    data = bytes.fromhex(text)
    nix = in_digits(int.from_bytes(data, "little"), NIX, (len(data) * 8 + 4) // 5)
    return [text, text.upper(), nix, CODES[name] + text, in_digits(int(CODES[name] + text, 16), BASE58)]


def integrity(number, name="sha256"):
    return f"{name}-{base64.b64encode(bytes.fromhex(hexadecimal(number, name))).decode()}"


def any_digest(rng, number, name="sha256"):
    """A digest in any spelling."""
    text = hexadecimal(number, name)
    nix = spellings(number, name)[2]
    named = [f"{name}:{text}", f"{name}={text}", f"{name.upper()}:{text}", f"{name}:{nix}", integrity(number, name), f"{integrity(number, name)}?ct=x"]
    # In Base32 a SHA-1 is as long as an MD5.
    bare = spellings(number, name) if name != "sha1" else spellings(number, name)[:2]
    return rng.choice(named + bare)


def numbers(rng, most):
    return range(rng.randrange(1, most))


def line_ends(rng, text):
    """CRLF in some files, and no line end at the end of others."""
    text = text.replace("\n", "\r\n") if rng.random() < 0.15 else text
    return text.rstrip("\r\n") if rng.random() < 0.1 else text


def signed(rng, text):
    """Text that PGP signed, in some files."""
    if rng.random() < 0.8 or "\r" in text:
        return text
    text = "".join(f"- {line}\n" if line.startswith("-") else f"{line}\n" for line in text.rstrip("\n").split("\n"))
    return (
        f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{text}"
        "-----BEGIN PGP SIGNATURE-----\n\nabc def=\n=abcd\n-----END PGP SIGNATURE-----\n"
    )


def gnu(rng, number):
    name, text = f"d{number % 9}/f{number}.txt", hexadecimal(number)
    algorithm = rng.choice(list(ALGORITHMS))
    return rng.choice([
        f"{text}  {name}", f"{text} *{name}", f"{text.upper()}  ./{name}", f"{text}  caf\u00e9 {number} 100%.txt",
        f"\\{text}  {name}\\n\\\\", f"\\{text}  {name}\\r", f"{text}  -{name}", f"{text}   {name}", f"{text}  {name} ",
        f"{hexadecimal(number, algorithm)}  {name}", f"{hexadecimal(number, 'sha512')}  {name}\n{hexadecimal(number, 'md5')}  {name}",
        f"{text[:56]}  {name}", f"{number * 7919 % 4294967296} {number} {name}", f"# {text}  {name}", f"; {text}  {name}", "",
        f"{text}  ../{name}", f"{text}  /{name}", f"{text}  {name}/", f"{text}  a//{name}", text, f"{text[:63]}  {name}",
    ]) + "\n"  # fmt: skip


def bsd(rng, number):
    name, text = f"d{number % 9}/f{number}.txt", hexadecimal(number)
    return rng.choice([
        f"SHA256 ({name}) = {text}", f"SHA256 (./{name}) = {text}", f"SHA256 ({name} (1)) = {text.upper()}", f"MD5 ({name}) = {hexadecimal(number, 'md5')}",
        f"SHA1 ({name}) = {hexadecimal(number, 'sha1')}", f"SHA512 ({name}) = {hexadecimal(number, 'sha512')}\nSHA384 ({name}) = {hexadecimal(number, 'sha384')}",
        f"\\SHA256 ({name}\\n) = {text}", f"SHA224 ({name}) = {text[:56]}", f"BLAKE2b ({name}) = {hexadecimal(number, 'sha512')}", f"SM3 ({name}) = {text}",
        f"RMD160 ({name}) = {text[:40]}", f"CRC ({name}) = {text[:8]}", f"SHA256 ({name}) = {text[:40]}", f"MD5 (../{name}) = {hexadecimal(number, 'md5')}",
        f"SHA256 ({name}) ) = {text}", f"# SHA256 ({name}) = {text}",
    ]) + "\n"  # fmt: skip


def openssl(rng, number):
    name, text = f"d{number % 9}/f{number}.txt", hexadecimal(number)
    return rng.choice([
        f"SHA2-256({name})= {text}", f"SHA256({name})= {text}", f"SHA2-512({name})= {hexadecimal(number, 'sha512')}", f"SHA1({name})= {hexadecimal(number, 'sha1')}",
        f"MD5({name} (x))= {hexadecimal(number, 'md5')}", f"SHA2-384({name})= {hexadecimal(number, 'sha384')}", f"SHA2-224({name})= {text[:56]}",
        f"SHA3-256({name})= {text}", f"SHA2-512/256({name})= {text}", f"BLAKE2b512({name})= {hexadecimal(number, 'sha512')}", f"SHA2-256({name})= {text[:60]}",
    ]) + "\n"  # fmt: skip


def pooch(rng, number):
    name, text = f"d{number % 9}/f{number}.txt", hexadecimal(number)
    return rng.choice([
        f"{name} {text}", f"{name} sha256:{text}", f"{name} md5:{hexadecimal(number, 'md5')}", f"{name} sha1:{hexadecimal(number, 'sha1')}",
        f"{name} {text} {url(number)}", f"{name} sha512:{hexadecimal(number, 'sha512')} {url(number, '?a=1&b=2')}", f'"{name} x" {text}',
        f"'{name}#1' {text}", f"{name}\\ y   {text}", f"{name}\t'{text}'", f"{name}#2 {text}", f"# {name} {text}", f"{name} xxh64:{text[:16]}",
        f"{name} {text[:8]}", f"{name} blake2b:{hexadecimal(number, 'sha512')}", f"{name} {text[:62]}", name, f"{name} {text} {url(number)} more",
        f"{name} {text} ftp://h.example.org/{number}", f"'{name} {text}" if number % 2 else f"../{name} {text}",
    ]) + "\n"  # fmt: skip


def quoted(rng, cell, mark):
    is_special = any(character in cell for character in (mark, '"', "\n"))
    return '"' + cell.replace('"', '""') + '"' if is_special or rng.random() < 0.1 else cell


def table(rng, entries):
    """Each with a header of its own."""
    mark = rng.choice(",\t;")
    heads = {
        "url": ["url", "URL", "Upstream URL", "uri", "loc"], "content-length": ["size", "Content Length", "length", "content_length"],
        "content-sha256": ["sha256", "SHA-256", "sha256sum", "content-sha256"], "content-sha512": ["SHA512", "sha512sum"], "content-md5": ["md5", "MD5 sum"],
        "digest": ["checksum", "Digest", "integrity"], "content-type": ["type", "Media-Type"], "name": ["title", "name"], "owner": ["Owner"],
        "status": ["Status"], "categories": ["category", "Categories"],
    }  # fmt: skip
    keys = ["url", *rng.sample(list(heads)[1:], rng.randrange(0, 7))]
    rng.shuffle(keys)
    if "digest" in keys and any(key.startswith("content-sha") or key == "content-md5" for key in keys):
        keys.remove("digest")
    rows = [("# " if rng.random() < 0.2 else "") + mark.join(rng.choice(heads[key]) for key in keys)]
    for number in entries:
        rows.append(mark.join(quoted(rng, table_cell(rng, key, number), mark) for key in keys))
        rows += rows[-1:] if rng.random() < 0.05 else []
        rows += ["", mark * (len(keys) - 1)] if rng.random() < 0.05 and len(keys) > 1 else []
    return ("\ufeff" if rng.random() < 0.1 else "") + "\n".join(rows) + "\n"


def table_cell(rng, key, number):
    if key == "url":
        odd = [f"ftp://h.example.org/{number}", f"urn:isbn:{number}", f"http://h.example.org:8080/{number}", f" {url(number)} ", url(number, "?a=1;b=2,3")]
        return rng.choice(odd) if rng.random() < 0.15 else url(number)
    if rng.random() < 0.15:
        return rng.choice(["", " "])
    if key == "digest":
        both = f"{integrity(number)} {integrity(number, 'sha512')}"
        odd = [both, f"{integrity(number)} {integrity(number + 1)}", "word", f"sha3:{hexadecimal(number)}"]
        return rng.choice(odd) if rng.random() < 0.2 else any_digest(rng, number, rng.choice(list(ALGORITHMS)))
    if key.removeprefix("content-") in ALGORITHMS:
        name = key.removeprefix("content-")
        return rng.choice(["word", hexadecimal(number, "sha1")]) if rng.random() < 0.1 else any_digest(rng, number, name)
    return {
        "content-length": str(number) if number % 17 else "many", "content-type": "text/csv; charset=utf-8", "name": f'The "file"\nof {number}, caf\u00e9',
        "owner": 'a "b"\nc', "status": "404" if number % 13 else "gone", "categories": f"a; b{number % 3};",
    }[key]  # fmt: skip


def bare_table(rng, entries):
    """A table without a header: `url,-,content-sha256`."""
    mark = rng.choice(",\t;")
    return "".join(mark.join((url(number), f'"x{mark}y"', any_digest(rng, number))) + "\n" for number in entries)


def tfds(rng, number):
    text, where = hexadecimal(number), url(number)
    return rng.choice([
        f"{where}\t{number}\t{text}\tname {number}.zip", f"{where}\t{number}\t{text.upper()}\t", f"{where}\t{number}\t{text}", f"{where} {number} {text}",
        f"{where}  {number}  {text}  ", f"{where}/a b.zip {number} {text}", f"{where}/a%20b {number} {text}", f"{where}?a=1&b=c d\t{number}\t{text}\tx y",
        f"# {where} {number} {text}", "", f"{where}\t{number}", f"{where} {text}", f"{where}\tmany\t{text}\tx", f"{where} {number} {text[:63]}",
        f"ftp://h.example.org/{number} {number} {text}", f"{where}\t18446744073709551615\t{text}\tx",
    ]) + "\n"  # fmt: skip


def conandata(rng, entries):
    number = entries[0]
    text = f"# caf\u00e9\nbase: &base\n  url: {url(number, '/base')}\n  sha1: {hexadecimal(number, 'sha1')}\nsources:\n"
    shared = hexadecimal(number, "sha512")
    for number in entries:
        where, sha256, md5 = url(number), hexadecimal(number), hexadecimal(number, "md5")
        text += f"  \"1.{number}\":\n" + rng.choice([
            f"    url: [{where}, '{where}/b']\n    sha256: {sha256}\n", f"    url: {where}\n    sha256: {sha256.upper()}\n",
            f"    url:\n      - {where}\n      - \"{where}/b\"\n    sha256: '{sha256}'\n    md5: {md5}\n", f"    {{url: \"{where}\", sha256: {sha256}}}\n",
            f"    x64:\n      gcc:\n        - url: {where}\n          sha256: {sha256}\n      clang:\n        url: [{where}/c]\n        sha256: {sha256}\n",
            f"    - url: {where}\n      sha256: null\n    - url: {where}/b\n      sha256:\n      md5: ~\n", f"    url: {where}\n    sha256: word\n",
            f"    url: {where}\n    commit: {hexadecimal(number, 'sha1')}\n", "    url: ~\n    sha256: null\n", f"    <<: *base\n    sha512: {shared}\n",
            f"    url: &u{number} {where}\n    sha256: &s{number} {sha256}\n  \"2.{number}\":\n    url: *u{number}\n    sha256: *s{number}\n", "    *base\n",
            f"    url: http://h0.example.org/twice/{entries[0]}\n    sha512: {shared}\n", f"    url: ftp://h.example.org/{number}\n    sha256: {sha256}\n",
            f"    patches:\n      - patch_file: patches/x.patch\n        sha256: {sha256}\n", f"    url: >-\n      {where}\n    sha256: \"{sha256}\" # comment\n",
            f"    url: {where}\n    md5: sha3:{sha256}\n", f"    url:\n      {where}\n    sha384: {hexadecimal(number, 'sha384')}\n",
            f"    url: {where}\n    sha256: {sha256}\n    strip_root: true\n    filename: x.tgz\n",
        ])  # fmt: skip
    return text if rng.random() < 0.8 else f"---\n{text}---\nsources:\n  \"0\":\n    url: {url(number, '/second')}\n"


def digests_of_json(rng, number):
    return rng.choice([
        "", integrity(number), integrity(number), f"{integrity(number)} {integrity(number, 'sha512')}", integrity(number, "sha384"), f"{integrity(number)}?ct=x",
        f"{integrity(number)} {integrity(number + 1)} {integrity(number, 'sha384')}", "word", f"{integrity(number)} sha224-{'A' * 38}==", hexadecimal(number),
    ])  # fmt: skip


def bazel_registry(rng, number):
    """The `source.json` of a version."""
    where = url(number)
    data = {"docs_url": "https://docs.example.org/{TAG}"}
    data |= rng.choice([
        {"type": "git_repository", "remote": "https://x.example.org/"}, {"type": "local_path"}, {"type": "other"}, {}, {"type": "archive", "url": where},
        *[{"url": where}] * 6, {"url": f"http://h.example.org:81/{number}"},
    ])  # fmt: skip
    if rng.random() < 0.8:
        data["integrity"] = rng.choice([None, *[digests_of_json(rng, number)] * 5])
    if rng.random() < 0.4:
        data["mirror_urls"] = rng.choice([[], None, [f"{where}/b", f"{where}/c\u00e9"]])
    for folder in ("patches", "overlay"):
        if rng.random() < 0.6:
            data[folder] = {f"{folder[0]}/{index} x.patch": digests_of_json(rng, number * 4 + index) for index in numbers(rng, 4)}
    if rng.random() < 0.1:
        data = {"mediaType": "x", "attestations": {name: {"url": f"{where}/{name}", "integrity": digests_of_json(rng, number)} for name in "ab"}}
    text = json.dumps(data, indent=rng.choice([None, 2, 4]), ensure_ascii=rng.random() < 0.5)
    return ("\ufeff" if rng.random() < 0.1 else "") + text


def write(folder, name, text, rng):
    """Writes a list, some as gzip."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if rng.random() < 0.05 else text.encode())
