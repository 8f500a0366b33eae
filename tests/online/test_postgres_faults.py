"""A log whose store is in PostgreSQL: nothing accepted is lost or doubled, whatever happens to the server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from karat import online
from karat.core import SystemFailed
from karat.online import ingest, read_log
from karat.online._paths import find_paths
from karat.store import parse_address
from postgres import choose_folder, make_address


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store that is not there yet, whose journal is in a folder of its own."""
    monkeypatch.setenv("KARAT_ONLINE_FOLDER", str(tmp_path))
    return make_address()


def write(address: str, start: int, count: int) -> None:
    """Log queries, by their numbers."""
    with online.open(address, keep_ids=True) as log:
        for number in range(start, start + count):
            log.record(f"query {number}", [f"d{number}"], session=f"s{number % 7}")
        assert not log.dropped


def read(address: str) -> list[int]:
    """Return the numbers of the queries in the store."""
    with read_log(address) as log:
        return sorted(int(query.text.split()[1]) for query in log.queries())


def test_a_log_from_the_host_to_the_report(address: str, tmp_path: Path) -> None:
    """The journal is a folder of the host; the store has every record once, however often it is ingested."""
    write(address, 0, 100)
    assert find_paths(address).journal.parent == tmp_path
    assert ingest(address).records == 100
    assert ingest(address).records == 0
    assert read(address) == list(range(100))
    health = online.check_health(address)
    assert (health.healthy, health.queries.rows, health.journal.waiting) == (True, 100, 0)
    assert health.bytes > 0
    assert online.forget(address, session="s3").rows == 14
    assert len(read(address)) == 86
    assert online.expire(address, now=time.time() + 100 * 86400).removed["queries"] == 86


def test_a_server_that_is_down_costs_the_host_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records wait in the journal, ingesting says why, and all are there when the server is."""
    monkeypatch.setenv("KARAT_ONLINE_FOLDER", str(tmp_path))
    address = make_address()
    schema = parse_address(address).schema
    down = f"postgresql:///postgres?host={tmp_path}/nowhere&schema={schema}"
    write(down, 0, 50)
    with pytest.raises(SystemFailed, match="what is in the journal stays there"):
        ingest(down)
    assert ingest(address).records == 50
    assert read(address) == list(range(50))


@pytest.mark.slow
def test_several_ingesters_take_turns(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of different hosts write to one store at the same time; the numbers of rows are in the order of arrival."""
    folders = [tmp_path / name for name in ("a", "b", "c")]
    command = [sys.executable, "-m", "karat", "online", "ingest", address]
    for index, folder in enumerate(folders):
        folder.mkdir()
        monkeypatch.setenv("KARAT_ONLINE_FOLDER", str(folder))
        write(address, 1000 * index, 1000)
    processes = [
        subprocess.Popen(command, env={**os.environ, "KARAT_ONLINE_FOLDER": str(folder)}, stdout=subprocess.PIPE)
        for folder in folders
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    assert read(address) == list(range(3000))


HOLD = "import sys; from postgres import open_server; print(open_server(sys.argv[1]).get_uri(), flush=True); input()"


class Server:
    """A server of its own, which a test may kill, and start again."""

    def __init__(self, data: Path) -> None:
        self.data, self.process = data, 0
        self.start()

    def start(self) -> None:
        """Start it; right after one was killed, or on a busy machine, the first attempts may fail."""
        errors = []
        for attempt in range(20):
            self._hold()
            try:
                with psycopg.connect(self.address, connect_timeout=60):
                    return
            except psycopg.OperationalError as error:
                self.holder.kill()
                errors.append(f"{error}: {self.holder.communicate()[1][-2000:]}")
            time.sleep(0.5 * attempt)
        raise AssertionError(f"the server does not start: {errors[0]} ... {errors[-1]}")

    def _hold(self) -> None:
        """Start it by a process that holds it."""
        command = [sys.executable, "-W", "ignore", "-c", HOLD, str(self.data)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        self.holder = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.holder.stdout is not None
        self.address = self.holder.stdout.readline().strip().replace(":@", "@")
        with suppress(FileNotFoundError):
            self.process = int((self.data / "postmaster.pid").read_text().split("\n")[0])

    def kill(self) -> None:
        """Kill it, as a loss of power would, and who holds it."""
        self.holder.kill()
        self.holder.communicate()
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        while Path(f"/proc/{self.process}").exists() and " Z " not in Path(f"/proc/{self.process}/stat").read_text():
            time.sleep(0.02)
        time.sleep(0.5)  # its children notice

    def save(self, copy: Path) -> None:
        """Copy it while it runs, as a backup does."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("select pg_backup_start('copy', fast => true)")
            shutil.copytree(self.data, copy, ignore=shutil.ignore_patterns("postmaster.*", ".s.*", "*.log", ".lock*"))
            row = connection.execute("select labelfile from pg_backup_stop()").fetchone()
        assert row is not None
        (copy / "backup_label").write_text(row[0])
        for file in (self.data / "pg_wal").glob("0*"):
            shutil.copy(file, copy / "pg_wal" / file.name)

    def restore(self, copy: Path) -> None:
        """Put a copy in its place."""
        owner = self.data.stat()
        for file in self.data.glob("*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copytree(copy, self.data, dirs_exist_ok=True)
        for file in (self.data, *self.data.rglob("*")):
            os.chown(file, owner.st_uid, owner.st_gid)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that is not that of the other tests."""
    monkeypatch.setenv("KARAT_ONLINE_FOLDER", str(tmp_path))
    opened = Server(choose_folder())
    yield opened
    opened.kill()
    shutil.rmtree(opened.data)


@pytest.mark.slow(8)
def test_a_server_that_is_killed_and_one_that_is_restored(server: Server, tmp_path: Path) -> None:
    """SIGKILL in the middle of a batch, then an older copy in its place: every record is there, and none twice."""
    address = server.address
    write(address, 0, 500)
    assert ingest(address).records == 500
    server.save(tmp_path / "copy")
    write(address, 500, 500)
    assert ingest(address).records == 500
    write(address, 1000, 3000)
    killer = threading.Timer(0.05, os.kill, (server.process, signal.SIGKILL))
    killer.start()
    with suppress(SystemFailed):
        ingest(address)
    killer.join()
    server.kill()
    server.start()
    ingest(address)
    assert read(address) == list(range(4000)), "after a crash all that was committed is there, and the rest follows"
    server.kill()
    server.restore(tmp_path / "copy")
    server.start()
    write(address, 4000, 5)
    ingest(address)
    assert read(address) == list(range(4005)), "what the older copy did not have was kept, and came again"


@pytest.mark.slow(8)
def test_a_connection_that_is_cut(server: Server) -> None:
    """At every point of an ingestion somebody ends all connections; in the end every record is there once."""
    address = server.address
    write(address, 0, 2000)
    stop = threading.Event()

    def cut() -> None:
        statement = (
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'karat' and query ~ $1"
        )
        with psycopg.connect(address, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
            while not stop.wait(0.004):
                connection.execute(statement, ("queries|segments|advisory",))

    cutter = threading.Thread(target=cut)
    cutter.start()
    failures = 0
    try:
        for start in range(2000, 2400, 20):
            write(address, start, 20)
            try:
                ingest(address)
            except SystemFailed:
                failures += 1
    finally:
        stop.set()
        cutter.join()
    assert failures, "nothing was cut"
    ingest(address)
    assert read(address) == list(range(2400))


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 32 MB, which the user of the server can reach."""
    folder = choose_folder()
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("only root can mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


@pytest.mark.slow(8)
def test_a_server_whose_disk_is_full(server: Server, small_disk: Path) -> None:
    """What cannot be stored stays in the journal and is said; with room again, every record is there once."""
    owner = server.data.stat()
    tables = small_disk / "tables"
    tables.mkdir(mode=0o700)
    os.chown(tables, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(f"create tablespace small location '{tables}'")
        connection.execute("alter role current_user set default_tablespace = 'small'")
    address = server.address
    write(address, 0, 500)
    assert ingest(address).records == 500
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    write(address, 500, 3000)
    with pytest.raises(SystemFailed, match="the server's disk is full: nothing of this was stored"):
        ingest(address)
    assert read(address) == list(range(500)), "readers go on"
    filler.unlink()
    assert ingest(address).records == 3000
    assert read(address) == list(range(3500))
