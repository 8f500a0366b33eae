"""Starts Phoenix in a network namespace of its own, lets karat send to it, and prints the spans that it has then.

``unshare -n python phoenix_session.py FOLDER PYTHON LEAST``: the folder is a project whose system answers, with a log
of queries, the Python that of the environment with Phoenix, and the last is how many spans to wait for.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.answering_project import configure, name_model
from judges.model_server import obey, serve

URL = "http://127.0.0.1:6006"
PATIENCE = 300  # seconds
READ_FLAGS, WRITE_FLAGS, UP = 0x8913, 0x8914, 1  # of ioctl


def raise_loopback() -> None:
    """Switch on the only network that a new namespace has."""
    with socket.socket() as any_socket:
        answer = fcntl.ioctl(any_socket, READ_FLAGS, struct.pack("16sh", b"lo", 0))
        flags = struct.unpack("16sh", answer)[1]
        fcntl.ioctl(any_socket, WRITE_FLAGS, struct.pack("16sh", b"lo", flags | UP))


@contextmanager
def phoenix(folder: Path, python: str) -> Iterator[None]:
    """Run Phoenix, with its files in a folder."""
    own = {"PHOENIX_WORKING_DIR": str(folder / "phoenix"), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": "6006"}
    own |= {"PHOENIX_TELEMETRY_ENABLED": "false"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | own
    command = [python, "-m", "phoenix.server.main", "serve"]
    with (folder / "phoenix.log").open("w") as log, subprocess.Popen(
        command, env=environment, stdout=log, stderr=subprocess.STDOUT
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + PATIENCE
            while process.poll() is None and not is_up():
                assert time.monotonic() < end, "Phoenix does not answer"
                time.sleep(0.2)
            assert process.poll() is None, (folder / "phoenix.log").read_text()[-3000:]
            yield
        finally:
            process.terminate()


def is_up() -> bool:
    try:
        return bool(ask("/v1/projects"))
    except OSError:
        return False


def ask(path: str) -> dict[str, Any]:
    with urllib.request.urlopen(URL + path, timeout=60) as response:
        return dict(json.loads(response.read()))


def send(folder: Path) -> None:
    """Let karat evaluate, judge and ingest, with content."""
    environment = os.environ | {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{URL}/v1/traces",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
    }
    with serve(obey) as server:
        configure(folder, name_model(server), gate="[telemetry]\ntimeout = 120\n")
        for verb in (["eval", "."], ["judge", "."], ["online", "ingest", "karat.db", "--project", "."]):
            command = [str(Path(sys.executable).parent / "karat"), *verb]
            process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            assert process.returncode == 0, process.stderr
            assert "telemetry" not in process.stderr, process.stderr


def read_spans(least: int) -> list[Any]:
    """Return the spans, once there are so many: Phoenix stores them a moment later."""
    end = time.monotonic() + PATIENCE
    while True:
        spans = list(ask("/v1/projects/default/spans?limit=1000")["data"])
        if len(spans) >= least or time.monotonic() > end:
            return spans
        time.sleep(0.2)


def main() -> None:
    folder, python, least = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    raise_loopback()
    begin = time.monotonic()
    with phoenix(folder, python):
        seconds = time.monotonic() - begin
        send(folder)
        spans = read_spans(least)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"spans": spans, "cpu": used.ru_utime + used.ru_stime, "start": seconds}))


if __name__ == "__main__":
    main()
