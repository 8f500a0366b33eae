"""When a run ends early: the first questions all fail in the same way, and each would cost its time limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat.core import GoldenSet, Query, SystemFailed
from karat.runs import Settings, make_run, read_run_file

QUERIES = tuple(Query(id=f"q{i}", text=f"question {i}", paraphrases=(f"wording {i}",)) for i in range(9))
GOLDEN = GoldenSet(queries=QUERIES)
KINDS = ("refused", "reset", "timed out", "no shard", "no space", "no quota", "bad key", "bad vector", "gone")


def alike(number: int) -> str:
    """Return an error that differs from others in numbers alone."""
    return f"request {number} got 502"


class Broken:
    """Fails at some questions, and counts what it was asked."""

    def __init__(self, failing: range, word: Callable[[int], str] = alike) -> None:
        self.failing, self.word, self.calls = failing, word, 0

    def retrieve(self, query: str, k: int) -> list[str]:
        self.calls += 1
        number = int(query.split()[1])
        if number in self.failing:
            raise OSError(self.word(number))
        return ["a"]


def test_a_service_that_fails_alike_from_the_start_is_asked_five_queries(tmp_path: Path) -> None:
    """Nothing is left that a later run would take for answers."""
    system = Broken(range(9))
    message = "the first 5 questions failed in the same way, and the other 4 were not asked: OSError: request 0 got 502"
    with pytest.raises(SystemFailed, match=message):
        make_run(GOLDEN, system, Settings(warm_up=0), output=tmp_path / "run.jsonl")
    assert system.calls == 5
    assert not (tmp_path / "run.jsonl").exists()


@each(
    "found",
    [
        {"hits": [{"id": "a"}]},
        [{"doc": "a", "score": 1.0}],
        [{"id": "a", "score": float("nan")}],
        "a",
    ],
)
def test_what_the_system_returned_does_not_tell_its_failures_apart(found: Any) -> None:
    """The message quotes it, and it is another for each question; the mistake is the same."""
    asked = []

    def retrieve(query: str, k: int) -> Any:
        asked.append(query)
        return json.loads(json.dumps(found).replace('"a"', json.dumps(f"answer to {query}")))

    with pytest.raises(SystemFailed, match="the first 5 questions failed in the same way, and the other 4 were not"):
        make_run(GOLDEN, retrieve, Settings(warm_up=0))
    assert len(asked) == 5


@pytest.mark.parametrize(
    ("system", "patience"),
    [
        pytest.param(Broken(range(4)), 5, id="four fail"),
        pytest.param(Broken(range(1, 9)), 5, id="the first is answered"),
        pytest.param(Broken(range(8)), 0, id="no limit"),
        pytest.param(Broken(range(8), KINDS.__getitem__), 5, id="each in its own way"),
    ],
)
def test_otherwise_every_query_is_asked(system: Broken, patience: int) -> None:
    """A run in which something may be answered says what failed, and counts it."""
    run = make_run(GOLDEN, system, Settings(warm_up=0, patience=patience))
    assert [int(trace.query[1:]) for trace in run.traces if trace.error] == list(system.failing)
    assert len(run.traces) == 9


def test_wordings_and_repeats_of_a_query_count_once() -> None:
    """A query that always fails is asked six times here, and says nothing about the others."""
    run = make_run(GOLDEN, Broken(range(2)), Settings(warm_up=0, paraphrases=True, repeat=3))
    assert sum(bool(trace.error) for trace in run.traces) == 12


def test_a_run_that_is_continued_was_answered(tmp_path: Path) -> None:
    """What fails after it was interrupted is no reason to throw away what was answered before."""
    file, system = tmp_path / "run.jsonl", Broken(range(2, 9))
    with pytest.raises(SystemFailed, match="q2"):
        make_run(GOLDEN, system, Settings(warm_up=0, fail_fast=True), output=file)
    run = make_run(GOLDEN, system, Settings(warm_up=0), output=file)
    assert [bool(trace.error) for trace in run.traces] == [False] * 2 + [True] * 7
    assert len(read_run_file(file).traces) == 9
