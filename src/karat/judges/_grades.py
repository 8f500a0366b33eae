"""Grades of passages, from 0 to 3: by a model, by the words of the question, or by a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from karat.chat import NotMeasurable
from karat.core import SystemFailed, UsageError, shorten
from karat.judges._items import Item
from karat.judges._measures import Bench, Judged
from karat.judges._opinions import Finding
from karat.judges._replies import Grade
from karat.text import content, words

HIGHEST = 3
"""The highest grade: the passage answers the question."""
_STEPS = ((0.45, 3), (0.25, 2), (0.10, 1))
"""The share of the question's words from which on a passage has a grade, as the judge of agent has them."""
Pair = tuple[str, str]
"""A question and a passage, or a text and a sentence."""


def grade_by_overlap(question: str, passage: str) -> int:
    """Return a grade from 0 to 3 by the share of the question's words that the passage has; 3 if it has all in order.

    It is blind to meaning: a passage that repeats the question gets 3, and one that answers it in other words gets 0.

    >>> grade_by_overlap("Is Wi-Fi free?", "Wi-Fi is free in all rooms."), grade_by_overlap("Is Wi-Fi free?", "A pool.")
    (3, 0)
    """
    terms, phrase = _read_words(question)
    if not terms:
        return 0
    held, text = _read_words(passage)
    share = len(terms & held) / len(terms)
    if phrase in text:
        return HIGHEST
    return next((grade for least, grade in _STEPS if share >= least), 0)


@lru_cache(maxsize=256)  # a passage stands beside many questions
def _read_words(text: str) -> tuple[frozenset[str], str]:
    """Return the words of a text that carry its subject, or all if none does, and its words in their order."""
    own = words(text)
    return frozenset(content(text) or own), f" {' '.join(own)} "


def grade_by_model(bench: Bench, question: str, passage: str) -> tuple[int, str]:
    """Return a model's grade of a passage, with its reason."""
    parts = [("question", question), ("passage", passage)]
    reply = bench.model.ask(bench.prompts["grade"], parts, Grade, vote=bench.vote)
    return reply.grade, reply.reason


def judge_relevance(bench: Bench, item: Item) -> Judged:
    """Return the mean grade of the retrieved texts, by a model, as a share of the highest."""
    return _judge_texts(item, lambda text: grade_by_model(bench, item.question, text))


def judge_overlap_grade(_: Bench, item: Item) -> Judged:
    """Return the mean grade of the retrieved texts, by the words of the question, as a share of the highest."""
    return _judge_texts(item, lambda text: (grade_by_overlap(item.question, text), ""))


def _judge_texts(item: Item, grade: Callable[[str], tuple[int, str]]) -> Judged:
    if item.error:
        raise NotMeasurable("the question failed")
    findings = []
    for number, text in enumerate(item.texts, 1):
        value, reason = grade(text)
        findings.append(Finding(subject=f"text {number}", verdict=float(value), text=number, reason=reason))
    total = sum(float(finding.verdict) for finding in findings)
    return (total / (HIGHEST * len(findings)) if findings else 0.0), tuple(findings)


def score_pairs(scorer: Callable[[list[Pair]], Any], pairs: Sequence[Pair], most: float) -> list[float]:
    """Return the numbers that a user's function gives to pairs of texts; SystemFailed unless each is 0 to ``most``."""
    try:
        values = [float(value) for value in scorer(list(pairs))] if pairs else []
    except Exception as error:
        raise SystemFailed(f"the function that scores pairs of texts failed: {shorten(str(error))}") from error
    if len(values) != len(pairs):
        raise SystemFailed(f"the function that scores pairs of texts returned {len(values)} values for {len(pairs)}")
    wrong = next((value for value in values if not 0 <= value <= most), None)
    if wrong is not None:
        raise UsageError(f"the function that scores pairs of texts returned {wrong:g}; it should be 0 to {most:g}")
    return values
