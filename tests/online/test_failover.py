"""A log whose store is on a server with a standby, which takes its place."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from debian_postgres import find_port, open_servers
from karat import online
from karat.core import SystemFailed
from karat.online import ingest, read_log


def write(address: str, start: int, count: int) -> None:
    """Log queries, by their numbers."""
    with online.open(address) as log:
        for number in range(start, start + count):
            log.record(f"query {number}", [f"d{number}"], session=f"s{number % 7}")
        assert not log.dropped


def read(address: str) -> list[int]:
    """Return the numbers of the queries in the store."""
    with read_log(address) as log:
        return sorted(int(query.text.split()[1]) for query in log.queries())


@pytest.mark.slow(8)
def test_a_standby_that_lags_takes_over_and_lacks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One address names both servers. What the standby had not seen comes again, and what it had is not doubled."""
    monkeypatch.setenv("KARAT_ONLINE_FOLDER", str(tmp_path))
    first, second = find_port(), find_port()
    hosts = f"host=127.0.0.1,127.0.0.1&port={first},{second}&target_session_attrs=read-write"
    address = f"postgresql://postgres@/postgres?{hosts}"
    with open_servers() as servers:
        servers.own()
        servers.run("initdb", "first", "-U", "postgres", "-A", "trust", "--no-sync")
        servers.configure("first", first)
        servers.start("first")
        write(address, 0, 300)
        assert ingest(address).records == 300
        servers.run("pg_basebackup", "second", "-d", f"host=127.0.0.1 port={first} user=postgres", "-R", "-c", "fast")
        servers.configure("second", second)
        servers.start("second")
        write(address, 300, 300)
        assert ingest(address).records == 300
        wait_for_standby(first)
        servers.stop("second")
        write(address, 600, 300)
        assert ingest(address).records == 300
        servers.stop("first", "immediate")
        servers.start("second")
        write(address, 900, 5)
        with pytest.raises(SystemFailed, match="what is in the journal stays there"):
            ingest(address)  # it reads only, as long as nobody says that it is the first
        servers.run("pg_ctl", "second", "promote", "-w")
        assert ingest(address).records == 305
        assert read(address) == list(range(905))


def wait_for_standby(port: str) -> None:
    """Wait until the standby of a server has all that it has."""
    with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres", autocommit=True) as connection:
        written = connection.execute("select pg_current_wal_lsn()").fetchone()
        caught_up = "select count(*) from pg_stat_replication where flush_lsn >= %s"
        for _ in range(6000):
            if connection.execute(caught_up, written).fetchone() == (1,):
                return
            connection.execute("select pg_sleep(0.1)")
    raise AssertionError("the standby does not follow")
