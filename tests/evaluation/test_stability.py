"""The stability of scores over wordings and repeats, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from each import each
from karat.cli._stability_text import stability_text
from karat.core import Citation, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run, stability_report

GOLDEN = GoldenSet(
    queries=(Query(id="q", text="a?", paraphrases=("b?", "c?")), Query(id="r", text="d?")),
    judgments=tuple(Judgment(query=query, target=Target(document="wifi"), grade=3) for query in "qr"),
)
RIGHT, WRONG = ("wifi", "pool"), ("pool", "wifi")


def trace(query: str, paraphrase: int, repeat: int, documents: tuple[str, ...], cited: str = "") -> Trace:
    hits = tuple(Hit(name, 1.0 / rank) for rank, name in enumerate(documents, 1))
    answer = {"answer": "Yes.", "citations": (Citation(cited),)} if cited else {}
    error = "" if documents else "timed out"
    return Trace(
        query=query, text="?", paraphrase=paraphrase, repeat=repeat, hits=hits, error=error, **answer,  # type: ignore[arg-type]
    )  # fmt: skip


def report(*traces: Trace, measures: tuple[str, ...] = ("RR@10", "DupRate@10")):  # type: ignore[no-untyped-def]
    run = Run(provenance=Provenance(name="mine"), traces=traces)
    return stability_report(score_run(GOLDEN, run, measures), GOLDEN)


def test_wordings_and_repeats_by_hand() -> None:
    """RR is 1, 1/2 and 1 in the first repeat, 1, 1/2 and 1/2 in the second; another query has one wording."""
    first = [trace("q", i, 0, documents, "wifi") for i, documents in enumerate((RIGHT, WRONG, RIGHT))]
    again = [trace("q", i, 1, documents, "wifi") for i, documents in enumerate((RIGHT, WRONG, WRONG))]
    other = [trace("r", 0, repeat, RIGHT, "wifi") for repeat in (0, 1)]
    found = report(*first, *again, *other)
    assert (found.queries, found.wordings, found.repeats) == (2, 3, 2)
    q, r = found.rows
    assert q.wordings["RR@10"].values == [1.0, 0.5, 0.75]
    assert (q.wordings["RR@10"].worst, q.wordings["RR@10"].mean, q.wordings["RR@10"].spread) == (0.5, 0.75, 0.5)
    assert q.repeats["RR@10"].values == pytest.approx([2.5 / 3, 2 / 3])
    assert r.wordings == {}
    assert r.repeats["RR@10"].values == [1.0, 1.0]
    rr = found.measures["RR@10"]
    assert (rr.wordings.queries, rr.wordings.worst, rr.wordings.spread, rr.wordings.most) == (1, 0.5, 0.5, 0.5)
    assert rr.repeats.queries == 2
    assert rr.repeats.worst == pytest.approx((2 / 3 + 1) / 2)
    assert rr.repeats.most == pytest.approx(0.5 / 3)
    assert (q.state, r.state, found.states) == ("convergent", "convergent", {"convergent": 2})


def test_a_failure_is_the_worst_value() -> None:
    """Of a measure where lower is better, that is the highest one; left out, the run would look steadier."""
    traces = [trace("q", 0, 0, RIGHT), trace("q", 1, 0, ()), trace("q", 2, 0, RIGHT)]
    (q,) = report(*traces).rows[:1]
    assert q.wordings["RR@10"].worst == 0.0
    assert (q.wordings["DupRate@10"].worst, q.wordings["DupRate@10"].spread) == (1.0, 1.0)
    assert (q.state, q.reason) == ("divergent", "")


@each(
    ("cited", "state"),
    [
        (("wifi", "wifi", "wifi"), "convergent"),
        (("wifi", "pool", "wifi"), "split"),
        (("pool", "pool", "pool"), "divergent"),
        (("pool", "spa", "pool"), "chaotic"),
        (("", "", ""), None),
    ],
)
def test_states(cited: tuple[str, ...], state: str | None) -> None:
    """By what the answers cite; a system that only retrieves has none, and the reason is told."""
    (q, *_) = report(*(trace("q", i, 0, RIGHT, name) for i, name in enumerate(cited))).rows
    assert (q.state, q.reason) == (state, "" if state else "no answer recorded")


def test_a_measure_without_a_value_says_why() -> None:
    """Three wordings that were asked once each say nothing by a rule on two repeats; the terminal says so, too."""
    found = report(*(trace("q", i, 0, RIGHT, "wifi") for i in range(3)), measures=("Lambda", "RR@10"))
    reason = "the question was asked in fewer wordings or repeats than 3 wordings, each 2 times"
    assert found.measures["Lambda"].missing == {reason: 1}
    assert f"\n\nLambda: 1 without a value ({reason})\n\n" in stability_text(found)
    assert not found.measures["RR@10"].missing


def test_the_terminal_names_what_differs_and_what_has_no_value() -> None:
    """A query that differs in its citations only is named, so is one whose answers are split, and one without gold."""
    golden = replace(GOLDEN, queries=(*GOLDEN.queries, Query(id="u", text="e?", answerable=False)))
    traces = [trace("q", i, 0, RIGHT, name) for i, name in enumerate(("wifi", "pool", "wifi"))]
    others = [trace("r", 0, 0, RIGHT, "wifi"), trace("u", 0, 0, RIGHT, "wifi")]
    run = Run(provenance=Provenance(name="mine"), traces=(*traces, *others))
    found = stability_report(score_run(golden, run, ("RR@10", "CiteCoverage", "CitePrecision")), golden)
    tables, missing, states, unsteady = stability_text(found).split("\n\n")
    assert tables.startswith("over 3 wordings")
    assert missing.splitlines() == [
        "RR@10, CiteCoverage, CitePrecision: 1 without a value (unanswerable: the right answer is no answer)",
        "RR@10, CiteCoverage, CitePrecision: 1 without values in two wordings",
    ]
    assert states.endswith("1 split\nsplit: q")
    assert unsteady == "q: CiteCoverage differs by 1.0000, CitePrecision differs by 1.0000"
