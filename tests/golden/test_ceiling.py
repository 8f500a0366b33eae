"""The ceiling: the best mean that any ranking can reach, and the gates that ask for more."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from each import each
from karat.core import MEASURES, Document, GoldenSet, Judgment, Measure, Query, Target, UsageError
from karat.golden.lint._capacity_rules import unreachable_floor, unreachable_gate, unusable_gate
from karat.golden.lint._ceiling import EXACT, ceiling, measure_for
from karat.golden.lint._rule import Finding, Subject

SCALE = ("no", "partly", "mostly", "yes")


def golden(*graded: dict[str, int], **head: object) -> GoldenSet:
    """Build a set: the grades of each query's documents."""
    return GoldenSet(
        queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(len(graded))),
        documents=tuple(Document(id=name) for name in sorted({name for grades in graded for name in grades})),
        judgments=tuple(
            Judgment(query=f"q{i}", target=Target(document=name), grade=grade)
            for i, grades in enumerate(graded)
            for name, grade in grades.items()
        ),
        **head,  # type: ignore[arg-type]
    )


ONE_EACH = golden({"a": 3, "b": 1}, {"c": 2}, {"d": 3, "e": 0})


def test_precision_with_one_relevant_document_per_query() -> None:
    """P@5 cannot exceed 0.20 when each query has one relevant document; recall and RR can reach 1."""
    tops = {top.measure: top for top in ceiling(ONE_EACH, ["R@5", "P@5", "RR@10", "nDCG@5"])}
    best = {name: top.best for name, top in tops.items()}
    assert best == pytest.approx({"R@5": 1.0, "P@5": 0.2, "RR@10": 1.0, "nDCG@5": 1.0})
    assert tops["P@5"].computed == "P(rel=2)@5"
    assert tops["P@5"].below == {"fewer than 5 relevant documents": 3}
    assert tops["P@5"].because == "each query has one relevant document"
    assert tops["R@5"].below == {}


def test_the_reasons_by_hand() -> None:
    """Queries below 1 are counted by reason: nothing to find, too few for P, too many for R."""
    gold = golden({"a": 3, "b": 2, "c": 2}, {"a": 3}, {"a": 1}, {})
    precision, recall = ceiling(gold, ["P@2", "R@2"])
    assert precision.best == (1 + 0.5 + 0 + 0) / 4
    assert (precision.scored, precision.total) == (4, 4)
    assert precision.below == {"no relevant document": 2, "fewer than 2 relevant documents": 1}
    assert precision.because == (
        "2 of 4 queries have no relevant document and 1 of 4 queries has fewer than 2 relevant documents"
    )
    assert recall.best == pytest.approx((2 / 3 + 1) / 2)
    assert (recall.scored, recall.total) == (2, 4)
    assert recall.below == {"more than 2 relevant documents": 1}


def test_the_set_decides_what_is_relevant_unless_the_measure_does() -> None:
    """The lowest relevant grade is the set's; one that is written stays, also when it is the default."""
    gold = golden({"a": 3, "b": 2, "c": 1}, relevant=3)
    tops = ceiling(gold, ["P@5", "P(rel=1)@5", "precision(rel=2)@5"])
    assert [top.best for top in tops] == [0.2, 0.6, 0.4]
    assert str(measure_for(gold, "nDCG@5")) == "nDCG@5"


def test_documents_of_one_class_count_once() -> None:
    """Two documents that can stand for each other are one relevant document."""
    gold = golden({"a": 3, "b": 3, "c": 3}, classes={"twins": ("a", "b")})
    assert [top.best for top in ceiling(gold, ["P@5"])] == [0.4]


def test_parts_of_documents_can_be_the_unit() -> None:
    """Two relevant sections of one document are two targets and one document."""
    parts = [Target(document="wifi", section=f"S.{i}") for i in (1, 2)]
    gold = GoldenSet(
        queries=(Query(id="q", text="reset?"),),
        judgments=tuple(Judgment(query="q", target=part, grade=3) for part in parts),
    )
    assert ceiling(gold, ["P@5"])[0].best == 0.2
    assert ceiling(gold, ["P@5"], unit="target")[0].best == 0.4


def test_nothing_to_score_has_no_ceiling() -> None:
    """Without queries, and without anything relevant, recall has no value: never 0 and never 1."""
    assert ceiling(GoldenSet(), ["R@5"])[0].best is None
    nothing = ceiling(golden({"a": 1}), ["R@5", "P@5"])
    assert [top.best for top in nothing] == [None, 0.0]
    assert {top.because for top in nothing} == {"no query has a relevant document"}


def test_measures_below_1_by_definition_say_so() -> None:
    """ERR never reaches 1, whatever is judged."""
    (top,) = ceiling(golden({"a": 3}), ["ERR(max_grade=3)@5"])
    assert top.best == pytest.approx(7 / 8)
    assert top.because == "ERR stays below 1 by definition"


@each(
    ("measure", "reason"),
    [
        ("InvRate@5", "lower is better"),
        ("Hole@5", "lower is better"),
        ("NumRet", "neither good nor bad"),
        ("SetP@5", "not known to be its best ranking"),
        ("Judged@5", "not known to be its best ranking"),
        ("nDCG(gains={1:5,2:1})@5", "gains do not rise"),
        ("DCG(gains={0:-1})@5", "gains do not rise"),
        ("nDCG(gain=exp,gains={3:2})@5", "gains do not rise"),
    ],
)
def test_a_measure_without_a_known_ceiling_is_refused(measure: str, reason: str) -> None:
    """Where sorting by grade is not the best ranking, or lower is better, there is an error and no number."""
    with pytest.raises(UsageError, match=f"no ceiling for .*{reason}"):
        ceiling(golden({"a": 3, "b": 2, "c": 1, "d": 0}), [measure])


PARAMETERS = {
    "nDCG": [{}, {"gain": "exp"}, {"ideal": "returned"}, {"gains": {1: 0, 2: 0.5, 3: 9}}],
    "DCG": [{}, {"gain": "exp"}, {"gains": {2: 1}}],
    "ERR": [{}, {"max_grade": 3}],
    "RBP": [{}, {"p": 0.5}, {"p": 0.0}],
    "INSQ": [{}, {"T": 2.5, "max_grade": 3}],
}
CUTOFFS: dict[str, list[float | None]] = {
    "none": [None],
    "optional": [None, 1, 2, 3],
    "required": [1, 2, 3, 5],
    "recall": [0.0, 0.3, 0.5, 1.0],
}


def exact_measures(rel: int) -> list[Measure]:
    """Return every measure that has a ceiling, with cut-offs and parameters."""
    measures = []
    for name in sorted(EXACT):
        definition = MEASURES.get(name)
        takes_rel = any(parameter.name == "rel" for parameter in definition.parameters)
        for params in PARAMETERS.get(name, [{}]):
            parameters = {**params, "rel": rel} if takes_rel else params
            measures += [Measure.of(name, k, parameters) for k in CUTOFFS[definition.cutoff]]
    return measures


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=4), unjudged=st.integers(0, 1), rel=st.integers(1, 3))
def test_no_list_of_documents_beats_the_ceiling(grades: list[int], unjudged: int, rel: int) -> None:
    """Of all lists of the documents, of every length and in every order, the best has exactly the ceiling."""
    judged = {f"d{i}": grade for i, grade in enumerate(grades)}
    documents = [*judged, *(f"u{i}" for i in range(unjudged))]
    lists = [order for n in range(len(documents) + 1) for order in permutations(documents, n)]
    qrels = {f"{i}": judged for i in range(len(lists))}
    run = {f"{i}": {name: -place for place, name in enumerate(order)} for i, order in enumerate(lists)}
    measures = exact_measures(rel)
    scores = karat.score(qrels, run, measures)
    tops = {top.measure: top.best for top in ceiling(golden(judged, relevant=rel), measures)}
    for measure in measures:
        values = scores.values[:, scores.measures.index(str(measure))]
        best = None if np.isnan(values).all() else float(np.nanmax(values))
        assert tops[str(measure)] == (None if best is None else pytest.approx(best, abs=1e-12)), str(measure)


def only(findings: object) -> Finding:
    """Return the one finding."""
    (finding,) = findings  # type: ignore[misc]
    assert isinstance(finding, Finding)
    return finding


def test_an_unreachable_gate_is_an_error_with_its_reason_and_the_way_out() -> None:
    """The message says what cannot be exceeded, why, and by which floor; the fix says what to do instead."""
    finding = only(unreachable_gate(Subject(golden=golden({"a": 3}, {"b": 2}, gate={"P@5": 0.6, "R@5": 0.8}))))
    assert finding.severity == "error"
    assert finding.message == (
        "P@5 cannot exceed 0.20 on this set because each query has one relevant document; the floor 0.60 is unreachable"
    )
    assert finding.fix == "use R@5 or Success@5, judge more documents, or lower the floor to at most 0.20"


def test_the_usual_floors_are_a_warning() -> None:
    """Where nothing is declared, floors that cannot be reached are worth a warning, and no more."""
    subject = Subject(golden=golden({"a": 3}, {"b": 2}))
    finding = only(unreachable_floor(subject))
    assert finding.severity == "warning"
    assert finding.message.endswith("; the usual floor 0.60 is unreachable")  # nobody declared it, nor can lower it
    assert finding.fix.endswith(", or declare a floor of at most 0.20")
    assert list(unreachable_gate(subject)) == []
    assert list(unreachable_floor(Subject(golden=golden({"a": 3}, gate={"R@5": 0.8})))) == []


def test_a_floor_at_the_ceiling_can_be_reached() -> None:
    """A floor is unreachable only if it is above the ceiling, not because of rounding."""
    gold = golden({"a": 3, "b": 3, "c": 3}, {"a": 2, "d": 2, "e": 2}, {"x": 3, "y": 3, "z": 3}, gate={"P@5": 0.6})
    assert list(unreachable_gate(Subject(golden=gold))) == []


def test_the_floor_that_is_offered_can_be_reached() -> None:
    """A ceiling of 0.2666... is offered as 0.26, never as 0.27."""
    gold = golden({"a": 3, "b": 3}, {"c": 3}, {"d": 3}, gate={"P@5": 0.6})
    assert only(unreachable_gate(Subject(golden=gold))).fix.endswith("at most 0.26")


def test_a_gate_on_recall_says_to_cut_deeper() -> None:
    """More relevant documents than ranks bound recall."""
    gold = golden(dict.fromkeys("abcdefgh", 3), gate={"R@5": 0.8})
    finding = only(unreachable_gate(Subject(golden=gold)))
    assert "each query has 8 relevant documents" in finding.message
    assert finding.fix == "use R_cap@5, cut deeper than 5, or lower the floor to at most 0.62"


def test_a_gate_without_a_value_is_unreachable() -> None:
    """A recall that no query has cannot pass."""
    assert "has no value" in only(unreachable_gate(Subject(golden=golden({"a": 1}, gate={"R@5": 0.8})))).message


@each(
    ("measure", "words"),
    [
        ("nCDG@5", "did you mean 'ndcg'"),
        ("P", "needs a cut-off"),
        ("InvRate@5", "lower is better"),
        ("ERR@5", "max_grade"),
    ],
)
def test_a_gate_that_cannot_be_checked_is_an_error(measure: str, words: str) -> None:
    """A gate on an unknown measure, or on one that is better when lower, is reported with the reason."""
    gold = golden({"a": 5}, gate={measure: 0.5, "R@5": 0.5}, grades=("no", *"abcde"))
    finding = only(unusable_gate(Subject(golden=gold)))
    assert words in finding.message
    assert finding.where == (measure,)
    assert list(unreachable_gate(Subject(golden=gold))) == []


def test_a_measure_whose_ceiling_is_not_known_is_no_finding() -> None:
    """A gate on Judged@5 makes sense, though its ceiling is not known."""
    assert list(unusable_gate(Subject(golden=golden({"a": 3}, gate={"Judged@5": 0.9})))) == []


def test_the_ceiling_of_a_large_random_set_is_what_a_formula_says() -> None:
    """P@k tops at the mean of min(n, k) / k, R@k at that of min(n, k) / n, over n relevant documents."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 12, 200)
    gold = golden(*({f"d{j}": 3 for j in range(n)} for n in counts))
    precision, recall = ceiling(gold, ["P@5", "R@5"])
    assert precision.best == pytest.approx(np.mean(np.minimum(counts, 5) / 5))
    assert recall.best == pytest.approx(np.mean(np.minimum(counts, 5) / counts))
    assert precision.best is not None
    assert not math.isclose(precision.best, 1.0)
