"""Replays: both systems are asked what was asked before, once, however often the replay is stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shadows import find, find_backwards, read

from in_process import run_karat
from karat.core import Document, GoldenSet, InputError, Query, SystemFailed, UsageError
from karat.online import Log, ingest
from karat.online.shadow import Replayed, list_golden, list_logged, read_queries, replay

QUERIES = [Replayed(id=f"q{number}", text=f"text {number}") for number in range(6)]


def test_logged_queries_are_asked_both_systems(path: Path, log: Log) -> None:
    """With their sessions; who comes first alternates, and every record has its own lists."""
    for number in range(4):
        log.record(f"q{number % 3}", ["a"], session=f"s{number}", user="u")
    log.close()
    ingest(path)
    order: list[tuple[str, str]] = []

    def control(query: str, k: int) -> list[str]:
        order.append((query, "control"))
        return find(query, k)

    def treatment(query: str, k: int) -> list[str]:
        order.append((query, "treatment"))
        return find_backwards(query, k)

    queries = list(list_logged(path))
    done = replay(queries, control, treatment, feature="f", store=path, k=3)
    assert (done.queries, done.before, done.asked, done.statuses) == (4, 0, 4, {"answered": 4})
    assert [who for _, who in order] == ["control", "treatment", "treatment", "control"] * 2
    runs = read(path)
    assert [(run.query, run.session, run.user) for run in runs] == [(q.id, q.session, q.user) for q in queries]
    assert {run.source for run in runs} == {"replay"}
    assert all(run.control == tuple(find(run.text, 3)) == run.treatment[::-1] for run in runs)
    assert [query.text for query in list_logged(path, distinct=True)] == ["q0", "q1", "q2"]


@pytest.mark.slow
def test_a_replay_has_a_name(path: Path) -> None:
    """As a shadow has: without one, nobody could choose it in a report."""
    for feature in ("", " ", None):
        with pytest.raises(UsageError, match="feature is empty"):
            replay([Replayed(id="q", text="wifi")], find, find, feature=feature, store=path)  # type: ignore[arg-type]
    assert not path.exists()


def test_a_replay_that_was_stopped_goes_on(path: Path) -> None:
    """Nothing is asked twice; another k or another system is another replay."""
    texts: list[str] = []

    def control(query: str, k: int) -> list[str]:
        texts.append(query)
        return find(query, k)

    def stop(done: int, total: int) -> None:
        assert total == 6
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(QUERIES, control, find, feature="f", store=path, progress=stop)
    assert len(texts) == 4
    done = replay(QUERIES, control, find, feature="f", store=path)
    assert (done.before, done.asked, len(texts)) == (4, 2, 6)
    assert sorted(run.text for run in read(path)) == sorted(texts)
    assert replay(QUERIES, control, find, feature="f", store=path).asked == 0
    assert replay(QUERIES, control, find, feature="f", store=path, k=5).asked == 6
    assert replay(QUERIES, control, find_backwards, feature="f", store=path).asked == 6
    assert replay(QUERIES, control, find, feature="g", store=path).asked == 6
    assert len(read(path)) == 18


def test_systems_that_fail(path: Path) -> None:
    """Each query is a record; if none was answered the replay has failed, and says why."""

    def treatment(query: str, k: int) -> list[str]:
        if query == "text 1":
            raise ValueError("no")
        return find(query, k)

    def control(query: str, k: int) -> list[str]:
        if query == "text 2":
            raise ValueError("down")
        return find(query, k)

    done = replay(QUERIES[:4], control, treatment, feature="f", store=path)
    assert done.statuses == {"answered": 2, "failed": 1, "control failed": 1}
    assert [(run.status, run.error) for run in read(path)][1:3] == [
        ("failed", "ValueError: no"),
        ("control failed", "ValueError: down"),
    ]
    with pytest.raises(SystemFailed, match="of 1 queries none was answered by both systems: 1 "):
        replay(QUERIES[1:2], find, treatment, feature="g", store=path)


def test_an_error_is_recorded_without_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's exception repeats the key that it sent, and the login of its address: neither is in any file."""
    monkeypatch.setenv("SEARCH_API_KEY", "k3y-of-the-search-host")

    def treatment(query: str, k: int) -> list[str]:
        raise ValueError("401 for k3y-of-the-search-host at https://ann:pa55word99@host/?token=t0ken12345")

    with pytest.raises(SystemFailed) as failed:
        replay(QUERIES[:1], find, treatment, feature="f", store=path)
    (run,) = read(path)
    assert run.error.startswith("ValueError: 401 for ")
    files = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    for secret in ("k3y-of-the-search-host", "pa55word99", "t0ken12345"):
        assert secret not in f"{run.error} {failed.value}"
        assert secret.encode() not in files


def test_a_system_that_takes_in_documents_gets_them(path: Path) -> None:
    """Those of the golden set whose queries are asked."""

    class Index:
        def ingest(self, documents: tuple[Document, ...]) -> None:
            self.ids = [document.id for document in documents]

        def retrieve(self, query: str, k: int) -> list[str]:
            return self.ids[:k]

    golden = GoldenSet(queries=(Query(id="q", text="wifi?"),), documents=(Document(id="a", text="A."),))
    replay(list_golden(golden), Index(), Index(), feature="f", store=path, golden=golden)
    assert [(run.query, run.control, run.treatment) for run in read(path)] == [("q", ("a",), ("a",))]


def test_a_file_of_queries(tmp_path: Path) -> None:
    """One in each line; an id and a tab may be before it."""
    file = tmp_path / "queries.txt"
    file.write_text("wifi?\n\nq7\twhere is the pool?\n", encoding="utf-8")
    assert list(read_queries(file)) == [Replayed(id="1", text="wifi?"), Replayed(id="q7", text="where is the pool?")]
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not text in UTF-8"):
        list(read_queries(file))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks, says what to look at next, goes on, and refuses what makes no sense with one message."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("mine_shadow.py").write_text(
        "def old(query, k):\n    return ['a', 'b'][:k]\n\n\ndef new(query, k):\n    return ['b', 'a'][:k]\n"
    )
    Path("queries.txt").write_text("wifi?\npool?\n")
    systems = ["--control", "mine_shadow:old", "--treatment", "mine_shadow:new", "--feature", "f"]
    done = run_karat("shadow", "replay", "karat.db", "--queries", "queries.txt", *systems)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "2 of 2 queries were asked" in done.stdout.decode()
    again = run_karat("shadow", "replay", "karat.db", "--queries", "queries.txt", *systems, "--json")
    assert (json.loads(again.stdout)["before"], json.loads(again.stdout)["asked"]) == (2, 0)
    assert [run.difference for run in read(tmp_path / "karat.db")] == ["reordered"] * 2
    for wrong, message in [
        (["--golden", "x", "--queries", "y", *systems], "give one of them"),
        (["--queries", "queries.txt", *systems[2:], "--control", "nothing"], "no such system"),
        ([*systems], "no queries to ask"),
        (["--queries", "queries.txt", *systems, "--timeout", "0"], "--timeout is not above 0"),
    ]:
        refused = run_karat("shadow", "replay", "karat.db", *wrong)
        assert refused.returncode == 2, refused
        assert message in refused.stderr.decode()
