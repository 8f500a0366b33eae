"""The store: numbered steps, readers that cannot write, and views with the columns of an agent's memory."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from store_rows import EVENT, QUERY

from karat.core import InputError, SystemFailed
from karat.store import Store, _sqlite, _statements, open_store
from new_stores import copy_new_stores

pytestmark = pytest.mark.usefixtures("steps_are_taken")
COLUMNS = {
    "eval_queries": "id query_id query intent mode session_id tool_name result_ids result_count channel_contributions "
    "total_latency_ms fusion_weights quality_proxy_score trace_id created_at is_eval_corpus eval_category",
    "eval_judgments": "id query_id memory_id relevance source annotator confidence created_at",
    "eval_results": "id run_id run_type feature_id mrr_at_5 mrr_at_10 ndcg_at_5 ndcg_at_10 ndcg_at_20 recall_at_5 "
    "recall_at_10 constitutional_surfacing_rate importance_weighted_recall cold_start_mrr session_personalization_lift "
    "causal_chain_completeness avg_latency_ms channel_contribution_json result_diversity_score query_count "
    "confidence_interval_lower confidence_interval_upper control_run_id mrr_delta ndcg_delta p_value is_significant "
    "created_at per_query_results",
    "eval_feedback": "id event_type session_id query_id memory_id rank_in_results metadata created_at",
    "eval_ab_tests": "id feature_id status log_likelihood_ratio upper_bound lower_bound sample_count control_mrr_sum "
    "treatment_mrr_sum control_ndcg_sum treatment_ndcg_sum min_samples graduation_threshold started_at updated_at "
    "graduated_at",
    "eval_shadow_runs": "id query_id feature_id control_result_ids treatment_result_ids rank_correlation set_overlap "
    "top_result_changed order_differences mrr_delta ndcg_delta control_latency_ms treatment_latency_ms created_at",
}
"""The tables that scripts of agent read, and their columns, as agent wrote them down."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a query and two events."""
    path = tmp_path / "karat.db"
    with open_store(path, write=True) as store, store.transaction():
        store.add_queries([QUERY])
        store.add_events([EVENT, ("e2", 7.0, "purchase", *EVENT[3:])])
    return path


@pytest.mark.sqlite
@pytest.mark.parametrize("view", COLUMNS)
def test_views_have_the_columns_of_the_source(path: Path, view: str) -> None:
    """A script that reads agent's tables finds all of their columns; what was added comes on top."""
    with sqlite3.connect(path) as connection:
        columns = [column for _, column, *_ in connection.execute(f"pragma table_info({view})")]
    connection.close()
    assert set(COLUMNS[view].split()) <= set(columns)


def test_views_by_hand(path: Path) -> None:
    """The ids of the results, times in UTC, -1 for what was not shown by a search, and no free actions."""
    with open_store(path) as store:
        (row,) = store._rows("select query_id, result_ids, result_count, created_at, trace_id from eval_queries")
        assert row == ("q1", '["wifi:chunk:3","pool"]', 2, "1970-01-01T00:00:05.250Z", "t")
        (event,) = store._rows("select event_type, memory_id, rank_in_results from eval_feedback")
        assert event == ("read_after_search", "wifi", -1)


def test_rows_come_back_in_the_order_of_time(path: Path) -> None:
    """Once each, however often they are added; since is included and until is not."""
    with open_store(path, write=True) as store:
        with store.transaction():
            new: set[str] = set()
            assert store.add_queries([QUERY, ("q0", *QUERY[1:]), ("q0", *QUERY[1:])], None, new) == 1
            assert new == {"q0"}
        assert [row[0] for row in store.queries(None, None, None)] == ["q0", "q1"]
        assert list(store.queries(5.25, 5.26, None)) == [("q0", *QUERY[1:]), QUERY]
        assert list(store.queries(None, 5.25, None)) == []
        assert [row[0] for row in store.events(6.0, None, "s")] == ["e1", "e2"]
        assert list(store.events(None, None, "other")) == []


def fail(store: Store) -> None:
    """Add something, and then fail."""
    store.add_queries([("q9", *QUERY[1:])])
    store.set_position("segment", 7)
    raise InputError("failed")


def test_a_transaction_is_whole_or_nothing(path: Path) -> None:
    """An error in the middle undoes what was added, and the position with it."""
    with open_store(path, write=True) as store:
        with pytest.raises(InputError), store.transaction():
            fail(store)
        assert store.summary("queries")[0] == 1
        assert store.positions() == {}


@pytest.mark.sqlite
def test_the_new_stores_of_other_tests_are_like_those_that_took_the_steps(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies have the same tables, settings and mode, and each has an id of its own."""
    tables, ids, settings = [], [], []
    copy_new_stores(tmp_path, monkeypatch)
    for name in ("karat.db", "one.db", "two.db"):
        with open_store(tmp_path / name, write=True) as store:
            ids.append(store.id)
            tables.append(list(store._rows("select type, name, tbl_name, sql from sqlite_master")))
            pragmas = ("user_version", "page_size", "journal_mode", "encoding", "auto_vacuum")
            settings.append([list(store._rows(f"pragma {pragma}")) for pragma in pragmas])
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert tables[0] == tables[1] == tables[2]
    assert settings[0] == settings[1] == settings[2]
    assert len(set(ids)) == 3


def test_a_reader_cannot_write(path: Path) -> None:
    """A store that was opened for reading refuses to change."""
    with open_store(path) as store, pytest.raises(SystemFailed, match=r"read-?only"), store.transaction():
        store.add_queries([("q9", *QUERY[1:])])


def test_ranks_begin_with_1(path: Path) -> None:
    """A rank of 0, as agent's own code wrote it, is no rank."""
    row = ("e3", 1.0, "impression", "", "", "", "a", 0, None, 1.0, "{}")
    refused: dict[int, str] = {}
    with open_store(path, write=True) as store:
        with store.transaction():
            assert store.add_events([row], refused) == 0
        with pytest.raises(InputError, match="a record cannot be stored"), store.transaction():
            store.add_events([row])
    assert list(refused) == [0]


@pytest.mark.sqlite
def test_a_commit_is_on_the_disk(path: Path) -> None:
    """A segment is removed after the commit of its records, so that a commit must survive a loss of power."""
    with open_store(path, write=True) as store:
        ((synchronous,),) = store._rows("pragma synchronous")
    assert synchronous == 2, "full"


@pytest.mark.sqlite
def test_steps_are_taken_once_and_in_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older store is brought forward by its next writer; readers refuse it until then, and a newer one."""
    steps = (*_sqlite.MIGRATIONS, "create table more (a);\ncreate index more_a on more (a);\n")
    monkeypatch.setattr(_sqlite, "MIGRATIONS", steps)
    with pytest.raises(InputError, match="older than this karat"):
        open_store(path)
    with open_store(path, write=True) as store:
        assert store.summary("queries")[0] == 1
    open_store(path).close()
    monkeypatch.undo()
    for write in (False, True):
        with pytest.raises(InputError, match=f"version {len(steps)}, and this karat knows {len(steps) - 1}"):
            open_store(path, write=write)


@pytest.mark.sqlite
def test_a_step_that_fails_leaves_the_store_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a step is no step."""
    monkeypatch.setattr(_sqlite, "MIGRATIONS", (*_sqlite.MIGRATIONS, "create table more (a);\ncreate nonsense"))
    with pytest.raises(SystemFailed):
        open_store(path, write=True)
    monkeypatch.undo()
    with open_store(path, write=True) as store, pytest.raises(sqlite3.OperationalError, match="no such table"):
        store._database.execute("select * from more")


@pytest.mark.sqlite
def test_opening_a_store_keeps_the_locks_of_others_in_the_process(tmp_path: Path) -> None:
    """To close a file drops all locks that the process has on it: SQLite of another process would remove the log."""
    path = tmp_path / "karat.db"
    open_store(path, write=True).close()
    code = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1], timeout=0).execute('pragma journal_mode=delete'))"
    with open_store(path) as reader:
        reader.positions()
        open_store(path, write=True).close()
        process = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "database is locked" in process.stderr, process.stdout


@pytest.mark.sqlite
def test_what_is_no_store(tmp_path: Path) -> None:
    """A file that is not there, is a link, or holds something else: one message."""
    with pytest.raises(InputError, match="no such store"):
        open_store(tmp_path / "none.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="link"):
        open_store(tmp_path / "link.db", write=True)
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(InputError, match="not a database"):
        open_store(tmp_path / "text.db")


def test_a_store_of_the_first_version_is_brought_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first karat with a store wrote is kept, and flags can be set beside it."""
    path = tmp_path / "old.db"
    monkeypatch.setattr(_sqlite, "MIGRATIONS", _sqlite.MIGRATIONS[:1])
    with open_store(path, write=True) as store:
        first = len(_statements.QUERY_COLUMNS) - 4  # builds, indexes, normalisers and flags came later
        columns, marks = ", ".join(_statements.QUERY_COLUMNS[:first]), ", ".join("?" * first)
        store._database.execute(f"insert into queries ({columns}) values ({marks})", QUERY[:first])
    monkeypatch.undo()
    with open_store(path, write=True) as store:
        with store.transaction():
            assert store.change_flag(("k", 1, 5.0, "me", "try", None, "{}"))
        assert list(store.queries(None, None, None)) == [QUERY]
        assert store.flags() == [("k", 1, 5.0, "{}")]


def test_a_flag_moves_from_its_version_to_the_next(path: Path) -> None:
    """A change that begins from another version changes nothing, and has no line in the history."""
    first, second = ("k", 1, 5.0, "me", "try", None, "a"), ("k", 2, 4.0, "you", "more", "a", "b")
    with open_store(path, write=True) as store:
        with store.transaction():
            assert store.change_flag(first)
            assert store.change_flag(second)
            assert not store.change_flag(("k", 2, 6.0, "late", "less", "a", "c"))
            assert not store.change_flag(("k", 4, 6.0, "early", "less", "a", "c"))
        assert store.flag("k") == ("k", 2, 4.0, "b")
        assert store.flag("none") is None
        assert store.flag_changes() == store.flag_changes("k") == [first, second]
