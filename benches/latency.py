"""Measures `urldb check` with many hosts that answer late: 5,000 URLs on 500 hosts, 80 ms for each answer, over HTTP
and over HTTPS with a certificate for each host, at the default settings; beside lychee at its own. `.ci/long latency`
runs this script.

Both programs see the same names and the same authority: the script runs in namespaces of its own, with a file of
hosts and one of authorities. It needs nginx with its module `echo` (libnginx-mod-http-echo) and openssl.

CONCURRENCY is a value of `concurrency` to compare with the default; URLDB names a binary to compare with.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support import BINARIES, installed, measured, nginx, repository

HOSTS, EACH, DELAY = 500, 10, 0.08
MODULE = "/usr/lib/nginx/modules/ngx_http_echo_module.so"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
CONTENT = "the same bytes\n"


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True)


def certificates(folder, names):
    """A test authority and a certificate for each name."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-x509"]
    openssl("req", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test authority", cwd=folder)
    issuer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"]
    for name in names:
        subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        openssl("req", *key, *issuer, *subject, "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=folder)


def isolate(scratch, names):
    """In the namespaces of this process, resolves the names to loopback and trusts the test authority."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hosts, authorities = scratch / "hosts", scratch / "authorities.pem"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {name}\n" for name in names))
    authorities.write_bytes(Path(AUTHORITIES).read_bytes() + (scratch / "ca.pem").read_bytes())
    for ours, known in ((hosts, "/etc/hosts"), (authorities, AUTHORITIES)):
        subprocess.run(["mount", "--bind", ours, known], check=True)


def repositories(scratch, scheme, names):
    """The folders of repositories by what their setting is called."""
    digest = hashlib.sha256(CONTENT.encode()).hexdigest()
    record = "---\n_path: /{}.csv\ncontent-length: {}\ncontent-sha256: {}\n"
    records = "".join(record.format(number, len(CONTENT), digest) for number in range(EACH))
    metadata = "---\nhttp: false\nhttps: true\n" if scheme == "https" else "---\n"
    settings = {"defaults": ""}
    if concurrency := os.environ.get("CONCURRENCY"):
        settings[f"concurrency {concurrency}"] = f"[check]\nconcurrency = {concurrency}\n"
    folders = {}
    for number, (name, text) in enumerate(settings.items()):
        folder = scratch / f"{scheme}-{number}"
        allowed = '[network]\nallow = ["127.0.0.0/8"]\n'
        repository(folder, allowed + text, dict.fromkeys(names, metadata + records))
        folders[name] = folder
    return folders


def commands(scratch, scheme, names):
    every = {
        f"{scheme}, {binary}, {setting}": ([binary, "check", "--quiet"], folder)
        for setting, folder in repositories(scratch, scheme, names).items()
        for binary in BINARIES
    }
    if installed("lychee", "`cargo install --locked lychee` to compare with it"):
        links = scratch / f"{scheme}.txt"
        links.write_text("".join(f"{scheme}://{name}/{number}.csv\n" for name in names for number in range(EACH)))
        every[f"{scheme}, lychee, defaults"] = (["lychee", "--quiet", "--no-progress", str(links)], scratch)
    return every


def main():
    if not Path(MODULE).exists():
        sys.exit("nginx has no module echo: install libnginx-mod-http-echo")
    if "--isolated" not in sys.argv:
        words = ["unshare", "--map-root-user", "--net", "--mount", sys.executable, __file__, "--isolated"]
        sys.exit(subprocess.run(words).returncode)
    # lychee leaves the names out that are reserved for examples and tests.
    names = [f"h{number:03}.hosts.internal" for number in range(HOSTS)]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        www = scratch / "www"
        www.mkdir()
        for number in range(EACH):
            (www / f"{number}.csv").write_text(CONTENT)
        certificates(scratch, names)
        isolate(scratch, names)
        late = f"echo_sleep {DELAY}; echo_exec /now$uri;"
        now = f"location /now/ {{ internal; alias {www}/; }} listen 127.0.0.1:443 ssl backlog=4096;"
        each = "".join(
            f"server {{ listen 127.0.0.1:443 ssl; listen 127.0.0.1:80; server_name {name}; "
            f"ssl_certificate {scratch}/{name}.pem; ssl_certificate_key {scratch}/{name}.key; "
            f"location /now/ {{ internal; alias {www}/; }} location / {{ {late} }} }}\n"
            for name in names
        )
        own = f"ssl_certificate {scratch}/{names[0]}.pem; ssl_certificate_key {scratch}/{names[0]}.key;"
        http = f"server_names_hash_max_size 4096; keepalive_requests 100000; {each}"
        with nginx(str(scratch), www, 80, f"load_module {MODULE};", http, now + own, late):
            for scheme in ("http", "https"):
                measured(commands(scratch, scheme, names))


sys.exit(main())
