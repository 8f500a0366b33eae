"""Measures of stability: whether the answers to one question agree, in all of its wordings and repeats.

A measure looks at all answers to a question at once, so that it has the same value in each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from karat.core import GoldenSet, Parameter, Target, Trace
from karat.measures._citations import cite_coverage
from karat.measures._cited import NO_ANSWER, NO_GOLD, is_answered, lacks_answers, list_citations
from karat.measures._evidence import Case, Evidence, trace_measure
from karat.measures._measure import REL

ASKED_ONCE = "the question was asked once"
ASKED_LESS = "the question was asked in fewer wordings or repeats"
State = Literal["convergent", "split", "divergent", "chaotic"]
STATES: tuple[State, ...] = get_args(State)
_WORDINGS = Parameter(name="wordings", kind="int", default=3, low=1, help="in how many wordings it has to be asked")
_REPEATS = Parameter(name="repeats", kind="int", default=2, low=1, help="how often each wording has to be asked")
_AGREE = Parameter(
    name="agree", kind="float", default=0.7, low=0, high=1, help="the CiteStability from which on citations agree"
)


@trace_measure("CiteStability", aliases=("citation_stability", "css"), cutoff="none", undefined=ASKED_ONCE)
def cite_stability(case: Case, k: None) -> float | str:
    """Citation stability: how far the answers to one question cite the same, in all of its wordings and repeats.

    Formula: CiteStability = |parts that every answer cites| / |parts that any answer cites|
    Range: 0 to 1
    Convention: a citation counts as its block, or else as its section, or else as its document; an answer that was
        refused or cites nothing makes it 0, unless all are like that: then they agree, and it is 1; 0 if the question
        failed in any of them; undefined for a question that was asked once, and where the system does not answer
    Citation: blocks, CSS; Jaccard, The distribution of the flora in the alpine zone, 1912

    >>> from karat.core import Citation, GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> first = Trace(query="q", text="?", answer="Free.", citations=(Citation("wifi"), Citation("desk")))
    >>> second = Trace(query="q", text="Is it?", paraphrase=1, answer="Yes.", citations=(Citation("wifi"),))
    >>> golden, traces = GoldenSet(queries=(Query(id="q", text="?", paraphrases=("Is it?",)),)), {"q": (first, second)}
    >>> score_hits(golden, {"q": ()}, ["CiteStability"], traces={"q": first}, variants=traces).mean()
    {'CiteStability': 0.5}
    """
    answers = case.evidence.ask_all(case.query)
    if len(answers) < 2:
        return ASKED_ONCE
    if all(map(lacks_answers, answers)):
        return NO_ANSWER
    return 0.0 if any(answer.trace.error for answer in answers) else _compare_citations(answers)


@trace_measure(
    "Lambda", REL, _WORDINGS, _REPEATS, _AGREE, aliases=("lambda_convergent",), cutoff="none", undefined=ASKED_ONCE,
    independent=False,
)  # fmt: skip
def lambda_convergent(case: Case, k: None, *, rel: int, wordings: int, repeats: int, agree: float) -> float | str:
    """Lambda: whether a question converges: every answer to it cites what is relevant, and all cite the same.

    Formula: Lambda = 1 if CiteCoverage is 1 for each wording and repeat, and CiteStability at least ``agree``, else 0
    Range: 0 or 1
    Convention: the state of a question is convergent if so, split if some answers cite what is relevant, divergent if
        none does and all cite the same or nothing, and chaotic if none does and they differ; undefined for a question
        that was asked in fewer wordings or repeats
    Citation: blocks, lambda over three paraphrases and two seeds, which names the states and has no formula

    >>> from karat.core import Citation, GoldenSet, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> first = Trace(query="q", text="?", answer="Free.", citations=(Citation("wifi"),))
    >>> second = Trace(query="q", text="Is it?", paraphrase=1, answer="No.", citations=(Citation("pool"),))
    >>> golden = GoldenSet(queries=(Query(id="q", text="?", paraphrases=("Is it?",)),),
    ...                    judgments=(Judgment(query="q", target=Target(document="wifi"), grade=3),))
    >>> name, traces = "Lambda(wordings=2, repeats=1)", {"q": (first, second)}
    >>> score_hits(golden, {"q": ()}, [name], traces={"q": first}, variants=traces).mean()
    {'Lambda(wordings=2,repeats=1)': 0.0}
    """
    answers = case.evidence.ask_all(case.query)
    times: dict[int, int] = {}
    for answer in answers:
        times[answer.trace.paraphrase] = times.get(answer.trace.paraphrase, 0) + 1
    if not times:
        return ASKED_ONCE
    if len(times) < wordings or min(times.values()) < repeats:
        return ASKED_LESS
    state = observe(answers, rel=rel, agree=agree)
    return float(state == "convergent") if state in STATES else state


def observe_traces(golden: GoldenSet, traces: Iterable[Trace]) -> dict[str, str]:
    """Return the state of each question by all of its traces, or why it has none."""
    variants: dict[str, list[Trace]] = {}
    for trace in traces:
        variants.setdefault(trace.query, []).append(trace)
    evidence = Evidence(golden=golden, traces={}, variants=variants)
    return {
        query: observe(evidence.ask_all(query), rel=golden.relevant) if len(own) > 1 else ASKED_ONCE
        for query, own in variants.items()
    }


def observe(answers: Sequence[Case], *, rel: int, agree: float = 0.7) -> State | str:
    """Return the state of a question by all answers to it, or why it has none."""
    if not answers:
        return ASKED_ONCE
    if all(map(lacks_answers, answers)):
        return NO_ANSWER
    hits = [_covers(answer, rel) for answer in answers]
    if None in hits:
        return NO_GOLD
    agrees = _compare_citations(answers) >= agree
    if any(hits):
        return "convergent" if all(hits) and agrees else "split"
    return "divergent" if agrees else "chaotic"


def _covers(answer: Case, rel: int) -> bool | None:
    """Return whether an answer cites what is relevant; None if the golden set does not say what is."""
    covered = cite_coverage(answer, None, rel=rel, first=False)
    return None if covered == NO_GOLD else covered == 1.0


def _compare_citations(answers: Sequence[Case]) -> float:
    """Return the share of what any answer cites that all of them cite; 1 if none cites anything."""
    cited = [frozenset(_name(answer, part) for part in _list_parts(answer)) for answer in answers]
    either = frozenset[tuple[str, str]]().union(*cited)
    return len(frozenset.intersection(*cited)) / len(either) if either else 1.0


def _list_parts(answer: Case) -> list[Target]:
    return list_citations(answer) if is_answered(answer) else []


def _name(answer: Case, part: Target) -> tuple[str, str]:
    return part.document, part.block or answer.evidence.section(part)
