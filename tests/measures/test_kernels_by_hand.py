"""Every measure by hand: the arithmetic is written out, and no number was copied from karat."""

from __future__ import annotations

from collections import Counter
from math import log2, pi, sqrt
from typing import NamedTuple

import pytest

import karat
from each import each
from karat.core import MEASURES, Measure, MeasureError
from measures.test_spans import CASES as SPAN_CASES
from measures.test_unanswerable import CASES as UNANSWERABLE_CASES

Judged = dict[str, dict[str, int]]
Ranked = dict[str, list[str]]

# LONG: four relevant documents, of which m was not returned; p is in the pool and unjudged; v, w, x and y are unknown.
#   rank    1    2    3    4    5    6    7    8
#           v    a    n    c    w    p    b    x
#   grade   -    1    0    3    -   -1    2    -
LONG_QRELS: Judged = {"q": {"a": 1, "b": 2, "c": 3, "m": 2, "n": 0, "p": -1}}
LONG: Ranked = {"q": ["v", "a", "n", "c", "w", "p", "b", "x"]}
# SHORT: three documents, all judged; the relevant e was not returned.
#   rank    1    2    3
#           f    n    d
#   grade   2    0    1
SHORT_QRELS: Judged = {"q": {"d": 1, "e": 1, "f": 2, "n": 0}}
SHORT: Ranked = {"q": ["f", "n", "d"]}
# BOTH: the two together, for what is summed or multiplied over queries.
BOTH_QRELS: Judged = {"long": LONG_QRELS["q"], "short": SHORT_QRELS["q"]}
BOTH: Ranked = {"long": LONG["q"], "short": SHORT["q"]}
# PAIRS: two judged non-relevant documents between three relevant ones.
PAIRS_QRELS: Judged = {"q": {"a": 1, "b": 1, "c": 1, "m": 0, "n": 0}}
PAIRS: Ranked = {"q": ["a", "n", "b", "m", "c"]}

E = 0.00001
"""trec_eval's smoothing, and the least value of a geometric mean."""
IDEAL_LONG = 3 / log2(2) + 2 / log2(3) + 2 / log2(4) + 1 / log2(5)
"""DCG of the grades 3, 2, 2, 1."""
IDEAL_SHORT = 2 / log2(2) + 1 / log2(3) + 1 / log2(4)
DCG_LONG = 1 / log2(3) + 3 / log2(5) + 2 / log2(8)
AP_LONG = (1 / 2 + 2 / 4 + 3 / 7) / 4
AP_SHORT = (1 / 1 + 2 / 3) / 3
ALL_SQUARES = pi**2 / 6
"""1 + 1/4 + 1/9 + ..."""


class Case(NamedTuple):
    """What a measure is worth on a ranking: the mean of all queries, or their sum where the measure is a count."""

    measure: str
    expected: float
    qrels: Judged = LONG_QRELS
    run: Ranked = LONG


def short(measure: str, expected: float) -> Case:
    return Case(measure, expected, SHORT_QRELS, SHORT)


def pairs(measure: str, expected: float) -> Case:
    return Case(measure, expected, PAIRS_QRELS, PAIRS)


def both(measure: str, expected: float) -> Case:
    return Case(measure, expected, BOTH_QRELS, BOTH)


CASES = [
    # Two relevant documents (a, c) in the top 5; three in all, of ten ranks; c alone has grade 2 or more.
    Case("P@5", 2 / 5),
    Case("P@10", 3 / 10),
    Case("P(rel=2)@5", 1 / 5),
    Case("P(judged_only=True)@3", 2 / 3),  # a n c b
    short("P@5", 2 / 5),
    both("P@1", (0 / 1 + 1 / 1) / 2),
    # Of four relevant documents, and of three with grade 2 or more.
    Case("R@5", 2 / 4),
    Case("R(rel=2)@5", 1 / 3),
    Case("R(judged_only=True)@4", 3 / 4),
    short("R@3", 2 / 3),
    Case("R_cap@2", 1 / 2),  # two ranks hold at most two of the four
    Case("R_cap@10", 3 / 4),
    short("R_cap@1", 1 / 1),
    Case("F1@5", 2 * (2 / 5) * (2 / 4) / (2 / 5 + 2 / 4)),
    Case("F1(rel=2)@5", 2 * (1 / 5) * (1 / 3) / (1 / 5 + 1 / 3)),
    short("F1@3", 2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3)),
    # Hits at ranks 2, 4 and 7.
    Case("AP", AP_LONG),
    Case("AP@5", (1 / 2 + 2 / 4) / 4),
    Case("AP(rel=2)", (1 / 4 + 2 / 7) / 3),
    Case("AP(judged_only=True)", (1 / 1 + 2 / 3 + 3 / 4) / 4),
    short("AP", AP_SHORT),
    both("AP", (AP_LONG + AP_SHORT) / 2),
    both("GMAP", sqrt(AP_LONG * AP_SHORT)),
    both("GMAP@1", sqrt(E * (1 / 1) / 3)),  # nothing at rank 1 of the long list counts as the floor
    Case("RR", 1 / 2),
    Case("RR@1", 0),
    Case("RR(rel=2)", 1 / 4),
    Case("RR(judged_only=True)", 1 / 1),
    both("RR@10", (1 / 2 + 1 / 1) / 2),
    Case("Success@1", 0),
    Case("Success@2", 1),
    Case("Success(rel=3)@3", 0),
    both("Success@1", (0 + 1) / 2),
    Case("Hits@5", 2),
    Case("Hits(rel=2)@7", 2),
    both("Hits@3", 1 + 2),
    Case("Rprec", 2 / 4),
    Case("Rprec(mult=2)", 3 / 8),
    Case("Rprec(mult=0.3)", 1 / 2),  # 0.3 * 4 = 1.2, so two ranks
    short("Rprec", 2 / 3),
    # Precision at the hits is 1/2, 2/4 and 3/7; recall 0.6 needs three hits, 0.8 needs four, which there are not.
    Case("IPrec@0", 1 / 2),
    Case("IPrec@0.6", 3 / 7),
    Case("IPrec@0.8", 0),
    short("IPrec@0.3", 1 / 1),  # 0.3 * 3 = 0.9, so one hit
    short("IPrec@0.4", 2 / 3),  # 0.4 * 3 = 1.2, so two hits
    Case("IPrec11", (6 * (1 / 2) + 2 * (3 / 7) + 3 * 0) / 11),  # 0 to 0.5, then 0.6 and 0.7, then the rest
    short("IPrec11", (4 * (1 / 1) + 3 * (2 / 3) + 4 * 0) / 11),  # 0 to 0.3, then 0.4 to 0.6, then the rest
    Case("DCG", DCG_LONG),
    Case("DCG@5", 1 / log2(3) + 3 / log2(5)),
    Case("DCG(gain='exp')", 1 / log2(3) + 7 / log2(5) + 3 / log2(8)),
    Case("DCG(gains={0: 0.5, 3: 10})@5", 1 / log2(3) + 0.5 / log2(4) + 10 / log2(5)),
    Case("nDCG", DCG_LONG / IDEAL_LONG),
    Case("nDCG@2", (1 / log2(3)) / (3 / log2(2) + 2 / log2(3))),
    Case(
        "nDCG(gain='exp')",
        (1 / log2(3) + 7 / log2(5) + 3 / log2(8)) / (7 / log2(2) + 3 / log2(3) + 3 / log2(4) + 1 / log2(5)),
    ),
    Case("nDCG(gains={1: 0, 2: 7})", (3 / log2(5) + 7 / log2(8)) / (7 / log2(2) + 7 / log2(3) + 3 / log2(4))),
    Case("nDCG(judged_only=True)", (1 / log2(2) + 3 / log2(4) + 2 / log2(5)) / IDEAL_LONG),
    Case("nDCG(ideal='returned')@10", 1 / 2, {"q": {"a": 1, "b": 2, "c": 2}}, {"q": ["a"]}),
    short("nDCG@10", (2 / log2(2) + 1 / log2(4)) / IDEAL_SHORT),
    # Grades 1, 3 and 2 satisfy with 1/16, 7/16 and 3/16, or with 1/8 and 7/8 on a scale up to 3.
    Case("ERR", 1 / 16 / 2 + 15 / 16 * 7 / 16 / 4 + 15 / 16 * 9 / 16 * 3 / 16 / 7),
    Case("ERR(max_grade=3)@4", 1 / 8 / 2 + 7 / 8 * 7 / 8 / 4),
    short("ERR@2", 3 / 16 / 1),
    Case("RBP", 0.2 * (0.8**1 + 0.8**3 + 0.8**6)),
    Case("RBP(p=0.5,rel=2)@4", 0.5 * 0.5**3),
    short("RBP(p=0)", 1),
    short("RBP(p=0.5)", 0.5 * (1 + 0.25)),
    Case("RBPres(p=0.5)", 1 - 0.5 * (0.5**1 + 0.5**2 + 0.5**3 + 0.5**6)),  # judged at ranks 2, 3, 4 and 7
    Case("RBPres@3", 1 - 0.2 * (0.8**1 + 0.8**2)),
    short("RBPres(p=0.5)", 0.5**3),
    # Weights 1/(r+1)^2 over 1/4 + 1/9 + ...; for T = 2.5 they are 1/(r+4)^2 over 1/25 + 1/36 + ...
    Case("INSQ", (1 / 3**2 + 1 / 5**2 + 1 / 8**2) / (ALL_SQUARES - 1)),
    Case("INSQ(max_grade=3)", (1 / 3 / 3**2 + 3 / 3 / 5**2 + 2 / 3 / 8**2) / (ALL_SQUARES - 1)),
    Case("INSQ@4", (1 / 3**2 + 1 / 5**2) / (ALL_SQUARES - 1)),
    short("INSQ(T=2.5)", (1 / 5**2 + 1 / 7**2) / (ALL_SQUARES - 1 - 1 / 4 - 1 / 9 - 1 / 16)),
    # The nearest ideal ranking is c b m a. Nothing is shared down to depth 3; then a and c, from depth 7 on b as well.
    Case(
        "Compat",
        (0.95**3 * 2 / 4 + 0.95**4 * 2 / 5 + 0.95**5 * 2 / 6 + 0.95**6 * 3 / 7 + 0.95**7 * 3 / 8)
        / (
            1
            + 0.95 * 2 / 2
            + 0.95**2 * 3 / 3
            + 0.95**3 * 4 / 4
            + 0.95**4 * 4 / 5
            + 0.95**5 * 4 / 6
            + 0.95**6 * 4 / 7
            + 0.95**7 * 4 / 8
        ),
    ),
    Case(
        "Compat(p=0.5,normalize=False)",
        (0.5**3 * 2 / 4 + 0.5**4 * 2 / 5 + 0.5**5 * 2 / 6 + 0.5**6 * 3 / 7 + 0.5**7 * 3 / 8)
        / sum(0.5**i for i in range(8)),
    ),
    # The ideal ranking is f d e: one, one and two documents are shared, where one, two and three could be.
    short("Compat(p=0.8)", (1 + 0.8 * 1 / 2 + 0.8**2 * 2 / 3) / (1 + 0.8 * 2 / 2 + 0.8**2 * 3 / 3)),
    # Worse ones above a: 1 (v); above c: 3 (v a n); above b: 5 (v a n w p).
    Case("InvRate", (1 + 3 + 5) / (8 * 7 / 2)),
    Case("InvRate@4", (1 + 3) / (4 * 3 / 2)),
    short("InvRate", 1 / 3),
    # n stands above c and b, and is the only judged non-relevant document: they count nothing.
    Case("Bpref", (1 + 0 + 0) / 4),
    pairs("Bpref", ((1 - 0 / 2) + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
    # Three non-relevant documents above the only relevant one count as one: it can lose no more than all it has.
    Case("Bpref", 1 - 1 / 1, {"q": {"a": 1, "l": 0, "m": 0, "n": 0}}, {"q": ["l", "m", "n", "a"]}),
    # Relevant from grade 2 up: a and b, with the non-relevant d (1) above b, and e (0) at the end.
    Case(
        "Bpref(rel=2)", ((1 - 0 / 2) + (1 - 1 / 2)) / 2, {"q": {"a": 2, "b": 3, "d": 1, "e": 0}}, {"q": list("axdbe")}
    ),
    both("GBpref", sqrt((1 / 4) * (1 / 3))),
    pairs("GBpref", (1 + 1 / 2) / 3),
    # Above c: a and n, both in the pool; above b: a, n, c and the unjudged p of the pool, two of three relevant.
    Case(
        "infAP",
        (
            (1 / 2 + 1 / 2 * 0 / 1 * (E / (2 * E)))
            + (1 / 4 + 3 / 4 * 2 / 3 * ((1 + E) / (2 + 2 * E)))
            + (1 / 7 + 6 / 7 * 4 / 6 * ((2 + E) / (3 + 2 * E)))
        )
        / 4,
    ),
    short("infAP", (1 + (1 / 3 + 2 / 3 * 2 / 2 * ((1 + E) / (2 + 2 * E)))) / 3),
    Case("Judged@5", 3 / 5),
    Case("Judged", 4 / 8),
    short("Judged@10", 3 / 3),
    Case("Unjudged@5", 2),
    both("Unjudged", 4 + 0),
    Case("Hole@5", 2 / 5),
    Case("Hole@10", 4 / 10),
    short("Hole@10", 0),
    Case("SetP", 3 / 8),
    Case("SetP@5", 2 / 5),
    Case("SetP(relative=True)", 3 / 4),
    short("SetP@5", 2 / 3),
    Case("SetR", 3 / 4),
    Case("SetR(rel=2)", 2 / 3),
    Case("SetF", 2 * (3 / 8) * (3 / 4) / (3 / 8 + 3 / 4)),
    Case("SetF(beta=0.5)", 1.5 * (3 / 8) * (3 / 4) / (0.5 * 3 / 8 + 3 / 4)),
    short("SetF(rel=2)", 2 * (1 / 3) * (1 / 1) / (1 / 3 + 1 / 1)),
    Case("SetAP", (3 / 8) * (3 / 4)),
    short("SetAP", (2 / 3) * (2 / 3)),
    Case("Utility", 3 - 5),
    Case("Utility(a=2,b=-0.5,c=-1,d=0.1,docs=100)", 2 * 3 - 0.5 * 5 - 1 * 1 + 0.1 * (100 - 8 - 1)),
    Case("NumRet", 8),
    Case("NumRet(rel=2)", 2),
    both("NumRet(judged_only=True)", 4 + 3),
    Case("NumRelRet", 3),
    both("NumRelRet(rel=2)", 2 + 1),
    Case("NumNonRelRet", 1),
    both("NumNonRelRet(rel=2)", 2 + 2),  # a and n; n and d
    Case("NumRel", 4),
    both("NumRel(rel=2)", 3 + 1),
    short("NumQ", 1),
    both("NumQ", 2),
    # Above a: v; above c: v n; above b: v n w p.
    Case("binG", (1 / log2(2 + 1) + 1 / log2(2 + 2) + 1 / log2(2 + 4)) / 4),
    short("binG", (1 / log2(2 + 0) + 1 / log2(2 + 1)) / 3),
    # The ideal ranking costs 3, 2, 2, 1 and then 1 each: 5 down to rank 2, 8 to rank 4, 11 to rank 7.
    Case("G", (1 / log2(2 + 5 - 1) + 3 / log2(2 + 8 - 4) + 2 / log2(2 + 11 - 6)) / (3 + 2 + 2 + 1)),
    short("G", (2 / log2(2 + 2 - 2) + 1 / log2(2 + 4 - 3)) / (2 + 1 + 1)),
    # nDCG at the ranks 2, 4 and 7 of a, c and b, and at the end for m.
    Case(
        "nDCG_rel",
        (
            (1 / log2(3)) / (3 / log2(2) + 2 / log2(3))
            + (1 / log2(3) + 3 / log2(5)) / IDEAL_LONG
            + DCG_LONG / IDEAL_LONG
            + DCG_LONG / IDEAL_LONG
        )
        / 4,
    ),
    short("nDCG_rel", (2 / 2 + 2 * (2 / log2(2) + 1 / log2(4)) / IDEAL_SHORT) / 3),
    # The ideal grades 3, 2 2, 1 end at ranks 1, 3 and 4; eight documents were returned, so the end counts too.
    Case(
        "RnDCG",
        (
            0
            + (1 / log2(3)) / (3 / log2(2) + 2 / log2(3) + 2 / log2(4))
            + (1 / log2(3) + 3 / log2(5)) / IDEAL_LONG
            + DCG_LONG / IDEAL_LONG
        )
        / 4,
    ),
    # One document more than the ideal ranking holds is not enough for the end to count.
    Case("RnDCG", (1 / 2 + 1 / (2 / log2(2) + 1 / log2(3))) / 2, {"q": {"a": 2, "b": 1}}, {"q": ["b", "x", "a"]}),
    short("RnDCG", (2 / 2 + (2 / log2(2) + 1 / log2(4)) / IDEAL_SHORT) / 2),
]


@each("case", CASES, ids=[f"{case.measure}-{i}" for i, case in enumerate(CASES)])
def test_by_hand(case: Case) -> None:
    """The measure is worth what the arithmetic says."""
    scores = karat.score(case.qrels, case.run, [case.measure])
    measure = Measure.parse(case.measure)
    total = measure.definition.aggregate == "sum"
    value = scores.sum(str(measure)) if total else scores.mean()[str(measure)]
    assert value == pytest.approx(case.expected, rel=1e-14, abs=1e-15)


def test_every_measure_is_computed_by_hand_twice() -> None:
    """A measure cannot be added without two cases, here, in test_spans, test_unanswerable or test_traced."""
    cases = Counter(Measure.parse(case.measure).name for case in (*CASES, *SPAN_CASES, *UNANSWERABLE_CASES))
    built_in = {d.name for d in MEASURES if d.kernel.__module__.startswith("karat.measures.") and not d.traced}
    assert {name for name in built_in if cases[name] < 2} == set()
    assert len(built_in) >= 36


# What a plain run is worth, whatever it has: it has no chunks, no text, and no query without an answer.
NO_CHUNKS: dict[str, float | str] = {
    **dict.fromkeys(("TrueEmpty", "FalseHits@10"), "the query has an answer"),
    **dict.fromkeys(("SpanR", "SpanP", "SpanIoU"), "no spans judged, or hits without spans"),
    "DupRate": "no chunks returned",
}
# What a query without any relevant document is worth: a number, or why it has none.
NOTHING_TO_FIND: dict[str, float | str] = {
    **dict.fromkeys(("P@2", "DCG", "ERR", "RBP", "INSQ", "Hits@2", "NumRelRet", "NumRel", "InvRate"), 0.0),
    **dict.fromkeys(("R@2", "R_cap@2", "F1@2", "AP", "GMAP", "RR", "Success@2", "Rprec"), "no relevant documents"),
    **dict.fromkeys(("IPrec@0.5", "IPrec11", "nDCG", "Compat", "Bpref", "GBpref", "infAP"), "no relevant documents"),
    **dict.fromkeys(("SetR", "SetF", "SetAP", "binG", "G", "nDCG_rel", "RnDCG"), "no relevant documents"),
    "SetP": 0 / 3,
    "SetP(relative=True)": "no relevant documents",
    "Judged": 1 / 3,
    "Unjudged": 2.0,
    "Hole@5": 2 / 5,
    "NumRet": 3.0,
    "NumNonRelRet": 1.0,
    "NumQ": 1.0,
    "RBPres(p=0.5)": 1 - 0.5 * 0.5,
    "Utility": -3.0,
    **NO_CHUNKS,
}
# What a query is worth for which the run has an empty list.
NOTHING_RETURNED: dict[str, float | str] = {
    **dict.fromkeys(("P@2", "R@2", "R_cap@2", "F1@2", "AP", "GMAP", "RR", "Success@2", "Rprec", "IPrec@0.5"), 0.0),
    **dict.fromkeys(("IPrec11", "DCG", "nDCG", "nDCG(ideal='returned')@5", "ERR", "RBP", "INSQ", "Compat"), 0.0),
    **dict.fromkeys(("Bpref", "GBpref", "infAP", "Unjudged", "SetR", "SetF", "SetAP", "Utility"), 0.0),
    **dict.fromkeys(("NumRet", "NumRelRet", "NumNonRelRet", "binG", "G", "nDCG_rel", "RnDCG", "Hits@2"), 0.0),
    "NumRel": 2.0,
    "NumQ": 1.0,
    "RBPres": 1.0,
    "SetP": 0.0,
    "SetP(relative=True)": 0.0,
    "Judged": "nothing retrieved",
    "Hole@5": "nothing retrieved",
    "InvRate": "fewer than two results",
    **NO_CHUNKS,
}


@each("measure", NOTHING_TO_FIND)
def test_query_without_relevant_documents(measure: str) -> None:
    """Counts, gains and precision are 0 when there is nothing to find; a share of nothing has no value."""
    scores = karat.score({"q": {"n": 0, "p": -1}}, {"q": ["x", "n", "p"]}, [measure])
    assert _value_or_reason(scores) == NOTHING_TO_FIND[measure]


@each("measure", NOTHING_RETURNED)
def test_query_with_an_empty_list(measure: str) -> None:
    """A system that returns nothing found nothing; what part of nothing was judged, or is in order, has no value."""
    scores = karat.score({"q": {"a": 1, "b": 2}, "r": {"a": 1}}, {"q": [], "r": ["a", "b"]}, [measure])
    assert _value_or_reason(scores.select(["q"])) == NOTHING_RETURNED[measure]


@pytest.mark.parametrize("table", [NOTHING_TO_FIND, NOTHING_RETURNED], ids=["to find", "returned"])
def test_every_measure_says_what_nothing_is_worth(table: dict[str, float | str]) -> None:
    """A measure cannot be added without a decision on what it is worth where there is nothing."""
    built_in = {d.name for d in MEASURES if d.kernel.__module__.startswith("karat.measures.") and not d.traced}
    assert {Measure.parse(name).name for name in table} == built_in


def test_rbp_and_its_residual_enclose_what_judging_could_find() -> None:
    """RBP + RBPres is the RBP of the same ranking if every unjudged rank, also below the end, were relevant."""
    p = 0.8
    unjudged_ranks = (1, 5, 6, 8)  # v w p x
    value = (1 - p) * sum(p ** (rank - 1) for rank in (2, 4, 7, *unjudged_ranks))
    below_the_end = p**8
    scores = karat.score(LONG_QRELS, LONG, ["RBP", "RBPres"]).mean()
    assert scores["RBP"] + scores["RBPres"] == pytest.approx(value + below_the_end, rel=1e-14)


def test_a_grade_above_the_scale_of_err_is_an_error() -> None:
    """ERR refuses a grade for which its probabilities would pass 1, and says how to name the scale."""
    with pytest.raises(MeasureError, match=r"grades up to 4, and the judgments have 5; use ERR\(max_grade=5\)"):
        karat.score({"q": {"a": 5}}, {"q": ["a"]}, ["ERR"])


def test_err_on_a_very_long_scale_is_tiny_and_finite() -> None:
    """The top of the scale may be so high that 2 to its power is no number: (2^3 - 1) / 2^1020 is still one."""
    assert karat.score({"q": {"a": 3}}, {"q": ["a"]}, ["ERR(max_grade=1020)"]).values[0, 0] == 7 / 2**1020
    assert karat.score({"q": {"a": 3}}, {"q": ["a"]}, ["ERR(max_grade=5000)"]).values[0, 0] == 0.0


def test_exponential_gain_of_a_huge_grade_is_an_error() -> None:
    """2 to the power of a grade that no float can hold is refused, where it would have been infinite."""
    with pytest.raises(MeasureError, match=r"gain='exp' of grade 2000 is more than a number can hold"):
        karat.score({"q": {"a": 2000}}, {"q": ["a"]}, ["nDCG(gain='exp')@10"])


def test_a_gain_may_be_negative() -> None:
    """A document can be worth less than nothing; the ideal ranking leaves it out."""
    scores = karat.score({"q": {"a": 1, "n": 0}}, {"q": ["n", "a"]}, ["nDCG(gains={0: -1})", "DCG(gains={0: -1})"])
    assert scores.mean() == pytest.approx(
        {"nDCG(gains={0:-1})": -1 / log2(2) + 1 / log2(3), "DCG(gains={0:-1})": -1 / log2(2) + 1 / log2(3)}, rel=1e-14
    )


def _value_or_reason(scores: karat.Scores) -> float | str | None:
    (query,), (measure,) = scores.queries, scores.measures
    value = scores.value(query, measure)
    return scores.reason(query, measure) if value is None else value
