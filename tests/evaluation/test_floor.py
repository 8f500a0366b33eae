"""The lexical floor: by hand, and what a run does not tell."""

from __future__ import annotations

from typing import Any

import pytest

from karat.core import GoldenSet, Hit, Judgment, Place, Provenance, Query, Run, Stage, Target, Trace
from karat.evaluation import find_floor, score_run
from karat.schema import FloorRatio, LexicalFloor

GOLDEN = GoldenSet(
    queries=(Query(id="q1", text="pool?"), Query(id="q2", text="wifi?")),
    judgments=tuple(
        Judgment(query=query, target=Target(document=document), grade=3)
        for query, document in (("q1", "a"), ("q2", "b"), ("q2", "c"))
    ),
)


def answer(query: str, documents: str, words: str | None, channel: str = "lexical", **more: Any) -> Trace:
    def rank(ids: str) -> tuple[Hit, ...]:
        return tuple(Hit(id_, float(len(ids) - place)) for place, id_ in enumerate(ids))

    stages = () if words is None else (Stage(name="candidate", channel=channel, hits=rank(words)),)
    return Trace(query=query, text="?", hits=rank(documents), stages=stages, **more)


def find(*traces: Trace, measures: tuple[str, ...] = ("RR@10", "R@2", "DupRate@10")) -> LexicalFloor:
    run = Run(provenance=Provenance(name="mine"), traces=traces)
    return find_floor(score_run(GOLDEN, run, measures), GOLDEN)


@pytest.mark.parametrize("channel", ["lexical", "BM25", "fts5"])
def test_by_hand(channel: str) -> None:
    """Words have a second (1/2) and c first (1), and a and one of b and c in two; the rate of copies is no score."""
    floor = find(answer("q1", "ax", "xa", channel), answer("q2", "bc", "cy", channel))
    assert floor == LexicalFloor(
        queries=2,
        note="",
        measures=(
            FloorRatio(measure="RR@10", floor=0.75, full=1.0, ratio=0.75, advice="RATIONALIZE"),
            FloorRatio(measure="R@2", floor=0.75, full=1.0, ratio=0.75, advice="RATIONALIZE"),
        ),
    )


def test_a_failed_query_is_the_worst_in_both() -> None:
    """So that words alone do not look better for it."""
    floor = find(answer("q1", "ax", "ax"), answer("q2", "", None, error="down"), measures=("RR@10",))
    assert (floor.queries, floor.measures[0].floor, floor.measures[0].full) == (2, 0.5, 0.5)


def test_queries_without_the_channel_are_left_out_of_both_means() -> None:
    """Counted as nothing found, they would make words look worse than they are."""
    floor = find(answer("q1", "xa", "ax"), answer("q2", "bc", None), measures=("RR@10",))
    assert (floor.queries, floor.measures[0].floor, floor.measures[0].full) == (1, 1.0, 0.5)
    cut = Stage(name="candidate", channel="lexical", outputs=9, hits=(Hit("b", 1.0),))
    shorter = Trace(query="q2", text="?", hits=(Hit("b", 2.0), Hit("c", 1.0)), stages=(cut,))
    assert find(answer("q1", "xa", "ax"), shorter).queries == 1  # recorded less far than the answer


def test_only_the_original_wording_is_compared() -> None:
    """A paraphrase changes the mean of the run, and not what words are compared with."""
    reworded = answer("q1", "xa", "xa", paraphrase=1)
    floor = find(answer("q1", "ax", "xa"), answer("q2", "bc", "bc"), reworded, measures=("RR@10",))
    assert (floor.measures[0].floor, floor.measures[0].full) == (0.75, 1.0)


def test_what_a_run_does_not_tell_is_said() -> None:
    """No stages at all, no lexical one among them, or nothing but words."""
    assert find(answer("q1", "ax", None), answer("q2", "bc", None)).note == "no lexical channel recorded"
    assert find(answer("q1", "ax", "xa", "dense"), answer("q2", "bc", "c", "dense")).measures == ()
    words = Trace(query="q1", text="?", hits=(Hit("a", 1.0, channels={"lexical": Place(1, 1.0)}),))
    assert find(words).note == "the lexical channel is the only one"
    nothing = find(answer("q1", "xa", "a"), answer("q2", "xb", "b"), measures=("P@1",)).measures[0]
    assert (nothing.ratio, nothing.advice) == (None, "")
