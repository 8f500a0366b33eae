"""The index holds what the library computes from the run files, follows them, and can be lost."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.gate_project import make_run, make_set
from karat import golden
from karat.index import Indexer, Mark, _indexer, open_index
from karat.projects import gate_run, open_project, report_document
from karat.projects.saved_runs import list_runs
from karat.runs import read_any_run
from karat.schema import to_plain
from server.served import NEW, make_indexed_project, make_served_project


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_indexed_project(tmp_path_factory.mktemp("index"))


def test_runs_are_those_of_the_list_and_decisions_those_of_the_gate(indexed: Path) -> None:
    """State, counts and means are what karat runs list says, and verdict, checks and intervals what karat gate does."""
    listed = {Path(run.file).name: run for run in list_runs(indexed).runs}
    project = open_project(indexed)
    with open_index(indexed) as index:
        runs = index.list_runs()
        assert {run.line.file for run in runs} == listed.keys()
        for run in runs:
            row, line = listed[run.line.file], run.line
            assert (line.state, line.queries, line.failed, line.is_baseline) == (
                row.state, row.queries, row.failed, row.is_baseline,
            )  # fmt: skip
            assert {entry.name: entry.mean for entry in line.measures} == dict(row.measures)
            if line.outcome is None:
                continue
            result = gate_run(project, read_any_run(indexed / "runs" / line.file, project.golden))
            whole, kept = report_document(result, file=line.file), index.read_report(line.id)
            assert kept is not None
            assert (line.outcome, line.failures) == (whole.verdict.outcome, len(whole.failures))
            for part in ("verdict", "checks", "caveats", "movers", "failures", "recommendations", "latency"):
                assert to_plain(getattr(kept, part)) == to_plain(getattr(whole, part)), part
            assert [entry.interval for entry in kept.measures] == [entry.interval for entry in whole.measures]


def test_an_update_lets_others_go_first(tmp_path: Path) -> None:
    """When something else is waited for, it stops after a run, says so, and goes on where it was."""
    folder = make_served_project(tmp_path)
    indexer, said = Indexer(folder), list[str]()
    assert indexer.update(said.append, lambda: True) is False
    assert said.count("runs") == 1
    assert indexer.update(said.append, lambda: True) is False
    assert indexer.update(said.append) is True
    assert said.count("runs") == 3
    with open_index(folder) as index:
        assert not index.find_state().waiting


def test_columns_have_every_query_and_its_trace(indexed: Path) -> None:
    """Scores, marks and traces of single queries are those of the run: by hand, and by reading it whole."""
    run_file = read_any_run(indexed / "runs" / "new.jsonl", make_set())
    with open_index(indexed) as index:
        run = index.find_run("new")
        assert run is not None
        columns = index.read_columns(run)
        expected = [1 / place if place > 0 else 0.0 for place in NEW]
        expected[8] = 0.0  # the system failed
        assert columns.values[run.measures.index("RR@10")].tolist() == pytest.approx(expected)
        failed = [bool(mark & Mark.ERROR) for mark in columns.marks.tolist()]
        assert [place for place, is_failed in enumerate(failed) if is_failed] == [8]
        assert np.all(columns.marks & Mark.ASKED)
        for query, trace in zip(index.read_queries(range(12)), run_file.traces, strict=True):
            assert index.read_trace(run, query) == trace
            (one,) = (pair[1] for id_, pair in index.read_query_columns(query.position).items() if id_ == "new")
            assert one.values[:, 0].tolist() == columns.values[:, query.position].tolist()
        some = index.read_queries([7, 2, 11])
        assert index.read_traces(run, some) == {query.id: run_file.traces[query.position] for query in some}


def test_a_query_has_its_judgments(indexed: Path) -> None:
    """Text, category and judgments are those of the golden set; a search takes no wildcard for one."""
    with open_index(indexed) as index:
        query = index.find_query("q03")
        assert query is not None
        assert (query.text, query.category, query.grades) == ("What of 03?", "times", {"d03": 1})
        found = index.search_queries("of 03", "times")
        assert found is not None
        assert found.tolist() == [2]
        for odd in ("%", "_", "\\", "'", "\x00"):
            positions = index.search_queries(odd)
            assert positions is not None
            assert positions.tolist() == []


def test_a_new_run_a_removed_one_and_a_changed_set_are_followed(tmp_path: Path) -> None:
    """Only what changed is read again; a damaged run is not tried twice."""
    folder = make_served_project(tmp_path)
    indexer, said = Indexer(folder), list[str]()
    indexer.update(said.append)
    assert said == ["runs"] * 3
    with open_index(folder) as index:
        assert index.find_state().waiting == 0
    said.clear()
    indexer.update(said.append)
    assert said == []
    make_run(folder, make_set(), NEW, "later")
    (folder / "runs" / "broken.jsonl").unlink()
    with open_index(folder) as index:
        assert index.find_state().waiting == 2
    indexer.update(said.append)
    assert said == ["runs"]
    with open_index(folder) as index:
        assert {run.line.id for run in index.list_runs()} == {"old", "new", "later"}
    toml = folder / "karat.toml"
    toml.write_text(toml.read_text() + "[gate]\nextends = 'default'\non_inconclusive = 'fail'\n")
    os.utime(toml, ns=(1, 1))
    said.clear()
    indexer.update(said.append)
    assert said == ["runs"] * 3


@pytest.mark.parametrize("place", [".", "set"])
def test_what_changes_while_the_set_is_read_is_read_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Two proposals that are accepted one after the other: the index is behind until it has both, and says so."""
    golden.write(make_set(), tmp_path / place)
    (tmp_path / "karat.toml").write_text(f"[golden]\npath = '{place}'\n")
    judgments, lint = tmp_path / place / "judgments.jsonl", _indexer.check_configured
    rows = judgments.read_text().splitlines(keepends=True)

    def accept_another(*arguments: Any) -> Any:
        monkeypatch.undo()
        judgments.write_text("".join(rows[:-1]))
        return lint(*arguments)

    monkeypatch.setattr(_indexer, "check_configured", accept_another)
    indexer = Indexer(tmp_path)
    for is_behind, count in ((True, len(rows)), (False, len(rows) - 1), (False, len(rows) - 1)):
        indexer.update()
        with open_index(tmp_path) as index:
            assert (bool(index.find_state().waiting), int(index.meta["judgments"])) == (is_behind, count)


@pytest.mark.slow
def test_an_index_that_is_lost_damaged_or_of_another_version_is_made_anew(tmp_path: Path) -> None:
    """While it is gone there are no runs, and that is said; nothing but the index is touched."""
    folder = make_indexed_project(tmp_path)
    path = folder / ".karat" / "index.db"
    for damage in (b"", b"not a database" * 1000, None):
        for file in path.parent.glob("index.db*"):
            file.unlink()
        if damage is not None:
            path.write_bytes(damage)
        with open_index(folder) as index:
            assert index.list_runs() == []
            assert index.find_state().waiting == 3
        Indexer(folder).update()
        with open_index(folder) as index:
            assert len(index.list_runs()) == 3
            assert index.find_state().waiting == 0


def test_a_project_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """The message is kept, the runs stay as they were, and it goes on once the mistake is mended."""
    folder = make_indexed_project(tmp_path)
    before = (folder / "karat.toml").read_text()
    (folder / "karat.toml").write_text("[golden\n")
    indexer = Indexer(folder)
    indexer.update()
    with open_index(folder) as index:
        assert "karat.toml" in index.find_state().problem
        assert len(index.list_runs()) == 3
    (folder / "karat.toml").write_text(before)
    indexer.update()
    with open_index(folder) as index:
        assert index.find_state().problem == ""


def test_a_baseline_that_is_damaged_decides_nothing(tmp_path: Path) -> None:
    """Means are shown, and no verdict: one without the baseline would be better than the truth."""
    folder = make_indexed_project(tmp_path)
    (folder / "baseline.json").write_text("{")
    Indexer(folder).update()
    with open_index(folder) as index:
        runs = {run.line.id: run.line for run in index.list_runs()}
        assert {runs["old"].outcome, runs["new"].outcome} == {None}
        assert (runs["old"].state, runs["old"].measures[0].n) == ("undecided", 12)
        assert "baseline.json" in runs["old"].note


def test_a_packed_run_has_its_traces(tmp_path: Path) -> None:
    """Lines of a file that cannot be read in the middle are kept."""
    folder = make_indexed_project(tmp_path)
    plain = folder / "runs" / "new.jsonl"
    (folder / "runs" / "packed.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    Indexer(folder).update()
    with open_index(folder) as index:
        first, second = index.find_run("new"), index.find_run("packed.jsonl.gz")
        assert first is not None
        assert second is not None
        for query in index.read_queries(range(12)):
            assert index.read_trace(second, query) == index.read_trace(first, query)
        some = index.read_queries([7, 2, 11])
        assert index.read_traces(second, some) == index.read_traces(first, some)
        assert len(index.read_traces(first, some)) == 3


def test_a_run_file_that_changed_is_not_read_by_old_offsets(tmp_path: Path) -> None:
    """A page says that it is read again, and shows no answer of another query."""
    from karat.core import InputError

    folder = make_indexed_project(tmp_path)
    path = folder / "runs" / "new.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *reversed(lines[1:-1]), lines[-1]]))
    with open_index(folder) as index:
        run, query = index.find_run("new"), index.find_query("q02")
        assert run is not None
        assert query is not None
        with pytest.raises(InputError, match="has changed"):
            index.read_trace(run, query)
        assert index.read_traces(run, index.read_queries(range(12))) == {}
        path.write_text("".join([*lines[:2], "x" * (len(lines[2]) - 1) + "\n", *lines[3:]]))
        kept = index.read_queries([0, 1, 11])
        assert list(index.read_traces(run, kept)) == ["q01", "q12"]  # one damaged line hides no other
        path.unlink()
        assert index.read_traces(run, kept) == {}
