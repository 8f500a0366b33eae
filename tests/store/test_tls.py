"""A store in PostgreSQL over TLS: a real server with a certificate, which the environment says how to check."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_rows import QUERY

from debian import program
from in_process import run_karat
from karat.store import open_store
from postgres import choose_folder

ADDRESS = "postgresql:///postgres"
SETTINGS = """
ssl = on
ssl_cert_file = 'server.pem'
ssl_key_file = 'server.key'
listen_addresses = '127.0.0.1'
fsync = off
"""

pytestmark = pytest.mark.slow(5)


def make_certificates(folder: Path) -> None:
    """Write two authorities, and what the first says of a server called localhost."""
    openssl = program("PostgreSQL over TLS", "openssl", names=("openssl",))
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    for name, *more in (
        ("authority", "-subj", "/CN=authority"),
        ("stranger", "-subj", "/CN=stranger"),
        ("server", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "authority.pem", "-CAkey", "authority.key"),
    ):  # fmt: skip
        command = [openssl, "req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", *more]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def find_programs() -> Path:
    """Return the folder of Debian's PostgreSQL; that of the other tests was built without TLS."""
    program("PostgreSQL over TLS", "postgresql", names=("pg_lsclusters",))
    return max(Path("/usr/lib/postgresql").glob("*/bin"))


def run(programs: Path, folder: Path, name: str, *arguments: str) -> None:
    """Run a program of PostgreSQL, which refuses to be root."""
    user: dict[str, Any] = {} if os.geteuid() else {"user": "postgres", "group": "postgres"}
    command = [programs / name, "-D", "data", *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, **user)


def make_server(programs: Path, folder: Path, port: str, password: str) -> None:
    """Write the files of a server that takes nothing but TLS."""
    make_certificates(folder)
    (folder / "password").write_text(password)
    for path in (folder, *folder.iterdir()) if not os.geteuid() else ():
        shutil.chown(path, "postgres", "postgres")
    run(programs, folder, "initdb", "-U", "postgres", "--pwfile=password", "-A", "scram-sha-256", "--no-sync")
    for name in ("server.key", "server.pem"):
        (folder / name).rename(folder / "data" / name)
    with (folder / "data" / "postgresql.conf").open("a") as file:
        file.write(f"{SETTINGS}port = {port}\nunix_socket_directories = '{folder}'\n")
    (folder / "data" / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A server on 127.0.0.1, as variables by which programs find it."""
    programs, folder, password = find_programs(), choose_folder("tls-" + secrets.token_hex(4)), secrets.token_hex(8)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    folder.mkdir(mode=0o700)
    try:
        make_server(programs, folder, port, password)
        run(programs, folder, "pg_ctl", "start", "-w", "-l", "log")
        try:
            yield {
                "PGHOST": "localhost", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": password,
                "PGSSLMODE": "verify-full", "PGSSLROOTCERT": str(folder / "authority.pem"),
            }  # fmt: skip
        finally:
            run(programs, folder, "pg_ctl", "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def environment(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment with all that it takes."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_a_store_is_used_over_tls_by_what_the_environment_says(environment: pytest.MonkeyPatch) -> None:
    """Host, user, password and certificate; the address is that of the docs, and nothing is sent in the clear."""
    done = run_karat("store", "migrate", ADDRESS)
    assert (done.returncode, done.stderr) == (0, b"")
    with open_store(ADDRESS, write=True) as store, store.transaction():
        assert store.add_queries([QUERY]) == 1
        assert list(store._rows("select ssl from pg_stat_ssl where pid = pg_backend_pid()")) == [(True,)]
    done = run_karat("store", "check", ADDRESS)
    assert (done.returncode, b"queries 1" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("PGSSLROOTCERT", "stranger.pem", "certificate verify failed"),
        ("PGHOST", "127.0.0.1", 'does not match host name "127.0.0.1"'),
        ("PGSSLROOTCERT", "none.pem", 'none.pem" does not exist'),
        ("PGSSLMODE", "disable", "no encryption"),
    ],
)
def test_what_is_not_the_right_server_is_refused_in_one_line(
    environment: pytest.MonkeyPatch, server: dict[str, str], name: str, value: str, problem: str
) -> None:
    """Of another authority, of another name, without an authority, and without TLS; no password is repeated."""
    if name == "PGSSLROOTCERT":
        value = str(Path(server[name]).with_name(value))
    environment.setenv(name, value)
    done = run_karat("store", "migrate", ADDRESS)
    message = done.stderr.decode()
    assert (done.returncode, done.stdout, message.count("\n")) == (3, b"", 1)
    assert problem in message
    assert server["PGPASSWORD"] not in message
