"""Compares `urldb url surt` and `urldb url normalize` with Python's surt and url-normalize, if this interpreter has
them, on the same million URLs. `.ci/long identity` runs this script. The criterion benches of crates/canon measure
site rules and request canonicalization.
"""

import importlib.util
import random
import sys
import tempfile
from pathlib import Path

from support import measured

URLS = 1_000_000
HOSTS = ["example.org", "www.example.org", "WWW.Example.org:80", "data.example.co.uk", "b\u00fccher.example", "en.3.5.example.com."]
SEGMENTS = ["a", "data", "releases", "%7Euser", "caf\u00e9", "A%20b", "..", ".", "", "catalogue.fits", "Index.HTML"]
ARGUMENTS = ["page=1", "b=2", "a", "utm_source=x", "PHPSESSID=0123456789abcdef0123456789abcdef", "q=%C3%A9t%c3%a9", "lang=en"]
LOOP = """
import sys
from {module} import {function} as function
for line in sys.stdin:
    try:
        print(function(line.rstrip("\\n")))
    except Exception:
        print()
"""


def urls(rng):
    for _ in range(URLS):
        path = "/".join(rng.choices(SEGMENTS, k=rng.randrange(6)))
        query = "&".join(rng.choices(ARGUMENTS, k=rng.randrange(4)))
        yield f"http://{rng.choice(HOSTS)}/{path}{'?' if query else ''}{query}\n"


def peer(scratch, module, function):
    """The command that applies `function` to the list, if the module is installed."""
    if importlib.util.find_spec(module) is None:
        print(f"{module} is not installed: `{sys.executable} -m pip install {module.replace('_', '-')}`")
        return {}
    script = Path(scratch, f"{module}_loop.py")
    script.write_text(LOOP.format(module=module, function=function))
    return {f"{module}.{function}": (f"{sys.executable} {script} < urls", scratch)}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "urls").write_text("".join(urls(random.Random(62))))
        times = measured(
            {
                "urldb url surt": ("urldb url surt < urls", scratch),
                "urldb url normalize": ("urldb url normalize < urls", scratch),
                **peer(scratch, "surt", "surt"),
                **peer(scratch, "url_normalize", "url_normalize"),
            },
            attempts=3,
        )
        for name, seconds in times.items():
            print(f"{name}: {seconds * 1e6 / URLS:.2f} µs each, with reading and writing")


sys.exit(main())
