"""Shadow runs as records: how lists differ, from the journal into the store, once, and out of it when forgotten."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from each import each
from karat import online
from karat.online import ingest, read_log
from karat.online._shadow_records import (
    ANSWERED,
    CLASSES,
    STATUSES,
    LoggedShadow,
    ShadowDraft,
    finish_shadow,
)
from karat.online._stored import shadow_row, to_shadow
from karat.online.shadow._job import list_ids
from karat.store import _sqlite, _sqlite_schema, open_store


def make_draft(control: str, treatment: str, *, status: str = ANSWERED, k: int = 10, **fields: object) -> ShadowDraft:
    """Return a draft of two lists of one-letter documents."""
    draft = ShadowDraft("1", 1.5, "f", "wifi?", control=tuple(control), treatment=tuple(treatment), status=status, k=k)
    for name, value in fields.items():
        setattr(draft, name, value)
    return draft


# RBO by hand, p = 0.9, equation 32 of Webber: with agreements A1..Ad at each depth and X/d at the last,
# rbo = A1 + sum over d of p^d (A(d+1) - A(d)).
@each(
    ("control", "treatment", "difference", "rbo", "overlap", "tau", "top_changed", "moved"),
    [
        ("abc", "abc", "identical", 1.0, 1.0, 1.0, False, 0),
        ("", "", "identical", 1.0, 1.0, 1.0, False, 0),
        # A = 0, 1: 0 + 0.9 * 1
        ("ab", "ba", "reordered", 0.9, 1.0, -1.0, True, 2),
        # A = 1, 1/2, 2/3... abc/acd: depth 2 shares a; depth 3 shares a, c: 1 + 0.9 (-1/2) + 0.81 (2/3 - 1/2)
        ("abc", "acd", "partly different", 1 - 0.45 + 0.81 / 6, 0.5, 1 / 3, False, 3),
        # shares one of three: overlap 1/5, and A = 1, 1/2, 1/3
        ("abc", "ade", "different", 1 - 0.45 - 0.81 / 6, 0.2, 0.0, False, 4),
        ("ab", "", "different", 0.0, 0.0, 0.0, True, 2),
        ("ab", "cd", "different", 0.0, 0.0, -0.8, True, 4),
    ],
)
def test_how_lists_differ_by_hand(
    control: str, treatment: str, difference: str, rbo: float, overlap: float, tau: float, top_changed: bool, moved: int
) -> None:
    """The class and the numbers beside it."""
    run = finish_shadow(make_draft(control, treatment))
    assert run.difference == difference
    assert run.rbo == pytest.approx(rbo, abs=1e-12)
    assert run.overlap == pytest.approx(overlap, abs=1e-12)
    assert run.tau == pytest.approx(tau, abs=1e-12)
    assert (run.top_changed, run.order_differences) == (top_changed, moved)


def test_the_bound_between_partly_different_and_different() -> None:
    """Lists of ten that share five have an overlap of 5 / 15, which is enough; with four of ten it is not."""
    assert finish_shadow(make_draft("abcdefghij", "abcdevwxyz")).difference == "partly different"
    assert finish_shadow(make_draft("abcdefghij", "abcduvwxyz")).difference == "different"


def test_lists_are_compared_down_to_k() -> None:
    """What differs below k does not count; the lists are kept whole."""
    run = finish_shadow(make_draft("abcd", "abdc", k=2))
    assert (run.difference, run.control, run.treatment) == ("identical", tuple("abcd"), tuple("abdc"))


@each("status", [status for status in STATUSES if status != ANSWERED])
def test_without_an_answer_there_are_no_numbers(status: str) -> None:
    """A treatment that failed or timed out is a class of its own, and what was not asked is another."""
    run = finish_shadow(make_draft("ab", "", status=status))
    assert run.difference == ("treatment failed" if status in ("failed", "timeout") else "not compared")
    assert (run.rbo, run.overlap, run.tau, run.top_changed, run.order_differences) == (None,) * 5
    assert run.difference in CLASSES


@pytest.mark.sqlite
def test_a_row_is_a_record(tmp_path: Path) -> None:
    """Every field comes back from the store, and a second time nothing is added."""
    runs = [
        finish_shadow(make_draft("ab", "ac", error="e", attributes={"a": 1}, systems=("v1", "v2"), session="s")),
        finish_shadow(make_draft("ab", "", status="timeout", id="2", lists=False, treatment_latency=2.5)),
    ]
    with open_store(tmp_path / "karat.db", write=True) as store:
        with store.transaction():
            assert store.add_shadow_runs([shadow_row(run) for run in runs]) == 2
        with store.transaction():
            assert store.add_shadow_runs([shadow_row(run) for run in runs]) == 0
        assert [to_shadow(row) for row in store.shadow_runs("f")] == runs
        assert (store.shadow_features(), store.shadow_ids("f")) == ({"f": 2}, {"1", "2"})
        assert list(store.shadow_runs("other")) == []
    assert len(shadow_row(runs[0])) == len(LoggedShadow.__struct_fields__)
    connection = sqlite3.connect(tmp_path / "karat.db")
    (row,) = connection.execute(
        "select control_result_ids, treatment_result_ids, set_overlap, top_result_changed from eval_shadow_runs limit 1"
    )
    connection.close()
    assert row == ('["a","b"]', '["a","c"]', pytest.approx(1 / 3), 0)


def test_chunks_count_as_their_documents() -> None:
    """Each once, where it is ranked best."""
    draft = make_draft("", "")
    draft.control, draft.treatment = ("wifi:chunk:2", "pool", "wifi:chunk:0"), ("wifi", "pool:chunk:1")
    run = finish_shadow(draft)
    assert (run.control, run.treatment, run.difference) == (("wifi", "pool"), ("wifi", "pool"), "identical")


def test_diff_only_keeps_no_lists() -> None:
    """Only how they differ."""
    run = finish_shadow(make_draft("ab", "ba", lists=False))
    assert (run.control, run.treatment, run.difference, run.lists) == ((), (), "reordered", False)


@pytest.mark.sqlite
def test_a_store_of_the_first_version_gets_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shadow run that was there stays there, and is no record of ours."""
    path = tmp_path / "karat.db"
    monkeypatch.setattr(_sqlite, "MIGRATIONS", _sqlite_schema.MIGRATIONS[:1])
    open_store(path, write=True).close()
    connection = sqlite3.connect(path)
    connection.execute(
        "insert into shadow_runs (query, feature, control, treatment, time) values ('q', 'f', '', '', 1)"
    )
    connection.commit()
    connection.close()
    monkeypatch.undo()
    with open_store(path, write=True) as store:
        assert (list(store.shadow_runs("f")), store.summary("shadow_runs")[0]) == ([], 1)


def test_from_the_journal_into_the_store_and_forgotten(tmp_path: Path) -> None:
    """Redacted, hashed, ingested once; gone with its session, and with its user, also from the journal."""
    path = tmp_path / "karat.db"
    log = online.open(path, key="k" * 32)
    for number, (session, user) in enumerate([("ann", "u1"), ("bob", "u2"), ("cy", "u2")]):
        draft = make_draft(
            "ab", "ab", id=str(number), text="mail a@example.org", error="a@example.org", session=session
        )
        draft.user = user
        log.write(draft)
    assert ingest(path).records == 3
    with read_log(path) as reader:
        runs = list(reader.shadow_runs("f"))
    assert {run.text for run in runs} | {run.error for run in runs} == {"mail [e-mail]", "[e-mail]"}
    assert "ann" not in {run.session for run in runs}
    assert online.forget(path, session="ann", key="k" * 32).rows == 1
    assert online.forget(path, user="u2", key="k" * 32).rows == 2
    log.close()
    with read_log(path) as reader:
        assert list(reader.shadow_runs("f")) == []


def test_a_record_of_another_version_is_kept_aside(tmp_path: Path) -> None:
    """A status that nobody knows is damage, and does not stop what follows."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.write(make_draft("a", "a", status="levitating"))
        log.write(make_draft("a", "a", id="2"))
    done = ingest(path)
    assert (done.records, done.damaged) == (1, 1)


def test_what_a_list_may_be() -> None:
    """Whatever the log understands; an iterator is read only where nobody else needs it."""

    class Found:
        document = "d"

    assert list_ids([{"id": "a:chunk:1"}, ("b", 0.5), Found(), "a"]) == ("a", "b", "d", "a")
    assert list_ids([("a:chunk:1", 0.5), ("b", 0.2)]) == ("a:chunk:1", "b")
    assert list_ids({"hits": ["a"], "text": "Free."}) == ("a",)
    assert list_ids(iter(["a", "b"]), consume=True) == ("a", "b")
    assert len(list_ids(map(str, range(1000)), consume=True)) == 100
    for wrong in ("text", None, 3, {"a": 1}, iter(["a"])):
        with pytest.raises(Exception, match="hits"):
            list_ids(wrong)
