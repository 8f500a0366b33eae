"""Ways found to get exit 0 where it must not be: baselines that lost rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.gate_project import main, make_gated_project, make_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good baseline, and a run that finds nothing but for the first query."""
    golden_set = make_gated_project(tmp_path, [1] * 12)
    make_run(tmp_path, golden_set, [1, *[0] * 11])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cut(record: dict[str, Any]) -> None:
    """Keep the first row, and make everything that counts rows agree."""
    (first, *_) = record["queries"]
    record["queries"] = {first: record["queries"][first]}
    record["total"] = 1
    record["unfound"] = []
    record["means"] = {"RR@10": 1.0}


def older(record: dict[str, Any]) -> None:
    """Cut the rows of a file that was written before there were digests."""
    cut(record)
    del record["digest"], record["depth"]
    record["format"] = 2


def oldest(record: dict[str, Any]) -> None:
    """Cut the rows of a file of the first format, which does not count its queries."""
    older(record)
    del record["total"]
    record["format"] = 1


def lower(record: dict[str, Any]) -> None:
    """Make a score easier to reach."""
    record["queries"]["q01"]["RR@10"] = [0.0]
    record["means"]["RR@10"] = 11 / 12


@pytest.mark.parametrize("damage", [cut, older, oldest, lower])
def test_way_12_a_baseline_that_lost_rows_is_refused(
    folder: Path, damage: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Although all that it says of itself agrees: its digest does not, or its golden set has more queries."""
    record = json.loads(Path("baseline.json").read_text())
    damage(record)
    Path("baseline.json").write_text(json.dumps(record))
    assert main(["gate", "runs/new.jsonl"]) == 2
    assert "is a damaged baseline" in capsys.readouterr().err
