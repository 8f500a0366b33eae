"""Texts in a gate: those that are not in their documents fail, and those that nobody knows count as worst."""

from __future__ import annotations

import pytest

from each import each
from karat import golden
from karat.core import (
    Citation,
    Document,
    GoldenSet,
    Hit,
    Judgment,
    Provenance,
    Query,
    Run,
    Span,
    Target,
    Trace,
    UsageError,
)
from karat.evaluation import Evaluation, score_run
from karat.gate import Check, Policy, Rule, compare_document, decide, find_caveats
from karat.gate._operations import Operations

BYTES = "CitePrecision(unit='bytes')"
FLOOR = Policy(rules=(Rule(metric="RR@10", min=0.5),))


def make_set(size: int) -> GoldenSet:
    return GoldenSet(
        name="facts",
        documents=tuple(Document(id=f"d{i}", text=f"Fact {i} is true.") for i in range(size)),
        queries=tuple(Query(id=f"q{i}", text=f"Is fact {i} true?") for i in range(size)),
        judgments=tuple(
            Judgment(query=f"q{i}", target=Target(document=f"d{i}", span=Span(0, 16)), grade=3) for i in range(size)
        ),
    )


def evaluate(*traces: Trace, measures: tuple[str, ...] = ("RR@10",)) -> Evaluation:
    own = make_set(len({trace.query for trace in traces}))
    provenance = Provenance(name="mine", golden=golden.identify(own), settings={"k": 10, "sample": None})
    return score_run(own, Run(provenance=provenance, traces=traces), measures)


def trace(number: int, content: str, answer: str = "Yes.") -> Trace:
    hit = Hit(f"d{number}", 1.0, content=content, span=Span(0, 16))
    return Trace(query=f"q{number}", text="?", hits=(hit,), answer=answer, timings={"total": 1.0})


def make_run(size: int, foreign: int, answer: str = "Yes.") -> Evaluation:
    """Return a run in which the first queries have a text of the system's own under the id of a document."""
    return evaluate(*(trace(i, "I say so." if i < foreign else f"Fact  {i} is true.", answer) for i in range(size)))


def find_texts(run: Evaluation, baseline: Evaluation | None = None, policy: Policy = FLOOR) -> list[Check]:
    return [check for check in decide(run, baseline, policy).checks if check.kind == "texts"]


@each(("size", "foreign", "expected"), [(30, 1, "pass"), (30, 2, "fail"), (100, 2, "pass"), (100, 3, "fail")])
def test_texts_of_no_document_fail(size: int, foreign: int, expected: str) -> None:
    """By hand: max(1, 2 %) of the queries are 1 of 30 and 2 of 100. A baseline that does the same excuses nothing."""
    run = make_run(size, foreign)
    for baseline in (None, run):
        (check,) = find_texts(run, baseline)
        assert (check.outcome.value, check.current, check.n) == (expected, foreign, size)
    assert decide(run, None, FLOOR).outcome.value == expected
    assert check.reason.startswith(f"{foreign} of {size} queries have ")


def test_texts_are_checked_where_something_rests_on_them() -> None:
    """Of retrieval alone the ids count, and a rule that is switched off is told."""
    assert find_texts(make_run(4, 0)) == []
    assert find_texts(make_run(4, 4, answer="")) == []
    assert [check.outcome.value for check in find_texts(make_run(4, 4))] == ["fail"]
    off = Policy(rules=FLOOR.rules, operations=Operations(texts=None))
    decision = decide(make_run(4, 4), None, off)
    assert decision.outcome.value == "pass"
    caveats = find_caveats(decision, make_set(4))
    assert "the operational rule 'texts' is switched off by [gate.operations]" in caveats
    assert any(words.startswith("4 hits of 4 queries have a text that is not in the document") for words in caveats)
    with pytest.raises(UsageError, match=r"texts = 0\.7"):
        Operations(texts=0.7)


def cite(number: int, document: str, wording: int = 0) -> Trace:
    hit = Hit(document, 1.0, span=Span(0, 16) if document[1:].isdigit() else None)
    return Trace(
        query=f"q{number}", text="?", hits=(hit,), answer="Yes.", citations=(Citation(document, span=hit.span),),
        paraphrase=wording, timings={"total": 1.0},
    )  # fmt: skip


@pytest.mark.parametrize("wordings", [1, 2])
def test_a_text_that_nobody_knows_is_told(wordings: int) -> None:
    """By hand: 3 of 4 answers cite the right bytes, one a document without a text; in each wording."""
    traces = [cite(i, "dx" if not i else f"d{i}", wording) for i in range(4) for wording in range(wordings)]
    run = evaluate(*traces, measures=(BYTES,))
    policy = Policy(rules=(Rule(metric=BYTES, min=0.8),))
    decision = decide(run, None, policy)
    (check,) = [check for check in decision.checks if check.metric == BYTES]
    assert (check.current, check.unknown) == (0.75, wordings)
    assert check.reason == f"0.7500 is below 0.8; {wordings} of unknown text counted as worst"
    answers = "1 answer counts" if wordings == 1 else "2 answers count"
    told = f"{BYTES}: {answers} as worst in a gate, because a text is not known ('q0'); let the system return hits with"
    assert any(caveat.startswith(told) for caveat in find_caveats(decision, make_set(4)))
    assert any(f"B: {told}" in note for note in compare_document([run, run], make_set(4)).pairs[0].notes)


def test_an_answer_that_was_not_judged_is_told_in_each_wording() -> None:
    """By hand: of eight answers to four questions in two wordings, two were not judged."""
    failed, good = {"faithfulness": "the judge's reply cannot be used"}, {"faithfulness": 1.0}
    traces = [
        Trace(query=f"q{i}", text="?", answer="Yes.", paraphrase=wording, opinions=good if i else failed)
        for i in range(4)
        for wording in range(2)
    ]
    policy = Policy(rules=(Rule(metric="Faithfulness", min=0.7),))
    decision = decide(evaluate(*traces, measures=("Faithfulness",)), None, policy)
    (check,) = [check for check in decision.checks if check.metric == "Faithfulness"]
    assert (check.current, check.unjudged) == (0.75, 2)
