"""Measures of refusals: right where the documents have no answer, and wrong where they have one."""

from __future__ import annotations

from karat.measures._cited import NO_ANSWER, is_answered, lacks_answers
from karat.measures._evidence import Case, trace_measure
from karat.measures._measure import ANSWERABLE


@trace_measure("RightRefusal", aliases=("true_refusal",), cutoff="none", undefined=ANSWERABLE, queries="unanswerable")
def right_refusal(case: Case, k: None) -> float | str:
    """Right refusal: whether a question that the documents cannot answer was refused.

    Formula: RightRefusal = 1 if the answer was refused, else 0
    Range: 0 or 1
    Convention: only for queries that the golden set calls unanswerable; a question that failed counts 0, because a
        failure is no refusal; undefined where the system does not answer
    Citation: Rajpurkar, Jia and Liang, Know What You Don't Know: Unanswerable Questions for SQuAD, 2018

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?", answerable=False),))
    >>> trace = Trace(query="q", text="?", refused=True)
    >>> score_hits(golden, {"q": ()}, ["RightRefusal"], traces={"q": trace}).mean()
    {'RightRefusal': 1.0}
    """
    return NO_ANSWER if lacks_answers(case) else float(case.trace.refused)


@trace_measure("WrongRefusal", aliases=("false_refusal",), cutoff="none", undefined=NO_ANSWER, higher_is_better=False)
def wrong_refusal(case: Case, k: None) -> float | str:
    """Wrong refusal: whether a question that the documents answer was not answered.

    Formula: WrongRefusal = 1 if the answer was refused, or the question failed, else 0
    Range: 0 or 1, lower is better
    Convention: only for queries that have an answer; undefined where the system does not answer
    Citation: Rajpurkar, Jia and Liang, Know What You Don't Know: Unanswerable Questions for SQuAD, 2018

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"), Query(id="r", text="?")))
    >>> traces = {"q": Trace(query="q", text="?", refused=True), "r": Trace(query="r", text="?", answer="Yes.")}
    >>> score_hits(golden, {"q": (), "r": ()}, ["WrongRefusal"], traces=traces).mean()
    {'WrongRefusal': 0.5}
    """
    return NO_ANSWER if lacks_answers(case) else float(not is_answered(case))
