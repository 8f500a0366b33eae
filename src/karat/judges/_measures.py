"""The judges: each a function of an item that returns a value from 0 to 1 with its findings, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karat.chat import Dialogue, NotMeasurable, Prompt
from karat.core import UsageError
from karat.judges._claims import ClaimJudge, check_numbers, require_answer, require_reference
from karat.judges._items import Item
from karat.judges._opinions import Finding
from karat.judges._replies import ChunkVerdicts, Questions, Refusal

Judged = tuple[float, tuple[Finding, ...]]
Embed = Callable[[Sequence[str]], "np.typing.NDArray[np.float32]"]
"""Returns a row of length 1 for each text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the judges of a run share: whom to ask, the prompts, the embedder, and the number of the vote."""

    asker: Dialogue | None = None
    """None if all judges are offline."""
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    embed: Embed | None = None
    entails: Callable[[list[tuple[str, str]]], Any] | None = None
    """A function of the user that says how far texts entail sentences, from 0 to 1."""
    vote: int = 0
    questions: int = 3
    """How many questions answer relevance makes."""

    @property
    def model(self) -> Dialogue:
        """Whom to ask."""
        if self.asker is None:
            raise UsageError("this judge asks a model; name one in [judges], with url and model")
        return self.asker

    @property
    def claims(self) -> ClaimJudge:
        """The judge of claims."""
        return ClaimJudge(self.model, self.prompts["claims"], self.prompts["support"], self.vote)


def judge_faithfulness(bench: Bench, item: Item) -> Judged:
    """Return the share of the answer's claims that its texts support."""
    answer = require_answer(item)
    claims = bench.claims.extract(answer, item.question)
    if not claims:
        raise NotMeasurable("the answer makes no claim")
    return _share(bench.claims.decide(claims, item.texts))


def judge_context_recall(bench: Bench, item: Item) -> Judged:
    """Return the share of the reference answer's claims that the texts support."""
    claims = bench.claims.extract(require_reference(item), item.question)
    if not claims:
        raise NotMeasurable("the reference answer makes no claim")
    return _share(bench.claims.decide(claims, item.texts))


def judge_context_precision(bench: Bench, item: Item) -> Judged:
    """Return the average precision of the texts, in their order; those that help to reach the reference count."""
    return _judge_texts(bench, item, require_reference(item))


def judge_context_precision_without_reference(bench: Bench, item: Item) -> Judged:
    """Return the same, held against the answer that was given: high if the answer came from the first texts."""
    return _judge_texts(bench, item, require_answer(item))


def _judge_texts(bench: Bench, item: Item, answer: str) -> Judged:
    useful = _decide_useful(bench, item, answer)
    return average_precision([bool(finding.verdict) for finding in useful]), tuple(useful)


def _decide_useful(bench: Bench, item: Item, answer: str) -> list[Finding]:
    if item.error:
        raise NotMeasurable("the question failed")
    if not item.texts:
        return []
    parts = [("question", item.question), ("answer", answer)]
    parts += [(f"text {number}", text) for number, text in enumerate(item.texts, 1)]

    def check(reply: ChunkVerdicts) -> str:
        return check_numbers([verdict.chunk for verdict in reply.verdicts], len(item.texts), "text")

    reply = bench.model.ask(bench.prompts["useful"], parts, ChunkVerdicts, vote=bench.vote, check=check)
    verdicts = sorted(reply.verdicts, key=lambda verdict: verdict.chunk)
    return [
        Finding(subject=f"text {verdict.chunk}", verdict=verdict.useful, text=verdict.chunk, reason=verdict.reason)
        for verdict in verdicts
    ]


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of the precision at each useful text; 0 if none is.

    >>> round(average_precision([True, False, True]), 4)
    0.8333
    """
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    return sum(count / rank for count, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def judge_answer_relevance(bench: Bench, item: Item) -> Judged:
    """Return how like the question those questions are that the answer answers: their mean cosine, 0 if negative."""
    answer = require_answer(item)
    if bench.embed is None:
        raise NotMeasurable("answer relevance needs an embedder")
    count = bench.questions

    def check(reply: Questions) -> str:
        return "" if len(reply.questions) == count else f"there should be {count} questions"

    parts = [("answer", answer), ("count", str(count))]
    reply = bench.model.ask(bench.prompts["questions"], parts, Questions, vote=bench.vote, check=check)
    vectors = bench.embed([item.question, *reply.questions])
    likeness = [float(value) for value in vectors[1:] @ vectors[0]]
    findings = [
        Finding(subject=question, verdict=value) for question, value in zip(reply.questions, likeness, strict=True)
    ]  # fmt: skip
    return min(max(sum(likeness) / count, 0.0), 1.0), tuple(findings)


def judge_answer_precision(bench: Bench, item: Item) -> Judged:
    """Return the share of the answer's claims that the reference supports."""
    claims = bench.claims.extract(require_answer(item), item.question)
    if not claims:
        raise NotMeasurable("the answer makes no claim")
    return _share(bench.claims.decide(claims, [require_reference(item)]))


def judge_answer_recall(bench: Bench, item: Item) -> Judged:
    """Return the share of the reference's claims that the answer supports."""
    claims = bench.claims.extract(require_reference(item), item.question)
    if not claims:
        raise NotMeasurable("the reference answer makes no claim")
    return _share(bench.claims.decide(claims, [require_answer(item)]))


def judge_answer_correctness(bench: Bench, item: Item) -> Judged:
    """Return the harmonic mean of answer precision and answer recall, each a share of its own claims."""
    require_reference(item)
    precision, claimed = judge_answer_precision(bench, item)
    recall, expected = judge_answer_recall(bench, item)
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return value, (*claimed, *expected)


def judge_noise_sensitivity(bench: Bench, item: Item) -> Judged:
    """Return the share of the answer's claims that are wrong and from a text that does not help; less is better."""
    answer, reference = require_answer(item), require_reference(item)
    claims = bench.claims.extract(answer, item.question)
    if not claims:
        raise NotMeasurable("the answer makes no claim")
    right = bench.claims.decide(claims, [reference])
    sources = bench.claims.decide(claims, item.texts)
    useful = {finding.text for finding in _decide_useful(bench, item, reference) if finding.verdict}
    findings = [
        Finding(subject=source.subject, verdict=is_misled, text=source.text, quote=source.quote, reason=source.reason)
        for truth, source in zip(right, sources, strict=True)
        for is_misled in (not truth.verdict and bool(source.verdict) and source.text not in useful,)
    ]
    return _share(findings)


def judge_refusal(bench: Bench, item: Item) -> Judged:
    """Return 1 if a question without an answer was refused and one with an answer was not, else 0."""
    if item.error:
        raise NotMeasurable("the question failed")
    if item.refused or not item.answer.strip():
        if not item.refused:
            raise NotMeasurable("no answer recorded")
        refused, reason = True, "the system says that it refused"
    else:
        parts = [("question", item.question), ("answer", item.answer)]
        reply = bench.model.ask(bench.prompts["refusal"], parts, Refusal, vote=bench.vote)
        refused, reason = reply.refused, reply.reason
    finding = Finding(subject="the answer declines", verdict=refused, reason=reason)
    return float(refused != item.answerable), (finding,)


def _share(findings: Sequence[Finding]) -> Judged:
    return sum(bool(finding.verdict) for finding in findings) / len(findings), tuple(findings)
