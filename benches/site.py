"""The status site of 50,000 URLs (URLS) on 500 hosts (HOSTS) with a year of daily runs: seconds and memory of
`urldb status`, of the first build and of the build after a run with ten changes, the size of the largest page, and the
time to first paint in Chromium. Domain files, commits, ledger, history and the index of an archive with a response and
twelve revisits of each URL are written by this script; nothing is fetched.

`.ci/long site` runs it; an argument names another binary.
"""

import datetime
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSTS = int(os.environ.get("HOSTS", 500))
URLS = int(os.environ.get("URLS", 50_000))
DAYS = 365
CHANCE = random.Random(15)
NOW = datetime.datetime.now(datetime.UTC).replace(hour=4, minute=17, second=2, microsecond=0)
FIRST = NOW - datetime.timedelta(days=DAYS - 1)


def moment(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def host_name(number):
    return f"data.site{number:03}.example"


def run_id(day):
    return f"{(FIRST + datetime.timedelta(days=day)).strftime('%Y%m%dT%H%M%SZ')}-{day:08x}"


def write_host(root, number):
    """The domain file and the two ledger files of a host."""
    promises, ledger, captures = ["---\n"], ["---\n"], ["---\n"]
    for index in range(URLS // HOSTS):
        path = f"/dr3/spectra/spec-{index:04}-{number:03}.fits"
        digest = hashlib.sha256(f"{number}{path}".encode()).hexdigest()
        promises.append(f"---\n_path: {path}\ncontent-length: {20_000 + index}\ncontent-sha256: '{digest}'\n")
        date = moment(FIRST)
        record = f"urn:uuid:00000000-0000-4000-8000-{number:06}{index:06}"
        uri = f"http://{host_name(number)}{path}"
        ledger.append(f"---\n_path: {path}\nadded: '{date}'\nsince: '{date}'\nstate: ok\nupdated: '{date}'\n")
        captures.append(
            f"---\n_path: {path}\ncapture:\n  date: '{date}'\n  file: urldb-1.warc.gz\n"
            f"  record: {record}\n  uri: {uri}\ndigest: sha256:{digest}\n"
        )
    (root / "urldb" / f"{host_name(number)}.yaml").write_text("".join(promises))
    (root / "status" / f"{host_name(number)}.yaml").write_text("".join(ledger))
    end = hashlib.sha256(host_name(number).encode()).hexdigest()[:8]
    (root / "status/captures" / f"{host_name(number)}-{end}.yaml").write_text("".join(captures))


def write_index(root):
    """A segment of the index with a response of each URL and a revisit in each month."""
    months = [(FIRST + datetime.timedelta(days=30 * month)).strftime("%Y%m%d%H%M%S") for month in range(13)]
    lines = []
    for number in range(HOSTS):
        for index in range(URLS // HOSTS):
            path = f"/dr3/spectra/spec-{index:04}-{number:03}.fits"
            digest = hashlib.sha256(f"{number}{path}".encode()).hexdigest()
            for month, date in enumerate(months):
                fields = {
                    "url": f"http://{host_name(number)}{path}", "mime": "warc/revisit" if month else "image/fits",
                    "status": "200", "digest": f"sha256:{digest}", "length": "900", "offset": f"{index * 1000}",
                    "filename": f"urldb-{month + 1}.warc.gz",
                }  # fmt: skip
                key = f"example,site{number:03},data){path}"
                lines.append(f"{key} {date} {json.dumps(fields)}\n")
    lines.sort()
    folder, files = root / "archive/index", [f"urldb-{month + 1}.warc.gz" for month in range(len(months))]
    folder.mkdir()
    with open(folder / "bench.cdxj.gz", "wb") as data, open(folder / "bench.idx", "w") as idx:
        for block in range(0, len(lines), 300):
            member = gzip.compress("".join(lines[block : block + 300]).encode())
            key = " ".join(lines[block].split(" ", 2)[:2])
            idx.write(f"{key}\tcdxj\t{data.tell()}\t{len(member)}\t{block // 300 + 1}\n")
            data.write(member)
    (folder / "bench.loc").write_text("cdxj\tbench.cdxj.gz\n" + "".join(f"{file}\t../{file}\n" for file in files))


def commit(root, message):
    git = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    subprocess.run([*git, "add", "urldb"], cwd=root, check=True)
    subprocess.run([*git, "commit", "--quiet", "--no-verify", "-m", message], cwd=root, check=True)


def incident(root, number, first, days, urls):
    """The file of a closed incident: its URLs joined on one day, and left on another."""
    host, end = host_name(number), first + days
    name = hashlib.sha256(f"{number}{first}".encode()).hexdigest()[:8]
    joined, left = [], []
    for index in range(urls):
        url = f"http://{host}/dr3/spectra/spec-{index:04}-{number:03}.fits"
        since = moment(FIRST + datetime.timedelta(days=first))
        joined.append(f"- file: urldb/{host}.yaml\n  line: {4 * index + 2}\n  since: '{since}'\n  url: {url}\n")
        left.append(f"- url: {url}\n")
    text = [
        f"---\nclosed: '{moment(FIRST + datetime.timedelta(days=end))}'\nformat: 2\nhost: {host}\nkey: {name}{name}\n",
        f"---\ncause:\n  state: server-error\nevent: opened\nid: {run_id(first)}\nurls:\n", *joined,
        f"---\nbecause: recovered\nevent: shrunk\nid: {run_id(end)}\nurls:\n", *left,
        f"---\nevent: closed\nid: {run_id(end)}\n",
    ]  # fmt: skip
    (root / "status/incidents" / f"{name}.yaml").write_text("".join(text))


def history(root):
    """A run on each day, and an incident on every fifth."""
    lines = {}
    for day in range(DAYS):
        line = {
            "run": run_id(day), "at": moment(FIRST + datetime.timedelta(days=day)),
            "due": URLS, "verified": URLS, "states": {"ok": URLS},
        }  # fmt: skip
        at = FIRST + datetime.timedelta(days=day)
        is_first = day == 0 or at.month != (at - datetime.timedelta(days=1)).month
        line |= {"unverified": []} if is_first else {"base": run_id(day - 1)}
        lines[day] = line
    for first in range(2, DAYS - 12, 5):
        incident(root, CHANCE.randrange(HOSTS), first, CHANCE.randrange(1, 9), CHANCE.randrange(1, 100))
    for day, line in lines.items():
        month = (FIRST + datetime.timedelta(days=day)).strftime("%Y-%m")
        with open(root / "status/history" / f"{month}.jsonl", "a") as file:
            file.write(json.dumps(line) + "\n")


def measured(urldb, *arguments, cwd, codes=(0,)):
    """Seconds and peak memory in MB of a command."""
    code = "import resource,subprocess,sys;c=subprocess.run(sys.argv[1:],stdout=subprocess.PIPE).returncode;" \
        "print(c, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"  # fmt: skip
    began = time.monotonic()
    out = subprocess.run([sys.executable, "-c", code, urldb, *arguments], cwd=cwd, check=True, capture_output=True, text=True).stdout
    seconds = time.monotonic() - began
    status, peak = out.split()
    if int(status) not in codes:
        sys.exit(f"{arguments} exited with {status}")
    return f"{seconds:6.2f} s {int(peak) / 1000:7.1f} MB"


def ten_changes(root):
    """A later run, in which ten URLs of ten hosts began to fail."""
    line = {"run": "20990101T000000Z-00000001", "at": moment(NOW + datetime.timedelta(minutes=1)), "base": run_id(DAYS - 1),
            "due": URLS, "verified": URLS - 10, "states": {"ok": URLS - 10, "gone": 10}}  # fmt: skip
    month = NOW.strftime("%Y-%m")
    with open(root / "status/history" / f"{month}.jsonl", "a") as file:
        file.write(json.dumps(line) + "\n")
    for number in range(min(10, HOSTS)):
        path = root / "status" / f"{host_name(number)}.yaml"
        path.write_text(path.read_text().replace("state: ok", "state: gone", 1))


def first_paint(site, page):
    """Milliseconds until Chromium shows the first content of a page: the middle of five times."""
    script = site / "site.js"
    known = script.read_text()
    # The policy of the pages allows no other script.
    script.write_text(known + """
new PerformanceObserver(list => {
  for (const entry of list.getEntriesByName("first-contentful-paint")) console.log(`first paint ${entry.startTime}`);
}).observe({ type: "paint", buffered: true });
""")
    times = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as profile:
            command = [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", f"--user-data-dir={profile}", "--enable-logging=stderr",
                f"--screenshot={profile}/page.png", (site / page).as_uri(),
            ]  # fmt: skip
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        times.extend(float(time) for time in re.findall("first paint ([0-9.]+)", shown))
    script.write_text(known)
    return f"{statistics.median(times):.0f} ms" if times else "not painted"


def main():
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    urldb = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{target}/release/urldb")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "urldb.toml").write_text("")
        for folder in ("urldb", "status/captures", "status/history", "status/incidents", "archive"):
            (root / folder).mkdir(parents=True)
        for number in range(HOSTS):
            write_host(root, number)
        history(root)
        write_index(root)
        subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
        for host in sorted((root / "urldb").iterdir())[::10]:
            host.rename(root / host.name)
        commit(root, "Promise data release 3")
        for host in sorted(root.glob("*.yaml")):
            host.rename(root / "urldb" / host.name)
            commit(root, f"Add {host.stem}")
        print(f"{URLS:,} URLs on {HOSTS} hosts, {DAYS} runs, {len(list((root / 'status/incidents').iterdir()))} incidents")
        print("urldb status              ", measured(urldb, "status", cwd=root))
        print("urldb log                 ", measured(urldb, "log", cwd=root))
        print("first build               ", measured(urldb, "site", "build", cwd=root))
        print("build without a change    ", measured(urldb, "site", "build", cwd=root))
        ten_changes(root)
        print("build after ten changes   ", measured(urldb, "site", "build", cwd=root))
        pages = [file for file in (root / "site").rglob("*") if file.is_file()]
        html = sum(1 for file in pages if "urls" in file.parts)
        largest = max((file.stat().st_size, file.name) for file in pages if file.suffix == ".html")
        print(f"{len(pages):,} files, {sum(file.stat().st_size for file in pages) / 1e6:.1f} MB; {html:,} pages of URLs; the largest page: {largest}")
        if shutil.which("chromium"):
            for page in ("index.html", f"hosts/{host_name(0)}.html", "incidents/index.html"):
                print(f"first paint of {page}: {first_paint(root / 'site', page)}")


main()
