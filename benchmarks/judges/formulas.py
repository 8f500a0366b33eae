"""The same verdicts in the formulas of karat and of ragas, each by its own code; nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

CASES = (
    "context precision, both of two texts help",
    "context precision, texts 2 and 3 of three help",
    "answer correctness, one claim that says two of three reference claims",
    "answer correctness, two of three claims right, both reference claims said",
    "noise sensitivity, one of three claims wrong, from a text that does not help",
)
"""What stands in the first column, in the order of the values."""


def compute_karat() -> list[float]:
    """Return the values of karat's judges, whose model says what a case says."""
    from karat.judges import JUDGES, Bench, Item, load_prompts

    def judge(name: str, *replies: Any, texts: int = 3) -> float:
        bench = Bench(asker=_make_script(replies), prompts=load_prompts())
        item = Item(query="q", question="?", answer="words", reference="words", texts=("words",) * texts)
        return float(JUDGES[name].function(bench, item)[0])

    return [
        judge("context_precision", _tell_useful(1, 1), texts=2),
        judge("context_precision", _tell_useful(0, 1, 1)),
        judge("answer_correctness", _claim(1), _decide(1), _claim(3), _decide(1, 1, 0)),
        judge("answer_correctness", _claim(3), _decide(1, 1, 0), _claim(2), _decide(1, 1)),
        judge("noise_sensitivity", _claim(3), _decide(1, 1, 0), _decide(2, 2, 1), _tell_useful(0, 1, 1)),
    ]


def compute_ragas() -> list[float]:
    """Return the values of ragas, by the methods of its metrics that turn verdicts into a score."""
    import numpy as np
    from ragas.metrics.collections import AnswerCorrectness, ContextPrecision, NoiseSensitivity
    from ragas.metrics.collections.answer_correctness.util import ClassificationWithReason, StatementsWithReason

    def bare(metric: type[Any], **fields: Any) -> Any:
        made = object.__new__(metric)  # its constructor wants a model
        made.__dict__.update(fields)
        return made

    def correctness(right: int, wrong: int, missing: int) -> float:
        many = [[StatementsWithReason(statement="s", reason="r")] * count for count in (right, wrong, missing)]
        classified = ClassificationWithReason(TP=many[0], FP=many[1], FN=many[2])
        return float(bare(AnswerCorrectness, beta=1.0)._compute_f1_score(classified))

    precision = bare(ContextPrecision)
    noise = {
        "ground_truth2answer": np.array([True, True, False]),
        "retrieved2ground_truth": np.array([[False, True, True]]),
        "retrieved2answer": np.array([[False, True, False], [False, True, False], [True, False, False]]),
    }
    return [
        float(precision._calculate_average_precision([1, 1])),
        float(precision._calculate_average_precision([0, 1, 1])),
        correctness(1, 0, 1),  # what is right is counted in claims of the answer, what is missing in the reference's
        correctness(2, 1, 0),
        float(bare(NoiseSensitivity, mode="irrelevant")._compute_score(noise)),
    ]


def _make_script(replies: Sequence[dict[str, Any]]) -> Any:
    """Return a model that gives these replies, one after the other."""
    from karat.chat import Completion
    from karat.judges import Dialogue

    left = iter(replies)

    class Script(Dialogue):
        def _complete(self, *_: Any) -> Completion:
            return Completion(json.dumps(next(left)), None)

    return Script()


def _claim(count: int) -> dict[str, Any]:
    return {"claims": [f"claim {number}" for number in range(count)]}


def _decide(*places: int) -> dict[str, Any]:
    """Return verdicts on claims: the text that supports each, or 0."""
    return {
        "verdicts": [
            {"claim": i, "supported": bool(place), "chunk": place, "quote": "words" * bool(place), "reason": ""}
            for i, place in enumerate(places, 1)
        ]
    }


def _tell_useful(*marks: int) -> dict[str, Any]:
    return {"verdicts": [{"chunk": i, "useful": bool(mark), "reason": ""} for i, mark in enumerate(marks, 1)]}
