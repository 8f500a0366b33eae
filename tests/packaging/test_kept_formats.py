"""Files that earlier versions of karat wrote are read, and mean the same; the code of those commits wrote them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from in_process import run_karat
from karat.gate._baseline import VERSION
from karat.labelling._journal import VERSION as LABELS
from karat.labelling._queue import VERSION as QUEUE
from karat.schema import TRACE_FORMAT
from karat.schema._decision import DECISION_FORMAT

KEPT = Path(__file__).parent / "kept"
FIRST, SECOND = KEPT / "first", KEPT / "second"


def read_format(path: Path) -> int:
    match = re.search(r'"format": ?(\d+)', path.read_text())
    assert match is not None
    return int(match[1])


def test_every_version_that_is_written_has_a_kept_file() -> None:
    """Whoever raises a format keeps a file of the old one. Baselines of format 1 were never in a released tree."""
    assert {read_format(path) for path in KEPT.rglob("run-*.jsonl")} == set(range(1, TRACE_FORMAT + 1))
    assert {read_format(path) for path in KEPT.rglob("baseline-*.json")} == set(range(2, VERSION + 1))


def test_formats_that_were_never_raised_need_no_kept_file() -> None:
    """Decisions, queues and labels have their first version; whoever raises one keeps a file of it here."""
    assert (DECISION_FORMAT, LABELS, QUEUE) == (1, 1, 1)


@pytest.mark.parametrize("folder", [FIRST, SECOND], ids=["first", "second"])
def test_an_old_run_is_compared_with_an_old_baseline(folder: Path) -> None:
    """Both questions found their document first, then and now."""
    (run,), (baseline,) = folder.glob("run-*.jsonl"), folder.glob("baseline-*.json")
    process = run_karat("compare", str(baseline), str(run), "--project", str(folder), "-m", "RR@10", "--json")
    assert process.returncode == 0, process.stderr
    assert '"RR@10"' in process.stdout.decode()
    shown = json.loads(run_karat("runs", "show", str(run), "--project", str(folder), "-m", "RR@10", "--json").stdout)
    assert shown["run"]["state"] == "complete"
    assert (shown["run"]["queries"], shown["run"]["failed"]) == (2, 0)
    summary = json.loads(run_karat("baseline", "show", str(folder), "--baseline", str(baseline), "--json").stdout)
    assert summary["name"] == "pipeline"
