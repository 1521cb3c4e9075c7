"""Days that pass quickly: a scripted server on loopback, and libfaketime for the clock of urldb."""

import asyncio
import os
import subprocess
import threading


def response(status, content, headers=""):
    """The bytes of an HTTP response."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n{headers}\r\n".encode() + content


def serve(answer):
    """Answers each GET with `answer(host, path)` in a thread of its own, and returns the port."""
    started, ports = threading.Event(), []

    async def connection(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                path = head.split(" ", 2)[1]
                host = next(line[5:].strip() for line in head.split("\r\n") if line.lower().startswith("host:"))
                writer.write(answer(host, path))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def main():
        server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=1000)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    started.wait()
    return ports[0]


def environment(clock):
    """The environment in which a program reads the time from the file `clock`, which has `@` and a date."""
    # The library without `-m` mixes up the times of threads.
    shown = subprocess.run(["faketime", "-m", "2027-01-01", "env"], check=True, capture_output=True, text=True).stdout
    library = next(line for line in shown.splitlines() if line.startswith("LD_PRELOAD=")).removeprefix("LD_PRELOAD=")
    return {
        **os.environ,
        "TZ": "UTC",
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def git(folder, *words):
    """The output of git in a folder."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout
