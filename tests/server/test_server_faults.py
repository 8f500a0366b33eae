"""A server whose indexing process is killed, whose index is lost or damaged, and which speaks TLS."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

import pytest

from cli.gate_project import make_run, make_set
from karat.index import open_index
from karat.server import Tokens
from server.served import NEW, OLD, make_indexed_project, make_served_project


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    """Start a server, and give its address and process."""
    command = [sys.executable, "-m", "karat", "serve", str(folder), "--port", "0", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"].rstrip("/"), process.pid
        finally:
            process.terminate()
            assert process.wait(600) == 0


def wait_for(find: Callable[[], object], seconds: float = 600) -> object:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := find():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def list_children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def read_runs(address: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{address}/runs.json", timeout=600) as answer:
        page: dict[str, object] = json.load(answer)
    return page


def is_whole(address: str, runs: int) -> bool:
    page = read_runs(address)
    return (page["total"], page["index"]["waiting"]) == (runs, 0)  # type: ignore[index]


@pytest.mark.slow(15)
def test_indexing_that_is_killed_in_the_middle_goes_on(tmp_path: Path) -> None:
    """Pages answer all the time, another process goes on, and what it writes is what one that lived writes."""
    set_, folder = make_set(), make_served_project(tmp_path / "p")
    for number in range(40):
        make_run(folder, set_, NEW if number % 2 else OLD, f"run-{number:02}")
    with serving(folder) as (address, process):
        killed: set[int] = set()

        def kill_one() -> bool:
            """Kill the process that indexes once it has written some runs, and not all."""
            page = read_runs(address)
            for child in list_children(process) if 0 < page["total"] < 43 else []:  # type: ignore[operator]
                os.kill(child, signal.SIGKILL)
                killed.add(child)
            return bool(killed)

        wait_for(kill_one)
        assert read_runs(address)["total"] < 43  # type: ignore[operator]
        wait_for(lambda: is_whole(address, 43))
        assert not killed & set(list_children(process))
    make_indexed_project(tmp_path / "other")
    with open_index(folder) as index, open_index(tmp_path / "other") as other:
        for id_ in ("old", "new"):
            run, expected = index.find_run(id_), other.find_run(id_)
            assert run is not None
            assert expected is not None
            assert index.read_columns(run).values.tobytes() == other.read_columns(expected).values.tobytes()


@pytest.mark.slow(15)
def test_an_index_that_is_lost_or_damaged_is_made_anew(tmp_path: Path) -> None:
    """While a server runs: no page fails, and all runs are there again."""
    folder = make_indexed_project(tmp_path)
    path = folder / ".karat" / "index.db"
    with serving(folder) as (address, _):
        wait_for(lambda: is_whole(address, 3))
        path.unlink()
        wait_for(lambda: is_whole(address, 3) and path.stat().st_size)
        size = path.stat().st_size
        for damage in (b"not a database " * 100, b"\0" * size):
            with path.open("r+b") as file:
                file.write(damage)
            wait_for(lambda: is_whole(address, 3))
        with sqlite3.connect(path) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        connection.close()


@pytest.mark.slow(5)
def test_tls_is_spoken_to_clients_that_verify(tmp_path: Path) -> None:
    """A client that trusts the certificate is answered with it, old protocols and plain text are not."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = make_indexed_project(tmp_path / "p")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    token = Tokens(folder).add("Ada", "viewer")
    options = ("--tls-cert", str(certificate), "--tls-key", str(key), "--with-tokens")
    with serving(folder, *options) as (address, _):
        assert address.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        request = urllib.request.Request(f"{address}/runs.json", headers={"authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=600, context=trusting) as answer:
            assert json.load(answer)["total"] == 3
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
        with pytest.raises(URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(request, timeout=600, context=ssl.create_default_context())
        with pytest.raises(OSError, match=r"(?i)remote end closed|reset|bad status"):
            urllib.request.urlopen(f"http{address.removeprefix('https')}/runs.json", timeout=600)
        old = [openssl, "s_client", "-tls1_1", "-connect", address.removeprefix("https://")]
        assert subprocess.run(old, input=b"", capture_output=True, timeout=600, check=False).returncode != 0
        body = f"token={token}".encode()
        sign_in = urllib.request.Request(f"{address}/sign-in", data=body, headers={"origin": address})
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting), _Stay())
        cookie = opener.open(sign_in, timeout=600).headers["set-cookie"]
        assert cookie.startswith("__Host-karat=")
        assert cookie.endswith("; Secure")


class _Stay(urllib.request.HTTPRedirectHandler):
    def http_error_303(self, request, file, code, message, headers):  # type: ignore[no-untyped-def]
        return file
