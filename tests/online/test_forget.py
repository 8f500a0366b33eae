"""Privacy: what is never written, and what is gone when it was forgotten."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process import run_karat
from karat import online
from karat.core import InputError, SystemFailed, UsageError
from karat.online import Retention, expire, forget, ingest, read_log
from karat.online._archive import archive_day
from karat.online._paths import find_paths
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import shadow_row
from karat.online._times import DAY
from karat.online.trials import TrialPlan, list_trials, start_trial
from karat.store import open_store

FIRST = 1_700_006_400.0
"""The beginning of 15 November 2023."""
NEEDLES = ("zebra-question", "zebra-answer", "zebra-session", "zebra-user", "zebra-note", "zebra-error")


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all files of a folder with their bytes, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield path.name, gzip.decompress(data) if path.suffix == ".gz" else data


def search(folder: Path, *needles: str) -> set[str]:
    """Return the needles that are in any file, as UTF-8 or UTF-16."""
    there = list(files(folder))
    forms = {needle: (needle.encode(), needle.encode("utf-16-le")) for needle in needles}
    return {needle for needle, coded in forms.items() for _, data in there if any(form in data for form in coded)}


def write_session(log: online.Log, name: str, *, count: int = 1, **fields: Any) -> None:
    """Write queries of a session in which every text begins with a name, and feedback to each."""
    for number in range(count):
        query = log.record(
            f"{name}-question {number} {'padding ' * 20}",
            ["a", "b"],
            session=f"{name}-session",
            user=f"{name}-user",
            answer=f"{name}-answer",
            error=f"{name}-error",
            note=f"{name}-note",
            **fields,
        )
        log.feedback("read_after_search", f"{name}-session", "a", query=query, note=f"{name}-note")


@pytest.mark.parametrize("keep_ids", [False, True])
@pytest.mark.parametrize("who", ["session", "user"])
def test_no_byte_is_left(tmp_path: Path, keep_ids: bool, who: str) -> None:
    """Store, its log and free pages, segments in use, damaged parts and the archive: nothing of it is anywhere."""
    path = tmp_path / "karat.db"
    log = online.open(path, keep_ids=keep_ids)
    for round_ in range(3):
        write_session(log, "zebra", count=40)
        write_session(log, "horse", count=40)
        write_session(log, "zebra", time=FIRST + DAY * round_)
        ingest(path)
    find_paths(path).torn.mkdir(exist_ok=True)
    (find_paths(path).torn / "x.torn").write_text("zebra-question")
    assert expire(path, Retention(queries=30)).archived == 3
    write_session(log, "zebra", count=2)
    hidden = (
        NEEDLES if keep_ids else tuple(needle for needle in NEEDLES if needle not in ("zebra-session", "zebra-user"))
    )
    assert search(tmp_path, *NEEDLES) == set(hidden)
    done = forget(path, **{who: f"zebra-{who}"})
    assert (done.rows, done.complete, done.archived, done.damages) == (2 * (120 + 2) + 3, True, 3, 1)
    assert done.frames >= 2 * (120 + 2 + 3) - 6
    assert search(tmp_path, *NEEDLES) == set()
    write_session(log, "horse", count=1)
    log.close()
    assert ingest(path).repeated == 0
    with read_log(path) as reader:
        assert sum(1 for query in reader.queries() if query.text.startswith("horse")) == 121
        assert sum(1 for _ in reader.events()) == 121


def test_forgetting_takes_judgments_and_foreign_feedback(tmp_path: Path) -> None:
    """What names a forgotten query goes with it: judgments, shadow runs, and feedback of another session."""
    path = tmp_path / "karat.db"
    with online.open(path, keep_ids=True) as log:
        query = log.record("q", ["a"], session="one")
        log.feedback("impression", "two", "a", query=query)
    ingest(path)
    with open_store(path, write=True) as store, store.transaction():
        store._database.execute(
            "insert into judgments (query, document, grade, source, time) values (?, 'a', 1, 'implicit', 0)", (query,)
        )
        store._database.execute(
            "insert into shadow_runs (query, feature, control, treatment, time) values (?, 'f', '[]', '[]', 0)",
            (query,),
        )
    assert forget(path, session="one").rows == 4
    assert query.encode() not in path.read_bytes()


@pytest.mark.slow
def test_a_reader_holds_old_pages(tmp_path: Path) -> None:
    """While somebody reads, old pages stay in SQLite's own log, and that is said."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        write_session(log, "zebra", count=50)
    ingest(path)
    with read_log(path) as reader:
        queries = reader.queries()
        next(queries)
        assert not forget(path, session="zebra-session").complete
        del queries
    assert forget(path, session="zebra-session").complete
    assert search(tmp_path, "zebra-question") == set()


def test_whom_to_forget(tmp_path: Path) -> None:
    """One of both, in a log that is there."""
    for wrong in ({}, {"session": "a", "user": "b"}):
        with pytest.raises(UsageError):
            forget(tmp_path / "karat.db", **wrong)
    with pytest.raises(InputError, match="no such log"):
        forget(tmp_path / "karat.db", session="a")


@pytest.mark.sqlite
def test_ids_are_hashed_with_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes of a log give a session the same hash; another key gives another; the key is for its owner only."""
    path = tmp_path / "karat.db"
    for _ in range(2):
        with online.open(path) as log:
            log.record("q", session="ann", user="ann")
    monkeypatch.setenv("KARAT_ONLINE_KEY", "another key of the team")
    with online.open(path) as log:
        log.record("q", session="ann")
    ingest(path)
    with read_log(path) as reader:
        first, second, third = reader.queries()
    assert first.session == second.session != third.session
    assert first.session != first.user
    assert len(first.session) == 32
    assert find_paths(path).key.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert forget(path, session="ann").rows == 1
    assert forget(path, session="ann", key=find_paths(path).key.read_text()).rows == 2


def test_the_key_is_not_that_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be found without the key: that is an error and no success, and nothing is touched."""
    path = tmp_path / "karat.db"
    with online.open(path, key="the key of the host") as log:
        write_session(log, "zebra")
    ingest(path)
    (find_paths(path).torn).mkdir()
    (find_paths(path).torn / "x.torn").write_text("x")
    with pytest.raises(InputError, match="nothing was removed: there is no key"):
        forget(path, session="zebra-session")
    with pytest.raises(InputError, match="hashed with another key"):
        forget(path, session="zebra-session", key="the key of another host")
    assert (find_paths(path).torn / "x.torn").exists()
    with pytest.raises(UsageError, match="empty"):
        forget(path, session="")
    monkeypatch.setenv("KARAT_ONLINE_KEY", "the key of the host")
    assert run_karat("online", "forget", str(path), "--session", "zebra-session").returncode == 0
    again = run_karat("online", "forget", str(path), "--session", "zebra-session")
    assert again.returncode == 2
    assert again.stderr.decode().startswith("nothing of them is in")
    assert search(tmp_path, *NEEDLES) == set()


def test_forgetting_goes_on_past_what_cannot_be_read(tmp_path: Path) -> None:
    """A damaged archive, an odd line and a folder among the files stop nothing: all else goes, then it is said."""
    path = tmp_path / "karat.db"
    with online.open(path, keep_ids=True) as log:
        for day in (1, 2, 3):
            write_session(log, "zebra", time=FIRST + day * DAY)
        write_session(log, "zebra")
    ingest(path)
    expire(path)
    first, second, third = sorted(find_paths(path).archive.iterdir())
    assert {file.stat().st_mode & 0o777 for file in (first, second, third)} == {0o600}
    first.write_bytes(first.read_bytes()[:60])
    second.write_bytes(gzip.compress(b'{"id":"1"}\n[]\n' + gzip.decompress(second.read_bytes())))
    (find_paths(path).torn / "folder").mkdir(parents=True)
    done = forget(path, user="zebra-user")
    assert set(done.unread) == {first.name, second.name, "folder"}
    assert done.archived == 2
    first.unlink()
    assert search(tmp_path, *NEEDLES) == set()
    again = run_karat("online", "forget", path, "--user", "zebra-user")
    assert (again.returncode, b"Traceback" in again.stderr, second.name.encode() in again.stderr) == (3, False, True)


def test_expiry_keeps_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is forgotten while the archive is written would be in it: forgetting waits."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("q", time=FIRST + DAY, session="s")
    ingest(path)
    busy: list[bool] = []
    waiting = threading.Thread(target=forget, args=(path,), kwargs={"session": "s"})

    def archive_slowly(*arguments: Any) -> int:
        busy.append(ingest(path).busy)
        waiting.start()  # it may look at the archive only when this is over
        waiting.join(0.1)
        return archive_day(*arguments)

    monkeypatch.setattr("karat.online._retention.archive_day", archive_slowly)
    assert expire(path).archived == 1
    waiting.join()
    assert busy == [True]
    assert list(find_paths(path).archive.iterdir()) == []


def test_expiry_by_whole_days(tmp_path: Path) -> None:
    """Queries go to the archive of their day, once, however often; feedback goes; what is younger stays.

    Shadow runs go after 30 days; judgments, runs and trials never.
    """
    path = tmp_path / "karat.db"
    now = FIRST + 200.5 * DAY
    with online.open(path) as log:
        for day in (1.0, 1.5, 110.0, 110.6, 150.0):
            log.record(f"day {day}", time=FIRST + day * DAY)
            log.feedback("impression", time=FIRST + day * DAY)
    ingest(path)
    add_what_stays(path)
    with open_store(path, write=True) as store, store.transaction():
        runs = [LoggedShadow(str(day), FIRST + day * DAY, "f", "q") for day in (169.9, 170.0)]
        store.add_shadow_runs([shadow_row(run) for run in runs])
    first = expire(path, now=now)
    assert (first.archived, dict(first.removed)) == (2, {"queries": 2, "events": 2, "shadow_runs": 1})
    assert first.before["queries"] == "2024-03-04"
    with online.open(path) as log:
        log.record("late", time=FIRST + 1.2 * DAY)
    ingest(path)
    assert expire(path, now=now).archived == 1
    assert expire(path, now=now + 30 * DAY, archive=False).removed["queries"] == 2
    with read_log(path) as reader:
        assert [query.text for query in reader.queries()] == ["day 150.0"]
    (archive,) = find_paths(path).archive.iterdir()
    assert archive.name == "queries-2023-11-16.jsonl.gz"
    assert gzip.decompress(archive.read_bytes()).count(b"\n") == 3
    with open_store(path) as store:
        assert [list(store._rows(f"select time from {table}")) for table in ("judgments", "runs")] == [[(0,)], [(0,)]]
    assert [trial.feature for trial in list_trials(path).trials] == ["f"]


def add_what_stays(path: Path) -> None:
    """Put a judgment, a run and a trial of long ago into a store."""
    with open_store(path, write=True) as store, store.transaction():
        store.add_run(("run-1", "full", "", 0.0, "g", "s", 10, None, "", "pass", "{}"), [])
        store._database.execute(
            "insert into judgments (query, document, grade, source, time) values ('q', 'a', 1, 'manual', 0)"
        )
    start_trial(path, TrialPlan(feature="f"), now=0.0)


def test_half_of_a_pair_can_be_forgotten(tmp_path: Path) -> None:
    """As the shell gives a byte that is no UTF-8: what the host gave is found, whether ids are hashed or kept."""
    for keep_ids in (False, True):
        path = tmp_path / f"{keep_ids}.db"
        with online.open(path, keep_ids=keep_ids) as log:
            log.record("q", ["a"], session="\udcff", user="u")
        ingest(path)
        assert (
            run_karat("online", "forget", path, "--session", b"\xff".decode(errors="surrogateescape")).returncode == 0
        )
        with read_log(path) as reader:
            assert list(reader.queries()) == []


def test_a_journal_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """Such as in a folder without rights: one message, and no traceback."""
    path = tmp_path / "karat.db"
    open_store(path, write=True).close()
    (tmp_path / "karat.db.journal").write_text("a file")
    done = run_karat("online", "forget", path, "--session", "s")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"karat.db.journal: cannot be made: File exists" in done.stderr


def test_a_full_disk_keeps_old_pages_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was removed is removed: a message that nothing of it was stored would be wrong."""
    with online.open(path) as log:
        write_session(log, "zebra")
    ingest(path)

    def fail(_: object) -> bool:
        raise SystemFailed("the disk is full")

    monkeypatch.setattr("karat.store.Store.compact", fail)
    done = forget(path, session="zebra-session")
    assert (done.rows, done.complete) == (2, False)
    with read_log(path) as reader:
        assert list(reader.queries()) == []
    shown = run_karat("online", "forget", path, "--session", "zebra-session")
    assert shown.returncode == 3
    assert b"are left, because somebody still reads it, or the disk is full" in shown.stderr
