"""Measures that a baseline lacks are computed from its stored lists, as if its run had been scored with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from each import each
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, add_measures, score_run
from karat.golden import identify

GOLDEN = GoldenSet(
    name="letters",
    documents=tuple(Document(id=f"d{i:02}", text="text") for i in range(30)),
    queries=tuple(Query(id=f"q{i}", text=f"Question {i}?", answerable=i < 6) for i in range(7)),
    judgments=tuple(
        Judgment(query=f"q{i}", target=Target(document=f"d{place:02}"), grade=1 + place % 3)
        for i in range(6)
        for place in range(i, 30, 7)
    ),
)
MEASURES = ("R@5", "P@5", "nDCG@5", "RR@5", "AP", "Success@3", "TrueEmpty", "Judged@10", "GMAP")


def scored(k: int, measures: tuple[str, ...], size: int | None = None, **settings: object) -> Evaluation:
    """Score lists of different lengths; one question fails, and one returns nothing."""
    options = {"k": k, "repeat": 1, "paraphrases": False, "sample": None, "seed": 0, **settings}
    traces = []
    for i, query in enumerate(GOLDEN.queries):
        length = {1: 0, 2: 3}.get(i, size or k)
        hits = tuple(Hit(f"d{(7 * n + i) % 30:02}", float(-n)) for n in range(length))
        traces.append(Trace(query=query.id, text=query.text, hits=() if i == 4 else hits, error="down" * (i == 4)))
    run = Run(provenance=Provenance(name="mine", golden=identify(GOLDEN), settings=options), traces=tuple(traces))
    return score_run(GOLDEN, run, measures)


def stored(evaluation: Evaluation, depth: int = 10) -> Evaluation:
    """Keep of an evaluation what a baseline's file keeps."""
    lists = {query: hits[:depth] for query, hits in evaluation.lists.items()}
    return replace(evaluation, lists=lists, depth=depth, traces=())


def test_they_are_those_of_the_run() -> None:
    """Oracle: the run, scored with these measures; every value, every reason of a missing one, and the means."""
    wanted = scored(10, ("RR@10", *MEASURES))
    more = add_measures(stored(scored(10, ("RR@10",))), GOLDEN, MEASURES)
    assert more.scores.measures == ("RR@10", *MEASURES)
    assert more.scores.queries == wanted.scores.queries
    for query in wanted.scores.queries:
        for name in wanted.scores.measures:
            assert more.scores.value(query, name) == wanted.scores.value(query, name), (query, name)
            assert more.scores.reason(query, name) == wanted.scores.reason(query, name), (query, name)
    assert more.means == pytest.approx(wanted.means, nan_ok=True)
    assert more.scores.definitions == wanted.scores.definitions


def test_a_list_that_may_be_too_short_gives_no_number() -> None:
    """Twenty hits were asked for and ten are stored: R@10 is known, R@20 and AP are not, nor what chunks decide."""
    short = stored(scored(20, ("RR@10",)))
    more = add_measures(short, GOLDEN, ("R@10", "R@20", "AP", "DupRate@10", "RR@10", "nonsense"))
    assert more.scores.measures == ("RR@10", "R@10")


@each(
    "baseline",
    [
        stored(scored(10, ("RR@10",), paraphrases=True)),
        replace(stored(scored(10, ("RR@10",))), lists={}),
        replace(stored(scored(10, ("RR@10",))), repeats=(scored(10, ("RR@10",)).scores,) * 2),
        replace(stored(scored(10, ("RR@10",))), lists={"q0": ("d00",)}),
    ],
    ids=["paraphrases", "no lists", "repeats", "some lists"],
)
def test_what_other_lists_decided_is_not_guessed(baseline: Evaluation) -> None:
    """An average over wordings or repeats, or a baseline without all lists, stays as it is."""
    assert add_measures(baseline, GOLDEN, MEASURES) is baseline


def test_nothing_to_add_is_nothing_new() -> None:
    """A baseline that has every measure is returned as it is."""
    baseline = stored(scored(10, ("RR@10", "R@5")))
    assert add_measures(baseline, GOLDEN, ("R@5",)) is baseline
