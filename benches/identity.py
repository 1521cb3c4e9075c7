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
from support.urls import urls

URLS = 1_000_000
LOOP = """
import sys
from {module} import {function} as function
for line in sys.stdin:
    try:
        print(function(line.rstrip("\\n")))
    except Exception:
        print()
"""


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
        Path(scratch, "urls").write_text("".join(urls(URLS, random.Random(62))))
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
