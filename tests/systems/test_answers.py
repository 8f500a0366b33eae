"""Systems that answer: what they return becomes an answer with citations, or one clear error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat import Answer, Citation, Document, GoldenSet, Hit, Query, Span
from karat.config import Settings
from karat.core import Stage, SystemFailed, Trace
from karat.runs import make_run, read_any_run
from karat.systems import Retrieved

GOLDEN = GoldenSet(
    documents=(Document(id="wifi", text="Wi-Fi is free."),), queries=(Query(id="q", text="Is Wi-Fi free?"),)
)  # fmt: skip
HIT = Hit("wifi:chunk:0", 0.9, span=Span(0, 14))


class Answering:
    """A system that answers what a test wants."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def retrieve(self, query: str, k: int) -> Any:
        raise AssertionError("answer is called instead")

    def answer(self, query: str, k: int) -> Any:
        return self.result


class AsyncAnswering(Answering):
    async def answer(self, query: str, k: int) -> Any:
        return self.result


def ask(system: object, folder: Path) -> Trace:
    """Return the only trace of a run, as it is read from its file."""
    path = folder / "run.jsonl"
    (trace,) = make_run(GOLDEN, system, Settings(warm_up=0), output=path).traces
    (read,) = read_any_run(path, GOLDEN).traces
    assert read == trace
    return trace


CITED = Citation("wifi:chunk:0", "wifi", Span(0, 14))


@pytest.mark.parametrize("kind", [Answering, AsyncAnswering])
def test_an_answer_is_part_of_the_trace(kind: type, tmp_path: Path) -> None:
    """Its text, what it cites, the hits, and what it cost; the run file has it all."""
    trace = ask(kind(Answer("Yes.", [1], [HIT], tokens={"input": 9, "output": 2}, cost=0.01)), tmp_path)
    assert (trace.answer, trace.citations, trace.hits, trace.refused) == ("Yes.", (CITED,), (HIT,), False)
    assert trace.telemetry == {"tokens": {"input": 9, "output": 2}, "cost": 0.01}


def test_a_refusal_is_kept(tmp_path: Path) -> None:
    """With what the system says instead, and the hits that were not enough."""
    trace = ask(Answering({"text": "I do not know.", "refused": True, "hits": ["wifi"]}), tmp_path)
    assert (trace.answer, trace.refused, [hit.id for hit in trace.hits]) == ("I do not know.", True, ["wifi"])


def test_hits_with_stages_are_read_in_an_answer(tmp_path: Path) -> None:
    """What retrieve may return, an answer may have as its hits."""
    hits = Retrieved([HIT], {"embed": 1.5}, stages=(Stage(name="candidate", channel="dense", hits=(HIT,)),))
    trace = ask(Answering(Answer("Yes.", ["wifi:chunk:0"], hits)), tmp_path)
    assert (trace.timings["embed"], trace.stages[0].hits, trace.citations) == (1.5, (HIT,), (CITED,))


@each(
    ("citation", "expected"),
    [
        (CITED, CITED),
        (HIT, CITED),
        ("wifi:chunk:0", CITED),
        ("pool:chunk:2", Citation("pool:chunk:2", "pool")),
        ({"id": "wifi:chunk:0"}, CITED),
        ({"id": "wifi:chunk:0", "span": [0, 5]}, Citation("wifi:chunk:0", "wifi", Span(0, 5))),
        ({"id": "c1", "document": "wifi", "offsets": (3, 5)}, Citation("c1", "wifi", Span(3, 5))),
        ({"document": "wifi", "section": "S.1"}, Citation("wifi", "wifi", None, "S.1")),
        (2, Citation("rank 2 of 1", "rank 2 of 1")),  # models cite hits that are not there
        (Citation("wifi:chunk:0", "wifi", (0, 14)), CITED),  # type: ignore[arg-type]
    ],
)
def test_a_citation_may_be_written_in_many_ways(citation: Any, expected: Citation, tmp_path: Path) -> None:
    """One that names a hit is where the hit is."""
    assert ask(Answering(Answer("Yes.", [citation], [HIT])), tmp_path).citations == (expected,)


@each(
    ("answer", "message"),
    [
        (Answer("Yes.", [0], [HIT]), "citation 1 is 0: ranks begin at 1"),
        (Answer("Yes.", [10**400], [HIT]), "no list has so many hits"),
        (Answer("Yes.", [True], [HIT]), "citation 1 is True: write the id of a hit, its rank, or a Citation"),
        (Answer("Yes.", [{"id": "a", "page": 3}], [HIT]), "citation 1 is {'id': 'a', 'page': 3}: unknown field 'page'"),
        (Answer("Yes.", [{"id": "a", "span": [5, 3]}], [HIT]), "[5, 3] is no range of bytes"),
        (Answer("Yes.", "wifi", [HIT]), "the system cites 'wifi', not a list"),
        (Answer("Yes.", ["a"] * 1001, [HIT]), "the system cites 1001 things"),
        (Answer(7, [], [HIT]), "the system answered 7"),  # type: ignore[arg-type]
        (Answer("Yes.", [], [HIT], cost=float("nan")), "the system reports nan as its cost"),
        (Answer("Yes.", [], [HIT], tokens={"input": "many"}), "the system reports {'input': 'many'} as its tokens"),  # type: ignore[dict-item]
        (Answer("Yes.", [{"id": "a", "span": [0, 2**63]}], [HIT]), "is no range of bytes"),
        (Answer("Yes.", [Citation("a", span=Span(0, 2**63))], [HIT]), "is no range of bytes"),
        (Answer("Yes.", [Citation("a", section=5)], [HIT]), "section 5 is not text"),  # type: ignore[arg-type]
        (Answer("Yes.", [], [HIT], cost=10**400), "as its cost"),
        (Answer("Yes.", [], [HIT], tokens={"input": -5}), "the system reports {'input': -5} as its tokens"),
        (Answer("Yes.", [], [HIT], tokens={"input": 10**400}), "as its tokens"),
        (Answer("Yes \ud800.", [], [HIT]), "the system's answer is not valid Unicode: character 5 is '\\ud800'"),
        (Answer("\u200b \u3164", [], [HIT]), "the system answered with an empty text"),
        (Answer("\ufe0f\u0301 ...", [], [HIT]), "the system answered with an empty text"),
        (Answer("Yes.", [], "wifi"), "the system returned 'wifi', not a list of hits"),
        ({"text": "Yes.", "hits": [], "score": 1}, "the system returned an answer with ['score']"),
    ],
)
def test_a_bad_answer_is_one_clear_error(answer: Any, message: str, tmp_path: Path) -> None:
    """It is the error of that question."""
    with pytest.raises(SystemFailed, match=re.escape(message)):
        ask(Answering(answer), tmp_path)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_no_answer_and_no_refusal(text: str, tmp_path: Path) -> None:
    """Else it would count as answered, with whatever it cites; a refusal may be without words."""
    with pytest.raises(SystemFailed, match="an empty text, and did not refuse"):
        ask(Answering(Answer(text, [1], [HIT])), tmp_path)
    assert ask(Answering(Answer(text, [], [HIT], refused=True)), tmp_path).refused
