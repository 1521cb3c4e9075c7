"""Writes documents with every kind of reference into a folder, and counts their links on its own.

Prints `FILE LINE URL` for each link. In Markdown, only links have the host `g.test`, so a regular expression
finds them; in HTML, html.parser and the table below do.
"""

import random
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

MARKDOWN = [
    "text [a](https://g.test/{n}) and *b*\n", "![i](<https://g.test/{n}> 'title')\n", "<https://g.test/{n}>\n",
    "bare https://g.test/{n}, text\n", "(see https://g.test/{n})\n", "**https://g.test/{n}**\n",
    "> - https://g.test/{n}.\n", "[r{n}]: https://g.test/{n}\n\n[r{n}] [again][r{n}]\n",
    "<a href='https://g.test/{n}'>x</a>\n", "<div>\n<img src=\"https://g.test/{n}\">\n</div>\n",
    "| a |\n|---|\n| https://g.test/{n} |\n", "# https://g.test/{n}\n", "x[^{n}]\n\n[^{n}]: https://g.test/{n}\n",
    "[![x](https://g.test/{n}) x](https://g.test/{n})\n", "[https://no.test/](https://g.test/{n}#part)\n",
    "1. a\n\n   https://g.test/{n}\n", "~~https://g.test/{n}~~\n", "https://g.test/{n}\nhttps://g.test/{n}\n",
    "`https://no.test/`\n", "    https://no.test/\n", "```\nhttps://no.test/ [a](https://no.test/)\n```\n",
    "~~~ x\n<https://no.test/>\n~~~\n", "<!-- https://no.test/ <a href=https://no.test/> -->\n", "[a](b/c.md) [a](#b)\n",
    "[m](mailto:a@no.test) <a@no.test>\n", "[d](data:,x) [j](javascript:x) [t](tel:1)\n", "[p](https://no.test:80/)\n",
    "[v](https://no.test/{{{{x}}}})\n", "[f](ftp://no.test/)\n", "\\[a](/no)\n", "`` ` https://no.test/ ``\n",
]
HTML = [
    "<a href='https://g.test/{n}#p'>x</a>\n", "<A HREF=https://g.test/{n}>x</A>\n", "<link rel=stylesheet href=//g.test/{n}>\n",
    "<img alt='>' src=\"https://g.test/{n}\">\n", "<img srcset='https://g.test/{n} 1x, https://g.test/s{n} 2x'>\n",
    "<script src=https://g.test/{n}></script>\n", "<video poster=https://g.test/{n} src=https://g.test/v{n}></video>\n",
    "<q cite=https://g.test/{n}>x</q>\n", "<object data=https://g.test/{n}></object>\n",
    "<meta http-equiv=refresh content='0; url=https://g.test/{n}'>\n", "<iframe src=https://g.test/{n}></iframe>\n",
    "<p>https://no.test/</p>\n", "<!-- <a href=https://no.test/> -->\n", "<form action=https://no.test/></form>\n",
    "<a ping=https://no.test/>x</a>\n", "<link rel=preconnect href=https://no.test/>\n",
    "<script>'<a href=https://no.test/>'</script>\n", "<style>a {{ background: url(https://no.test/) }}</style>\n",
    "<a href='rel/ative'>x</a><a href='mailto:a@no.test'>x</a>\n", "<div data=https://no.test/ src=https://no.test/>x</div>\n",
]
KNOWN = {
    "href": {"a", "link"}, "src": {"img", "script", "video", "iframe"}, "poster": {"video"}, "cite": {"q"}, "data": {"object"},
}


class Counter(HTMLParser):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def link(self, url):
        url = url.split("#")[0]
        url = "https:" + url if url.startswith("//") else url
        if url.startswith("https://"):
            print(self.name, self.getpos()[0], url)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for key, value in attrs.items():
            if tag in KNOWN.get(key, ()) and not (tag == "link" and attrs.get("rel") == "preconnect"):
                self.link(value)
            elif key == "srcset":
                for candidate in value.split(","):
                    self.link(candidate.split()[0])
            elif tag == "meta" and key == "content":
                self.link(value.split("url=")[1])


def main(folder, files):
    chance = random.Random(7)
    for number in range(files):
        is_markdown = number % 2 == 0
        templates = MARKDOWN if is_markdown else HTML
        pieces = [chance.choice(templates).format(n=n) for n in range(chance.randrange(1, 40))]
        # A paragraph ends lists and footnotes.
        text = ("\nend\n\n" if is_markdown else "").join(pieces)
        if chance.random() < 0.2:
            text = text.replace("\n", "\r\n")
        name = f"{number}.{'md' if is_markdown else 'html'}"
        (folder / name).write_bytes(text.encode())
        if is_markdown:
            for line, content in enumerate(text.split("\n"), 1):
                for url in re.findall(r"https://g\.test/\d+", content):
                    print(name, line, url)
        else:
            counter = Counter(name)
            counter.feed(text)
            counter.close()


main(Path(sys.argv[1]), int(sys.argv[2]))
