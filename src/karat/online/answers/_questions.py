"""Which questions of a golden set were asked on live traffic, and what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from karat.core import Citation, GoldenSet, Hit, Provenance, Run, Trace
from karat.text import folded

MOST_REPEATS = 5
"""How many answers to the same wording count, the first ones: a question that everybody asks is still one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """What a system returned for a question that somebody asked."""

    text: str
    """The question, as it was asked."""
    hits: tuple[Hit, ...] = ()
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    refused: bool = False
    error: str = ""
    """Why it failed; then there is nothing else."""
    latency: float | None = None
    """Milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A run on the questions of a golden set that were asked, in the wordings in which they were."""

    golden: GoldenSet
    """The set with these questions only."""
    run: Run
    total: int
    """How often questions of the set were asked."""


def make_live_run(
    golden: GoldenSet, answers: Iterable[GivenAnswer], name: str, *, k: int = 10, unanswerable: bool = False
) -> LiveRun | None:
    """Return the answers to questions that a golden set has, in the same words, as a run; None if there are none.

    ``k`` is how many hits were asked for. Answers to one wording are its repeats, in their order, up to
    ``MOST_REPEATS``. Questions without a judgment and without an anchor, of which nobody knows what answers them, are
    left out; so are those without an answer, unless ``unanswerable`` lets them in.

    >>> from karat.core import Judgment, Query, Target
    >>> golden = GoldenSet(queries=(Query(id="q", text="Wi-Fi?", paraphrases=("Is there Wi-Fi?",)),),
    ...                    judgments=(Judgment(query="q", target=Target(document="wifi"), grade=3),))
    >>> live = make_live_run(golden, [GivenAnswer(text="is there wi-fi?"), GivenAnswer(text="pool?")], "live")
    >>> [(trace.query, trace.paraphrase, trace.repeat) for trace in live.run.traces]
    [('q', 1, 0)]
    """
    wordings = index_wordings(golden, golden.unanswerable if unanswerable else frozenset())
    repeats: Counter[tuple[str, int]] = Counter()
    traces = []
    for live in answers:
        place = wordings.get(folded(live.text))
        if place is None:
            continue
        repeats[place] += 1
        if repeats[place] <= MOST_REPEATS:
            traces.append(make_trace(live, *place, repeats[place] - 1))
    if not traces:
        return None
    names = {trace.query for trace in traces}
    own = replace(
        golden,
        queries=tuple(query for query in golden.queries if query.id in names),
        judgments=tuple(judgment for judgment in golden.judgments if judgment.query in names),
    )
    run = Run(provenance=Provenance(name=name, settings={"k": k}), traces=tuple(traces))
    return LiveRun(golden=own, run=run, total=repeats.total())


def index_wordings(golden: GoldenSet, unanswerable: frozenset[str]) -> dict[str, tuple[str, int]]:
    """Return for each folded wording its query and its number; of equal wordings the first one counts."""
    judged = {query for query, grades in golden.qrels().items() if grades} | unanswerable
    wordings: dict[str, tuple[str, int]] = {}
    for query in golden.queries:
        if query.id in judged or query.anchors:
            for number, form in enumerate((query.text, *query.paraphrases)):
                wordings.setdefault(folded(form), (query.id, number))
    return wordings


def make_trace(live: GivenAnswer, query: str, paraphrase: int, repeat: int) -> Trace:
    """Return an answer as one to a question of a golden set."""
    timings = {} if live.latency is None else {"total": live.latency}
    if live.error:
        return Trace(
            query=query, text=live.text, error=live.error, paraphrase=paraphrase, repeat=repeat, timings=timings
        )
    return Trace(
        query=query,
        text=live.text,
        hits=live.hits,
        timings=timings,
        paraphrase=paraphrase,
        repeat=repeat,
        answer=live.answer,
        citations=live.citations,
        refused=live.refused,
    )
