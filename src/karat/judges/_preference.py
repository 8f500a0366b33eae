"""Which of two answers is better, asked in both orders: a judge that prefers a place prefers no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from karat.chat import NotMeasurable
from karat.judges._items import Item
from karat.judges._measures import Bench, Judged
from karat.judges._replies import Preference


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """A question, and two answers to it."""

    query: str
    question: str
    answers: tuple[str, str]
    reference: str = ""
    paraphrase: int = 0
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferred:
    """Which answer of a duel is better."""

    query: str
    value: float | None
    """1 for the first answer, -1 for the second, 0 for neither; None if that is not known."""
    steady: bool = True
    """Whether both orders gave the same answer. If they did not, neither is preferred."""
    places: tuple[str, ...] = ()
    """What was said in either order: first, second or neither."""
    reasons: tuple[str, ...] = ()


def prefer(bench: Bench, duel: Duel) -> Preferred:
    """Return which answer is better. Equal answers are not asked about."""
    first, second = duel.answers
    if not first.strip() or not second.strip():
        raise NotMeasurable("no answer recorded")
    if first == second:
        return Preferred(query=duel.query, value=0.0, reasons=("the answers are equal",))
    replies = [_ask(bench, duel, (first, second)), _ask(bench, duel, (second, first))]
    votes = [_read_vote(replies[0].better), -_read_vote(replies[1].better)]
    return Preferred(
        query=duel.query,
        value=float(votes[0]) if votes[0] == votes[1] else 0.0,
        steady=votes[0] == votes[1],
        places=tuple(reply.better for reply in replies),
        reasons=tuple(reply.reason for reply in replies),
    )


def judge_preference(bench: Bench, item: Item) -> Judged:
    """Return 1 if the answer is better than the reference, 0 if it is worse, 0.5 if neither, asked in both orders."""
    duel = Duel(query=item.query, question=item.question, answers=(item.answer, item.reference))
    return ((prefer(bench, duel).value or 0.0) + 1) / 2, ()


def _ask(bench: Bench, duel: Duel, answers: Sequence[str]) -> Preference:
    parts = [("question", duel.question)]
    parts += [("reference", duel.reference)] if duel.reference else []
    parts += [("first", answers[0]), ("second", answers[1])]
    return bench.model.ask(bench.prompts["preference"], parts, Preference, vote=bench.vote)


def _read_vote(better: str) -> int:
    return {"first": 1, "second": -1}.get(better, 0)
