"""A store in PostgreSQL over TLS: a real server with a certificate, which the environment says how to check."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_rows import QUERY

from debian import program
from debian_postgres import find_port, open_servers
from in_process import run_karat
from karat.store import open_store

ADDRESS = "postgresql:///postgres"
SETTINGS = "ssl = on", "ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'"

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


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A server that takes nothing but TLS, as variables by which programs find it."""
    port, password = find_port(), secrets.token_hex(8)
    with open_servers() as servers:
        make_certificates(servers.folder)
        (servers.folder / "password").write_text(password)
        servers.own()
        servers.run("initdb", "data", "-U", "postgres", "--pwfile=password", "-A", "scram-sha-256", "--no-sync")
        for name in ("server.key", "server.pem"):
            (servers.folder / name).rename(servers.folder / "data" / name)
        servers.configure("data", port, *SETTINGS)
        (servers.folder / "data" / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        servers.start("data")
        yield {
            "PGHOST": "localhost", "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": password,
            "PGSSLMODE": "verify-full", "PGSSLROOTCERT": str(servers.folder / "authority.pem"),
        }  # fmt: skip


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
