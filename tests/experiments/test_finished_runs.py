"""What a sweep remembers of its runs, and how it finds those in a folder."""

from __future__ import annotations

import json
from pathlib import Path

from each import each
from karat.experiments._finished_runs import FinishedRuns
from karat.experiments._run_index import RunIndex


def test_finished_runs_are_remembered_until_they_are_forgotten(tmp_path: Path) -> None:
    """Another process that opens the same file knows them; the file grows by a line for each."""
    path = tmp_path / "sweep.part"
    finished = FinishedRuns(path)
    for name in ("a.jsonl", "Größe\n.jsonl", "a.jsonl"):
        finished.add(name)
    again = FinishedRuns(path)
    assert "a.jsonl" in again
    assert "Größe\n.jsonl" in again
    assert "b.jsonl" not in again
    assert path.read_text().split() == ['"a.jsonl"', json.dumps("Größe\n.jsonl")]
    again.forget()
    assert not path.exists()


def test_a_line_that_was_cut_off_costs_its_run_and_no_other(tmp_path: Path) -> None:
    """A crash in the middle of a line: what stands before and after it is read."""
    path = tmp_path / "sweep.part"
    path.write_text('"a.jsonl"\n"b.js')
    finished = FinishedRuns(path)
    finished.add("c.jsonl")
    names = ("a.jsonl", "b.jsonl", "c.jsonl")
    assert [name in FinishedRuns(path) for name in names] == [True, False, True]


@each(
    ("data", "known"),
    [(b'["a.jsonl", "b.jsonl"]\n', True), (b"\xff\xfe", False), (b"[1, null]\n{}\n3", False), (b"", False)],
)
def test_files_of_an_older_karat_are_read_and_damaged_ones_are_empty(tmp_path: Path, data: bytes, known: bool) -> None:
    """It wrote one list of all names."""
    path = tmp_path / "sweep.part"
    path.write_bytes(data)
    assert ("a.jsonl" in FinishedRuns(path)) == known


def test_runs_are_found_by_their_identity(tmp_path: Path) -> None:
    """Those that were there, those that this process adds, and those that another one writes meanwhile."""
    first, second, third = (tmp_path / f"p-2026-01-0{day}-0a1b2c3d.jsonl" for day in (1, 2, 3))
    first.write_text("")
    (tmp_path / "p-2026-01-01-ffffffff.jsonl").write_text("")
    (tmp_path / "p-2026-01-09-0a1b2c3d.jsonl.part").write_text("")
    index = RunIndex(tmp_path)
    assert index.find("0a1b2c3d") == [first]
    second.write_text("")
    index.add(second)
    assert index.find("0a1b2c3d") == [second, first]
    third.write_text("")
    assert index.find("0a1b2c3d") == [third, second, first]
    assert index.find("00000000") == []
