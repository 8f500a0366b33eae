"""Judges without a model and without a network: by words, and by vectors. They are named for what they measure."""

from __future__ import annotations

from karat.chat import NotMeasurable
from karat.core import UsageError
from karat.judges._claims import require_answer, require_reference
from karat.judges._grades import score_pairs
from karat.judges._items import Item
from karat.judges._lexical import Source
from karat.judges._measures import Bench, Judged
from karat.judges._opinions import Finding
from karat.text import sentences


def judge_lexical_support(_: Bench, item: Item) -> Judged:
    """Return how far the words of the answer are in its texts: the mean over its sentences, each in its best text."""
    lines = sentences(require_answer(item))
    if not lines:
        raise NotMeasurable("the answer has no words")
    sources = [Source(text) for text in item.texts]
    findings = []
    for line in lines:
        supports = [(source.support(line), number) for number, source in enumerate(sources, 1)]
        best, number = max(supports, key=lambda pair: pair[0].value, default=(None, 0))
        missing = () if best is None else (*best.missing_numbers, *best.missing_names)
        reason = f"not in the text: {', '.join(missing)}" if missing else ""
        findings.append(
            Finding(subject=line, verdict=best.value if best is not None else 0.0, text=number, reason=reason)
        )
    return sum(float(finding.verdict) for finding in findings) / len(findings), tuple(findings)


def judge_entailment(bench: Bench, item: Item) -> Judged:
    """Return how far the texts entail the answer, by a function of the user: each sentence in its best text."""
    lines = sentences(require_answer(item))
    if not lines:
        raise NotMeasurable("the answer has no words")
    if bench.entails is None:
        raise UsageError("entailment needs a model of yours; name a function in [judges], as entails = 'mine:entails'")
    pairs = [(text, line) for line in lines for text in item.texts]
    values = score_pairs(bench.entails, pairs, 1.0)
    count, findings = len(item.texts), []
    for place, line in enumerate(lines):
        own = values[place * count : (place + 1) * count]
        best = max(range(count), key=own.__getitem__, default=-1)
        findings.append(Finding(subject=line, verdict=own[best] if own else 0.0, text=best + 1))
    return sum(float(finding.verdict) for finding in findings) / len(findings), tuple(findings)


def judge_answer_similarity(bench: Bench, item: Item) -> Judged:
    """Return the cosine of the answer and the reference answer; 0 if it is negative."""
    answer, reference = require_answer(item), require_reference(item)
    if bench.embed is None:
        raise NotMeasurable("answer similarity needs an embedder")
    vectors = bench.embed([answer, reference])
    return min(max(float(vectors[0] @ vectors[1]), 0.0), 1.0), ()
