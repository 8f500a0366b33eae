"""Every answer to questions of a golden set on live traffic: each different one once, with how often it was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from karat.core import GoldenSet, Judgment, Provenance, Run, Trace
from karat.online.answers._questions import GivenAnswer, index_wordings, make_trace
from karat.text import folded


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCount:
    """An answer to a question of a golden set, and how often it was given."""

    trace: Trace
    times: int


def count_answers(golden: GoldenSet, answers: Iterable[GivenAnswer]) -> tuple[AnswerCount, ...]:
    """Return all answers to questions that a golden set has, in the same words, each different one once.

    Two answers to the same wording are the same if they have the same hits and citations; their words may differ.

    >>> from karat.core import Judgment, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q", text="Wi-Fi?"),),
    ...                    judgments=(Judgment(query="q", target=Target(document="wifi"), grade=3),))
    >>> answers = [GivenAnswer(text="wi-fi?", answer=words) for words in ("Yes.", "It is free.", "")]
    >>> [count.times for count in count_answers(golden, answers)]
    [2, 1]
    """
    wordings = index_wordings(golden, frozenset())
    first: dict[Hashable, Trace] = {}
    times: Counter[Hashable] = Counter()
    repeats: Counter[tuple[str, int]] = Counter()
    for live in answers:
        place = wordings.get(folded(live.text))
        if place is None:
            continue
        key = (place, _describe(live))
        if key not in first:
            first[key] = make_trace(live, *place, repeats[place])
            repeats[place] += 1
        times[key] += 1
    return tuple(AnswerCount(trace=trace, times=times[key]) for key, trace in first.items())


def _describe(live: GivenAnswer) -> Hashable:
    """Return what measures of lists and citations read of an answer."""
    hits = tuple((hit.id, hit.document, hit.span, hit.section, hit.block) for hit in live.hits)
    return bool(live.error), live.refused, bool(live.answer), live.citations, hits


def make_counted_run(
    golden: GoldenSet, counts: Sequence[AnswerCount], name: str, *, k: int = 10
) -> tuple[GoldenSet, Run]:
    """Return a golden set and a run on it that have a question for each answer, named by its place: 0, 1 and so on.

    So all answers are scored in one table, however many there are to one question.
    """
    queries = {query.id: query for query in golden.queries}
    judgments: dict[str, list[Judgment]] = {count.trace.query: [] for count in counts}
    for judgment in golden.judgments:
        if judgment.query in judgments:
            judgments[judgment.query].append(judgment)
    own = replace(
        golden,
        queries=tuple(replace(queries[count.trace.query], id=str(place)) for place, count in enumerate(counts)),
        judgments=tuple(
            replace(judgment, query=str(place))
            for place, count in enumerate(counts)
            for judgment in judgments[count.trace.query]
        ),
    )
    traces = tuple(replace(count.trace, query=str(place), paraphrase=0, repeat=0) for place, count in enumerate(counts))
    return own, Run(provenance=Provenance(name=name, settings={"k": k}), traces=traces)
