"""Measures beside a judge's: what people say of the same answers, and how far the judge contradicts itself.

They are computed where labels or votes exist, kept in baselines, and tell the gate how far the judge can be trusted.
"""

from __future__ import annotations

from karat.core import Measure, Parameter
from karat.measures._evidence import Case, trace_measure
from karat.measures._judged import JUDGED

NO_LABEL = "no label"
LAPSED = "the answer has changed since it was labelled"
ONE_VOTE = "fewer than two votes"
_NAME = Parameter(name="name", kind="str", default="", help="the name of the judge")


def name_judge(measure: str) -> str:
    """Return the judge whose opinions a measure is; empty for any other measure.

    >>> name_judge("Faithfulness"), name_judge("Rubric(name='tone')"), name_judge("RR@10")
    ('faithfulness', 'tone', '')
    """
    parsed = Measure.parse(measure)
    if parsed.name not in JUDGED:
        return ""
    return str(dict(parsed.params).get("name", "")) or parsed.definition.aliases[0]


@trace_measure(
    "PeopleLabel", _NAME, aliases=("people_label",), cutoff="none", undefined=NO_LABEL, higher_is_better=None
)
def people_label(case: Case, k: None, *, name: str) -> float | str:
    """People's label: what people say of the answer that a judge scored.

    Formula: the lower median of the labels of the answer, from 0 to 1
    Range: 0 to 1, as far as labels go
    Convention: undefined for an answer without a label, and for one that has changed since it was labelled; a labelled
        question that failed has 0
    Citation: Angelopoulos et al., Prediction-powered inference, 2023

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"people:faithfulness": 1.0})
    >>> score_hits(golden, {"q": ()}, ["PeopleLabel(name='faithfulness')"], traces={"q": trace}).mean()
    {"PeopleLabel(name='faithfulness')": 1.0}
    """
    return case.trace.opinions.get(f"people:{name}", NO_LABEL)


@trace_measure("JudgeNoise", _NAME, aliases=("judge_noise",), cutoff="none", undefined=ONE_VOTE, higher_is_better=None)
def judge_noise(case: Case, k: None, *, name: str) -> float | str:
    """Judge noise: the variance of a judge's score of an answer, from how far its votes differ.

    Formula: variance of the votes / number of votes
    Range: 0 to 1
    Convention: undefined with fewer than two votes
    Citation: the variance of a mean

    >>> from karat.core import GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", opinions={"noise:faithfulness": 0.125})
    >>> score_hits(golden, {"q": ()}, ["JudgeNoise(name='faithfulness')"], traces={"q": trace}).mean()
    {"JudgeNoise(name='faithfulness')": 0.125}
    """
    return case.trace.opinions.get(f"noise:{name}", ONE_VOTE)
