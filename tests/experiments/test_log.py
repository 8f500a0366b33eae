"""experiments.json: read as it is, added to as a whole, and never shortened."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from each import each
from karat.core import InputError
from karat.experiments import append_log, find_experiment, read_log

# In the format fit, with additional keys.
FIT = {
    "owner": "search team",
    "experiments": [
        {
            "id": "exp-001",
            "date": "2026-01-04",
            "description": "Reduce chunk size to 256 tokens",
            "config_changes": {"chunking.max_tokens": 256, "chunking.overlap_tokens": 25},
            "results": {"recall_at_5": 0.79, "precision_at_5": 0.71, "mrr": 0.72, "ndcg_at_5": 0.76},
            "verdict": "REJECTED (recall degraded below threshold)",
            "ticket": 17,
        },
        {
            "id": "exp-002",
            "date": "2026-01-05",
            "description": "Größe",
            "config_changes": {"reranking.threshold": 0.6},
            "results": {"recall_at_5": 0.84},
            "verdict": "ACCEPTED (all metrics improved)",
        },
    ],
}
ENTRY = {
    "description": "more",
    "config_changes": {},
    "results": {"R@5": 0.5},
    "verdict": "REJECTED (worse (one-sided p = 0.5))",
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log that somebody else has begun."""
    path = tmp_path / "experiments.json"
    path.write_text(json.dumps(FIT))
    return path


def test_a_log_of_fit_is_read_with_the_names_of_karat(log: Path) -> None:
    """Measures and keys get karat's names; the entry itself stays as it is."""
    first, second = read_log(log)
    assert first.results == {"R@5": 0.79, "P@5": 0.71, "RR": 0.72, "nDCG@5": 0.76}
    assert first.changes == {"pipeline.chunk.size": 256, "pipeline.chunk.overlap": 25}
    assert (first.verdict, first.reason) == ("REJECTED", "recall degraded below threshold")
    assert first.record == FIT["experiments"][0]
    assert (second.verdict, second.date) == ("ACCEPTED", "2026-01-05")


def test_what_is_added_follows_what_is_there(log: Path) -> None:
    """The next number is free, and unknown keys of the file and its entries are kept."""
    assert append_log(log, [ENTRY, {**ENTRY, "description": "other"}]) == ("exp-003", "exp-004")
    document = json.loads(log.read_text())
    assert document["owner"] == "search team"
    assert document["experiments"][:2] == FIT["experiments"]
    assert document["experiments"][2] == {"id": "exp-003", **ENTRY}
    assert "Größe" in log.read_text()
    assert read_log(log)[2].reason == "worse (one-sided p = 0.5)"


def test_the_same_is_not_added_twice(tmp_path: Path) -> None:
    """An entry that differs in its date only keeps its id, and the file its bytes."""
    path = tmp_path / "experiments.json"
    assert append_log(path, [{**ENTRY, "date": "2026-11-16"}]) == ("exp-001",)
    before = path.read_bytes()
    assert append_log(path, [{**ENTRY, "date": "2026-11-17"}]) == ("exp-001",)
    assert path.read_bytes() == before


def test_ids_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    """Numbers are counted from the greatest, and names that are no numbers do not count."""
    path = tmp_path / "experiments.json"
    path.write_text(json.dumps({"experiments": [{"id": "exp-041"}, {"id": "baseline"}, {"id": "exp-9999999999999"}]}))
    assert append_log(path, [ENTRY]) == ("exp-042",)


@each(
    ("text", "message"),
    [
        ('{"experiments": [', "is not valid JSON"),
        ("", "is not valid JSON"),
        ("[]", 'it has no list "experiments"'),
        ('{"experiments": {}}', 'it has no list "experiments"'),
        ('{"experiments": [3]}', "experiments[0] is 3 and has no id"),
        ('{"experiments": [{"id": ""}]}', "has no id"),
        ('{"experiments": [{"id": "a", "results": []}]}', "results of 'a' is []; it should be an object"),
        ('{"experiments": [{"id": "a", "verdict": 1}]}', "verdict of 'a' is 1; it should be a text"),
        ('{"experiments": [{"id": "a", "results": {"R@5": NaN}}]}', "NaN is not a JSON number"),
        ('{"experiments": [], "experiments": []}', "appears twice"),
    ],
)
def test_a_damaged_log_is_told_and_left_alone(tmp_path: Path, text: str, message: str) -> None:
    """Neither reading nor adding touches a file that is not understood."""
    path = tmp_path / "experiments.json"
    path.write_text(text)
    for act in (lambda: read_log(path), lambda: append_log(path, [ENTRY])):
        with pytest.raises(InputError) as caught:
            act()
        assert message in str(caught.value)
        assert str(path) in str(caught.value)
    assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["experiments.json"]


def test_an_experiment_is_found_by_its_id(log: Path) -> None:
    """A near miss is named, and two of one name are refused."""
    known = read_log(log)
    assert find_experiment(known, "exp-002").date == "2026-01-05"
    with pytest.raises(InputError, match="no experiment is called 'exp-02', did you mean 'exp-002'"):
        find_experiment(known, "exp-02")
    with pytest.raises(InputError, match=r"no experiment is called 'zzz'; the last ones are 'exp-001', 'exp-002'"):
        find_experiment(known, "zzz")
    with pytest.raises(InputError, match="the log is empty"):
        find_experiment((), "zzz")
    with pytest.raises(InputError, match="2 experiments are called"):
        find_experiment((*known, *known), "exp-001")


def _add(path: str, who: int) -> None:
    for number in range(10):
        append_log(path, [{"description": f"{who} {number}"}, {"description": f"{who} {number} more"}])


@pytest.mark.slow
def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    """Four that add twenty each leave eighty entries with eighty ids."""
    path = tmp_path / "experiments.json"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_add, args=(str(path), who)) for who in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600)
        assert worker.exitcode == 0
    log = read_log(path)
    assert sorted(entry.id for entry in log) == [f"exp-{i:03}" for i in range(1, 81)]
    assert len({entry.description for entry in log}) == 80
    assert [entry.name for entry in tmp_path.iterdir()] == ["experiments.json"]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_adds_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whatever the moment, the log can be read, and the next one can add to it."""
    path = tmp_path / "experiments.json"
    code = (
        "import sys; from karat.experiments import append_log\n"
        "for i in range(10**6): append_log(sys.argv[1], [{'description': f'{i} ' + 'x' * 2000}])"
    )
    for _ in range(3):
        worker = subprocess.Popen([sys.executable, "-c", code, str(path)])
        before = len(read_log(path)) if path.exists() else 0
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline and (not path.exists() or len(read_log(path)) <= before):
            time.sleep(0.01)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        assert len(read_log(path)) > 0
    count = len(read_log(path))
    assert append_log(path, [ENTRY]) == (f"exp-{count + 1:03}",)


def test_a_log_that_is_a_folder(tmp_path: Path) -> None:
    """It is refused, and nothing is put beside it."""
    (tmp_path / "experiments.json").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file"):
        append_log(tmp_path / "experiments.json", [ENTRY])
    assert [path.name for path in tmp_path.iterdir()] == ["experiments.json"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The message names the folder."""
    with pytest.raises(InputError, match=r"nowhere: cannot be opened: No such file"):
        append_log(tmp_path / "nowhere" / "experiments.json", [ENTRY])
