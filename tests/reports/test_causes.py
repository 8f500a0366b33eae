"""Failures in a report: the cause that the run shows, and whether they are new, old or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from karat.causes import diagnose
from karat.config import Config
from karat.core import Document, GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run
from karat.gate import Baseline
from karat.projects import Project, gate_run, report_document
from karat.reports import render_html, render_markdown, render_text


def run(**lists: str) -> Run:
    traces = [
        Trace(query=q, text=q, hits=tuple(Hit(d, -float(i)) for i, d in enumerate(ids.split())))
        for q, ids in lists.items()
    ]
    return Run(provenance=Provenance(name="run", settings={"k": 5}), traces=tuple(traces))


def test_failures_are_new_or_old_and_others_are_fixed() -> None:
    """A query fails with a reciprocal rank below 0.3: q1 did not before, q2 did, q3 did and no longer does."""
    documents = tuple(Document(id=id_, text=id_) for id_ in "abcdef")
    golden = GoldenSet(
        documents=documents,
        queries=tuple(Query(id=id_, text=id_) for id_ in ("q1", "q2", "q3")),
        judgments=tuple(Judgment(query=q, target=Target(document="a"), grade=3) for q in ("q1", "q2", "q3")),
    )
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    before = score_run(golden, run(q1="a b c", q2="b c d e a", q3="b c d"), ["RR@10"])
    result = gate_run(
        project, run(q1="b c d", q2="b c d e f", q3="a b"), policy="default", alone=True, measures=["RR@10"]
    )
    document = report_document(replace(result, baseline=Baseline(evaluation=before, recorded="2026-11-17")))
    assert {failure.query: failure.since for failure in document.failures} == {"q1": "new", "q2": "old"}
    assert document.fixed == ("q3",)
    page = render_markdown(document)
    assert "new: the baseline did not fail it, and had a at rank 1" in page
    assert "Fixed since the baseline (1): q3" in page
    line = "failures: 2 of 3 queries (1 new, 1 old); new: q1; fixed: q3"
    assert f"{line}\n  nothing relevant was found: 2 (q1, q2)\n" in render_text(document)
    assert '"fixed":[2],"new":1,"old":1' in render_html(document)
    alone = report_document(result)
    assert (alone.failures[0].since, alone.fixed) == (UNSET, UNSET)


def test_a_cause_is_the_one_that_explain_names() -> None:
    """By the same rules over the run: an id in another spelling, copies, and nothing that is known."""
    names = ("wifi", "pool", "spa", "bar")
    golden = GoldenSet(
        documents=tuple(Document(id=id_, text=f"All about the {id_} is written down here.") for id_ in names),
        queries=tuple(Query(id=id_, text=f"Where is the {id_}?") for id_ in names[:3]),
        judgments=tuple(Judgment(query=id_, target=Target(document=id_), grade=3) for id_ in names[:3]),
    )
    answers = run(wifi="docs/wifi.md bar", pool="bar:chunk:1 bar:chunk:2 bar:chunk:3 spa", spa="bar")
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    result = gate_run(project, answers, policy="default", alone=True, measures=["RR@10"])
    causes = {failure.query: failure.cause for failure in report_document(result).failures}
    diagnosis = diagnose(golden, answers)
    first = {query: f"{found[0].title}: {found[0].evidence}" for query, found in diagnosis.causes.items() if found}
    assert causes == {query: first.get(query, UNSET) for query in names[:3]}
    assert causes["wifi"] == "the ids do not match: it returned 'docs/wifi.md' where 'wifi' was judged"
    assert str(causes["pool"]).startswith("copies crowd the list: 2 of the first 4 hits")
    assert causes["spa"] is UNSET


def test_new_old_and_unknown_failures_add_up() -> None:
    """Four unanswerable queries get hits: one was refused before, one was not, and of two the baseline knows nothing.

    Another was not refused before, and is now: that is fixed.
    """
    names = ("n1", "n2", "n3", "n4", "n5")
    golden = GoldenSet(
        documents=(Document(id="a", text="a"),),
        queries=(Query(id="q", text="q"), *(Query(id=id_, text=id_, answerable=False) for id_ in names)),
        judgments=(Judgment(query="q", target=Target(document="a"), grade=3),),
    )
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)

    def answer(refused: str, rest: Sequence[str]) -> Run:
        answers = run(q="a", **dict.fromkeys(rest, "a"))
        traces = tuple(replace(trace, refused=trace.query in refused, answer="So.") for trace in answers.traces)
        return replace(answers, traces=traces)

    measures = ["RR@10", "RightRefusal"]
    before = score_run(golden, answer("n1", ("n1", "n2", "n5")), measures)
    result = gate_run(project, answer("n5", names), policy="default", alone=True, measures=measures)
    result = replace(result, baseline=Baseline(evaluation=before, recorded="2026-11-17"))
    line = "failures: 4 of 6 queries (1 new, 1 old, 2 unknown); new: n1; fixed: n5"
    line += "\n  it has no answer, and hits were returned: 4 (n1, n3, n4, n2)"
    assert line in render_text(report_document(result))
    assert line in render_text(report_document(result, brief=True))
    # Where no measure tells, the hits of the baseline do.
    before = score_run(golden, answer("", ("n1",)), ["RR@10"])
    result = gate_run(project, answer("", names), policy="default", alone=True, measures=["RR@10"])
    result = replace(result, baseline=Baseline(evaluation=before, recorded="2026-11-17"))
    assert "5 of 6 queries (0 new, 1 old, 4 unknown)" in render_text(report_document(result))


def test_what_a_file_lacks_did_not_fail_and_numbers_say_what_they_are_computed_as() -> None:
    """A TREC run without q2, on a set whose relevant grades begin at 2: RR of trec_eval would count grade 1, too."""
    golden = GoldenSet(
        documents=(Document(id="a", text="a"),),
        queries=(Query(id="q1", text="q1"), Query(id="q2", text="q2")),
        judgments=tuple(Judgment(query=q, target=Target(document="a"), grade=3) for q in ("q1", "q2")),
        relevant=2,
    )
    answers = run(q1="a", q2="")
    answers = replace(answers, traces=(answers.traces[0], replace(answers.traces[1], error="not in the run")))
    project = Project(config=Config(folder=Path(), golden=Path()), golden=golden)
    result = gate_run(project, answers, policy="default", alone=True, measures=["RR@10"])
    text = render_text(report_document(result))
    assert text.startswith("operations 1 of 2 queries not in the run;")
    assert "not in the run: 1 (q2)" in text
    assert "1 of 2 queries are not in the run and count as 0, such as q2\n" in text
    (line,) = (line for line in text.splitlines() if line.startswith("computed as "))
    assert "RR(rel=2)@10" in line
    assert "timed out" not in text
