"""Baselines whose rows are decoded at once, and what is read row by row instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from karat.core import Document, GoldenSet, Hit, InputError, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import Evaluation, revise_evaluation, score_run
from karat.gate import Baseline, read_baseline, write_baseline
from karat.gate._baseline_rows import read_rows
from karat.golden import describe_questions, identify

GOLDEN = GoldenSet(
    name="hotel",
    queries=(
        Query(id="q1", text="Wie früh?", category="café"),
        Query(id="a\x7f", text='a "quoted"\ttext'),
        Query(id="q3", text="?"),
    ),
    documents=(Document(id="pool", text="Ab 7 Uhr."),),
    judgments=tuple(Judgment(query=query, target=Target(document="pool"), grade=3) for query in ("q1", "a\x7f")),
)


def evaluate(golden: GoldenSet = GOLDEN) -> Evaluation:
    """Return the scores of a run that finds the pool at the second place."""
    hits = Hit("spa", 2.0), Hit("pool", 1.0)
    traces = tuple(Trace(query=query.id, text=query.text, hits=hits) for query in golden.queries)
    settings = {"k": 2, "sample": None}
    run = Run(provenance=Provenance(name="mine", golden=identify(golden), settings=settings), traces=traces)
    return score_run(golden, run, ["RR@10", "R@5"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a baseline: a query is not judged, and texts are beyond ASCII."""
    write_baseline(Baseline(evaluation=evaluate()), tmp_path / "baseline.json")
    return tmp_path / "baseline.json"


def test_rows_are_decoded_at_once(path: Path) -> None:
    """By hand: what each of them holds, and why a value is missing."""
    parts = read_rows(path.read_bytes())
    assert parts is not None
    head, rows = parts
    assert head["name"] == "mine"
    assert (rows.queries, rows.measures) == (("a\x7f", "q1", "q3"), ("RR@10", "R@5"))
    assert rows.values[:2].tolist() == [[0.5, 1.0], [0.5, 1.0]]
    assert rows.codes.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert rows.reasons == ("no relevant documents",)
    assert rows.lists["q3"] == ("spa", "pool")
    assert rows.segments == {("category", "café"): ["q1"]}
    assert rows.questions == dict(describe_questions(GOLDEN)) | {
        query: replace(question, wordings="") for query, question in describe_questions(GOLDEN).items()
    }


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace('"RR@10": [0.5]', '"RR@10": [0.9], "RR@10": [0.5]', 1), "'RR@10' appears twice"),
        (lambda text: re.sub(r'\n    "q3".*', r"\g<0>,\g<0>", text), "'q3' appears twice"),
        (lambda text: text.replace('\n  "total"', '\n  "depth": 9,\n  "total"'), "'depth' appears twice"),
        (lambda text: text.replace('\n  "total"', '\n  "queries": {},\n  "total"'), "'queries' appears twice"),
        (lambda text: text.replace('"spa"', '"bar"', 1), "does not match its digest"),
        (lambda text: text.replace("[0.5]", "[0.5, 0.5]", 1), "does not match its digest"),
        (lambda text: text.replace('"spa"', "7", 1), "does not match its digest"),
        (lambda text: text.replace('"spa"', '""', 1), "an id is empty"),
        (lambda text: text.replace("[0.5]", "[2e15]", 1), "2000000000000000.0 is not a number"),
        (lambda text: re.sub('"missing": {.*?}, ', "", text), "no value of RR@10, and no reason why"),
    ],
)
def test_what_is_odd_is_read_row_by_row_and_refused(path: Path, edit: Callable[[str], str], message: str) -> None:
    """A key that stands twice, of which decoders keep one, is not lost; nor is any other damage."""
    text = edit(path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    assert read_rows(path.read_bytes()) is None
    with pytest.raises(InputError, match=message):
        read_baseline(path)


@pytest.mark.parametrize(
    "edit",
    [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("  ", "\t"), lambda text: text + "\n"],
    ids=["Windows", "tabs", "blank line"],
)
def test_another_layout_means_the_same(path: Path, edit: Callable[[str], str]) -> None:
    """An editor or git may change the ends of lines: the content counts."""
    before = read_baseline(path).evaluation
    path.write_text(edit(path.read_text()), newline="")
    assert read_rows(path.read_bytes()) is None
    after = read_baseline(path).evaluation
    assert (after.lists, after.questions, after.segments) == (before.lists, before.questions, before.segments)
    assert after.scores.to_dicts() == before.scores.to_dicts()


class TestSameGoldenSet:
    """A baseline says which golden set all of its questions are of, so that they need not be compared with it."""

    def test_of_that_set_it_is_as_it_was_recorded(self, path: Path) -> None:
        """Nothing changed, and no digest of a question is computed."""
        evaluation = read_baseline(path).evaluation
        assert evaluation.questions_of == identify(GOLDEN)["fingerprint"]
        golden = replace(GOLDEN)
        assert revise_evaluation(evaluation, golden) is evaluation
        assert not [name for name in vars(golden) if "question" in name.lower()]

    def test_of_a_changed_set_it_is_revised(self, path: Path) -> None:
        """Another judgment is noticed, and what comes out no longer claims to be of one set."""
        more = Judgment(query="q1", target=Target(document="spa"), grade=3)
        golden = replace(GOLDEN, judgments=(*GOLDEN.judgments, more))
        revised = revise_evaluation(read_baseline(path).evaluation, golden)
        assert revised.revision is not None
        assert revised.revision.rejudged == ("q1",)
        assert revised.questions_of == ""

    def test_a_run_on_an_earlier_version_has_questions_of_both(self, tmp_path: Path) -> None:
        """Its baseline makes no claim, and a question that was not asked is new."""
        earlier = replace(GOLDEN, queries=GOLDEN.queries[:2])
        run = replace(evaluate(earlier).provenance)
        traces = evaluate(earlier).traces
        baseline = Baseline(evaluation=score_run(GOLDEN, Run(provenance=run, traces=traces), ["RR@10"]))
        write_baseline(baseline, tmp_path / "baseline.json")
        evaluation = read_baseline(tmp_path / "baseline.json").evaluation
        assert evaluation.questions_of == ""
        revised = revise_evaluation(evaluation, GOLDEN)
        assert revised.revision is not None
        assert revised.revision.new == ("q3",)

    def test_a_claim_without_all_questions_is_not_believed(self, path: Path) -> None:
        """A baseline that lacks a question of the set that it names is compared with the set."""
        evaluation = read_baseline(path).evaluation
        fewer = replace(
            evaluation, queries=evaluation.queries[:2], scores=evaluation.scores.select(evaluation.queries[:2])
        )
        revised = revise_evaluation(fewer, GOLDEN)
        assert revised.revision is not None
        assert revised.revision.new == ("q3",)
