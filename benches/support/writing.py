"""Writes documents with every kind of reference, for benches/readers.py and benches/links.py."""

import json

from .listing import line_ends, url

ODD = [
    "mailto:a@example.org", "tel:1", "data:,x", "javascript:x", "http://{{host}}/x", "http://h.example.org/${x}", "ftp://h.example.org/x",
    "http://h.example.org:8080/x", "http://user@h.example.org/x", "http://h.example.org/%zz", "other.md", "../up.html#part", "#part", "",
]  # fmt: skip


def markdown_part(rng, number):
    where, other = url(number), rng.choice(ODD)
    return rng.choice([
        f"text [a]({where}) and *b*\n", f"![i](<{where}> 'title')\n", f"<{where}>\n", f"bare {where}, text\n", f"(see {where})\n", f"**{where}**\n",
        f"> - {where}.\n", f"[r{number}]: {where}\n\n[r{number}] [again][r{number}]\n", f"[s{number}]:\n   <{where}> 'title'\n\n[x][s{number}]\n",
        f"<a href='{where}'>x</a>\n", f'<div>\n<img alt=">" src="{where}">\n</div>\n', f"| a |\n|---|\n| {where} |\n", f"# {where}\n",
        f"x[^{number}]\n\n[^{number}]: {where}\n", f"[![x]({where}/i) x]({where})\n", f"[http://no.example.org/text]({where}#part)\n", f"1. a\n\n   {where}\n",
        f"~~{where}~~\n", f"{where}\n{where}/b\n", "`http://no.example.org/span`\n", "    http://no.example.org/indented\n",
        "```\nhttp://no.example.org/fence [a](http://no.example.org/fence)\n```\n", "~~~ x\n<http://no.example.org/fence>\n~~~\n", "`` ` http://no.example.org/span ``\n",
        "<!-- http://no.example.org/comment <a href=http://no.example.org/comment> -->\n", f"[o]({other})\n", f"![o](<{other}>)\n", "<a@example.org>\n",
        "\\[a](/no)\n", f"[a]({where}/(b)) and [c]({where}?d=\\(e)\n", f"caf\u00e9 www.h{number % 7}.example.org/w{number}.\n", f"[a](\n{where})\n",
        f"[p](//h{number % 7}.example.org/p{number})\n", "<code>http://no.example.org/element</code> x\n", f"[q]({where}?a=1&amp;b=2)\n", f"*[a]({where})*, _{where}/u_\n",
        f"[HTTP]({where.replace('http', 'HTTP')})\n", f"`x` [a `code`]({where})\n", f"<{where}#part>\n", f"[d]({where}/d \"a title\")\n",
    ])  # fmt: skip


def markdown(rng, entries):
    """A paragraph ends lists, definitions and footnotes."""
    return "\nend\n\n".join(markdown_part(rng, number) for number in entries) + "\nend\n"


def html_part(rng, number):
    where, other = url(number), rng.choice(ODD)
    return rng.choice([
        f"<a href='{where}#p'>x</a>\n", f"<A HREF={where}>x</A>\n", f"<link rel=stylesheet href=//h{number % 7}.example.org/l{number}>\n",
        f"<a class=x\n  title='a>b'\n  href=\"{where}\">x</a>\n", f"<img alt='>' src=\"{where}\">\n", f"<img srcset='{where} 1x,\n {where}/s 2x'>\n",
        f"<picture><source srcset=\"{where} 100w\"></picture>\n", f"<script src={where}></script>\n", f"<video poster={where} src={where}/v></video>\n",
        f"<q cite={where}>x</q><del cite='{where}/d'>x</del>\n", f"<object data={where}></object>\n", f"<area href={where}><track src={where}/t>\n",
        f"<meta http-equiv=refresh content='0; url={where}'>\n", f"<iframe src={where}></iframe><embed src={where}/e>\n", f"<audio src={where}></audio>\n",
        f"<svg><a xlink:href='{where}'></a><image href='{where}/i' /></svg>\n", f"<a href='{where}?a=1&amp;b=2'>x</a>\n", f"<a href=' {where} '>x</a>\n",
        f"<a href='{where}' href='http://no.example.org/second'>twice</a>\n", f"<blockquote cite='{where}'></blockquote>\n", f"<a href='{where}/a b'>x</a>\n",
        "<p>http://no.example.org/bare</p>\n", "<!-- <a href=http://no.example.org/comment> -->\n", "<form action=http://no.example.org/form></form>\n",
        "<a ping=http://no.example.org/ping>x</a>\n", "<link rel='dns-prefetch' href=//no.example.org/prefetch><link rel=preconnect href=http://no.example.org/preconnect>\n",
        "<script>'<a href=http://no.example.org/script>'</script>\n", "<style>a { background: url(http://no.example.org/style) }</style>\n",
        f"<a href='{other}'>x</a>\n", f"<img src='{other}'>\n", "<div data=http://no.example.org/data src=http://no.example.org/src>x</div>\n",
        "<meta name=description content='0; url=http://no.example.org/description'>\n", "<textarea><a href='http://no.example.org/textarea'></textarea>\n",
    ])  # fmt: skip


def html(rng, entries):
    base = "<base href='http://h0.example.org/base/'>\n" if rng.random() < 0.1 else ""
    return f"<!doctype html>\n{base}" + "".join(html_part(rng, number) for number in entries)


def bibtex_part(rng, number):
    where = url(number)
    field = rng.choice([
        f"url = {{{where}}}", f'url = "{where}"', f"URL = {{{where}/a\\_b\\%20c\\&d\\#e}}", f"url = {{\\url{{{where}}}}}", f"doi = {{10.1000/x{number}}}",
        f"doi = {{https://doi.org/10.1000/y{number}}}", f"doi = {{10.1000/(a)<{number}>}}", f"eprint = {{2101.{number % 100000:05}}}, archivePrefix = {{arXiv}}",
        f"eprint = {{2102.{number % 100000:05}v2}}", f"eprint = {{hep-th/{number:07}}}, eprinttype = {{arxiv}}", f"eprint = {{{number}}}, eprinttype = {{jstor}}",
        f"note = {{See \\url{{{where}}} and \\href{{{where}/h}}{{text}}}}", f"howpublished = {{\\url{{{where}}}}}", f"note = {{See {where}}}",
        f"url = base # {{{number}}}", f"title = {{A {{B}} at {where}}},\n  url\n  = {{{where}}}", f"url = {{{where},\n  year = 2020", f"url = {{ftp://h.example.org/{number}}}",
        f"url = {{{where}/~a}}", f"url = {{{where}/\\textasciitilde b}}", "url = {}", f"abstract = {{mail a@example.org}}, url = {{{where}}}",
    ])  # fmt: skip
    open_, close = rng.choice(["{}"] * 9 + ["()"])
    kind = rng.choice(["article", "MISC", "online"])
    entry = f"@{kind}{open_}key{number},\n  author = {{A and B}},\n  {field}\n{close}\n"
    return rng.choice(["", "", "text between entries\n", f"% @misc{{no, url = {{{where}/no}}}}\n" if number % 2 else "\n"]) + entry


def bibtex(rng, entries):
    start = "@string{base = {http://h1.example.org/string/}}\n@comment{x}\n"
    return start + "\n".join(bibtex_part(rng, number) for number in entries)


def csl(rng, entries):
    references = []
    for number in entries:
        where = url(number)
        references.append({"id": number, "type": "webpage", "abstract": "http://no.example.org/"} | rng.choice([
            {"URL": where}, {"URL": f" {where}#part", "DOI": f"10.1000/{number}"}, {"DOI": f"https://doi.org/10.1000/d{number}"}, {"DOI": f"doi:10.1000/e{number}"},
            {"URL": None}, {"URL": ""}, {"DOI": 10.1}, {"url": where}, {"URL": rng.choice(ODD)}, {"author": [{"URL": "http://no.example.org/"}], "URL": where},
            {"URL": f"{where}/\u00e9\u002f"}, {"container-title": 'a "quoted" \\ title', "URL": where},
        ]))  # fmt: skip
    return json.dumps(references, indent=rng.choice([None, 1, 2]), ensure_ascii=rng.random() < 0.5)


def notebook(rng, entries):
    cells = []
    for number in entries:
        text = markdown_part(rng, number)
        source = rng.choice([text, text.splitlines(True)])
        code = {"cell_type": "code", "source": ["http://no.example.org/"], "outputs": [{"text": "http://no.example.org/", "data": {"text/html": "<a href='http://no.example.org/'>"}}]}
        bad = {"cell_type": "markdown", "source": rng.choice([7, {"a": "http://no.example.org/"}])}
        cells.append(rng.choice([{"cell_type": "markdown", "metadata": {}, "source": source}] * 6 + [code, {"cell_type": "raw", "source": text}]) if rng.random() < 0.98 else bad)
    data = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"a": "http://no.example.org/"}, "cells": cells}
    return json.dumps(data, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)


def lychee(rng, number):
    where = url(number)
    other = rng.choice(ODD[:10])
    return rng.choice([
        where, f"{where} (docs/a file (1).md)", f"{where} (docs/a.md) [excluded]", f"{where} [excluded]", "file:///home/a/b.md (docs/a.md)", f"{other} (a.md)", "",
        f"{where}#part (README.md)", f"  {where}/  ",
    ]) + "\n"  # fmt: skip


WRITERS = {"md": markdown, "markdown": markdown, "html": html, "htm": html, "bib": bibtex, "csl.json": csl, "ipynb": notebook}


def document(rng, ending, entries):
    text = WRITERS[ending](rng, entries)
    text = line_ends(rng, text) if ending not in ("csl.json", "ipynb") else text
    return ("\ufeff" if rng.random() < 0.1 else "") + text
