"""karat against trec_eval 9 (pytrec-eval-terrier): the same bits for every measure that both have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from pytrec_eval_ext import RelevanceEvaluator

import karat
from karat.core import Measure
from strategies import GRADES, Table, quick, score_all_ways, tables, thorough

TREC = {"rounding": "trec"}

RANKED = {
    "map": ["AP", "map"],
    **{f"map_cut_{k}": [f"AP@{k}", f"map@{k}"] for k in (1, 3, 5, 20)},
    **{f"P_{k}": [f"P@{k}", f"precision@{k}"] for k in (1, 3, 5, 20)},
    **{f"recall_{k}": [f"R@{k}", f"recall@{k}"] for k in (1, 3, 5, 20)},
    **{f"relative_P_{k}": [f"R_cap@{k}", f"relative_P@{k}"] for k in (1, 3, 5, 20)},
    **{f"success_{k}": [f"Success@{k}", f"hit@{k}"] for k in (1, 3, 5, 20)},
    "recip_rank": ["RR", "recip_rank"],
}
GRADED = {
    "ndcg": ["nDCG", "ndcg"],
    **{f"ndcg_cut_{k}": [f"nDCG@{k}", f"ndcg_cut@{k}"] for k in (1, 3, 5, 20)},
}
LEVELS = ("0.00", "0.03", "0.10", "0.25", "0.50", "0.90", "1.00")
MULTIPLES = ("0.02", "0.20", "0.60", "1.00", "1.40", "2.00")
SHARES = {
    "Rprec": ["Rprec"],
    **{f"Rprec_mult_{x}": [f"Rprec(mult={x})", f"Rprec_mult(mult={x})"] for x in MULTIPLES},
    **{f"iprec_at_recall_{x}": [f"IPrec@{x}", f"iprec_at_recall@{x}"] for x in LEVELS},
    "11pt_avg": ["IPrec11", "11pt_avg"],
}
INCOMPLETE = {"bpref": ["Bpref"], "infAP": ["infAP"]}
SETS = {
    "set_P": ["SetP", "set_P"],
    "set_recall": ["SetR", "set_recall"],
    "set_F": ["SetF", "set_F"],
    "set_map": ["SetAP", "set_map"],
    "set_relative_P": ["SetP(relative=True)"],
    "utility": ["Utility"],
}
COUNTS = {
    "num_q": ["NumQ", "num_q"],
    "num_ret": ["NumRet", "num_ret"],
    "num_rel": ["NumRel", "num_rel"],
    "num_rel_ret": ["NumRelRet", "num_rel_ret"],
    "num_nonrel_judged_ret": ["NumNonRelRet", "num_nonrel_judged_ret"],
}
EXPERIMENTAL = {"binG": ["binG"], "G": ["G"], "ndcg_rel": ["nDCG_rel"], "Rndcg": ["RnDCG", "Rndcg"]}
GEOMETRIC = {"gm_map": ["GMAP", "gm_map"], "gm_bpref": ["GBpref", "gm_bpref"]}
FAMILIES = {
    "rankings": RANKED | GRADED,
    "shares and sets": SHARES | SETS | COUNTS,
    "incomplete and experimental": INCOMPLETE | EXPERIMENTAL,
}
NOT_A_NUMBER = {"relstring", "runid"}
"""What trec_eval prints as text; there is nothing to compare."""
TAKES_NO_LEVEL = {"NumRet"}
"""Its ``rel`` means something else: count only the relevant documents."""

levels = st.integers(1, 3)
seeds = st.integers(0, 2**32)


def test_every_measure_of_pytrec_eval_is_compared() -> None:
    """No measure that pytrec_eval supports is left out of this file."""
    compared = {_base(name) for family in (*FAMILIES.values(), GEOMETRIC) for name in family}
    assert compared == pytrec_eval.supported_measures - NOT_A_NUMBER


@pytest.mark.slow(10)
@thorough
@given(tables=tables(), level=levels, judged_only=st.booleans(), seed=seeds)
def test_every_query_has_the_same_bits(tables: tuple[Table, Table], level: int, judged_only: bool, seed: int) -> None:
    """Ties, pooled documents, missing and extra queries, odd scores and ids: each value is trec_eval's own."""
    qrels, run = tables
    names = {name: texts for family in FAMILIES.values() for name, texts in family.items()}
    if level > 1:
        names.pop("Rndcg", None)  # trec_eval asks for a relevant document at this level and then ignores the level
    if judged_only:
        names.pop("infAP", None)  # estimates from what is not judged, so that karat has no judged_only for it
    measures = {name: [_with(text, level, judged_only) for text in texts] for name, texts in names.items()}
    theirs = _evaluate(qrels, run, names, level, judged_only)
    by_name = {str(measure): measure for same in measures.values() for measure in same}
    ours = score_all_ways(qrels, run, by_name.values(), seed=seed, undefined="zero")
    assert set(theirs) == set(ours.queries) - set(ours.not_in_run)
    for query, values in theirs.items():
        for name, same in measures.items():
            for measure in same:
                _check(values[name], ours.value(query, str(measure)), (query, name, measure))


@pytest.mark.slow
@quick
@given(tables=tables(), level=levels, seed=seeds)
def test_geometric_measures_have_the_same_logarithms_and_means(
    tables: tuple[Table, Table], level: int, seed: int
) -> None:
    """trec_eval's value of a query is a logarithm, ours the value itself; the geometric mean is the same."""
    qrels, run = tables
    theirs = _evaluate(qrels, run, GEOMETRIC, level, judged_only=False)
    measures = {name: _with(texts[0], level, judged_only=False) for name, texts in GEOMETRIC.items()}
    ours = score_all_ways(qrels, run, measures.values(), seed=seed, undefined="zero", missing="exclude")
    for name, measure in measures.items():
        for query, values in theirs.items():
            value = ours.value(query, str(measure))
            assert value is not None
            assert math.log(max(value, 0.00001)) == values[name]
        expected = pytrec_eval.compute_aggregated_measure(name, [values[name] for values in theirs.values()])
        assert ours.mean()[str(measure)] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@quick
@given(tables=tables(), seed=seeds)
def test_means_and_sums_are_trec_evals(tables: tuple[Table, Table], seed: int) -> None:
    """Under trec_eval's conventions the mean of a measure, and the sum of a count, is what trec_eval prints last."""
    qrels, run = tables
    names = RANKED | GRADED | SHARES | SETS | COUNTS
    theirs = _evaluate(qrels, run, names, 1, judged_only=False)
    by_name = {name: Measure.parse(texts[0]) for name, texts in names.items()}
    ours = score_all_ways(qrels, run, by_name.values(), seed=seed, conventions="trec")
    for name, measure in by_name.items():
        expected = pytrec_eval.compute_aggregated_measure(name, [values[name] for values in theirs.values()])
        got = ours.sum(str(measure)) if name.startswith("num_") else ours.mean()[str(measure)]
        assert got == pytest.approx(expected, abs=1e-12), name


@pytest.mark.slow
@quick
@given(
    tables=tables(grades=GRADES),
    gains=st.dictionaries(st.integers(0, 5), st.integers(0, 9), min_size=1, max_size=4),
    seed=seeds,
)
def test_custom_gains_have_the_same_bits(tables: tuple[Table, Table], gains: dict[int, int], seed: int) -> None:
    """Whole-number gains of single grades, 0 and unused grades included, act as in trec_eval's ``ndcg.1=3,2=9``."""
    qrels, run = tables
    text = ",".join(f"{grade}={gain}" for grade, gain in gains.items())
    pairs = {"ndcg": "nDCG", "G": "G", "ndcg_rel": "nDCG_rel", "Rndcg": "RnDCG"}
    measures = {name: Measure.of(ours, None, {"gains": gains}) for name, ours in pairs.items()}
    theirs = _parametrised(qrels, run, [f"{name}.{text}" for name in pairs])
    ours = score_all_ways(qrels, run, measures.values(), seed=seed, undefined="zero")
    for query, values in theirs.items():
        for name, measure in measures.items():
            if name == "Rndcg" and max(qrels[query].values()) < 1:
                continue  # trec_eval looks for a relevant document first, whatever grade 0 gains
            _check(values[name], ours.value(query, str(measure)), (query, name))


@pytest.mark.slow
@quick
@given(tables=tables(), a=levels, b=st.integers(-3, 0), c=st.integers(-2, 2), d=st.integers(-2, 2), seed=seeds)
def test_utility_has_the_same_bits_for_every_weight(
    tables: tuple[Table, Table], a: int, b: int, c: int, d: int, seed: int
) -> None:
    """All four cells of the contingency table are weighted as in trec_eval's ``utility.a,b,c,d``."""
    qrels, run = tables
    measure = Measure.of("Utility", None, {"a": a, "b": b + 0.5, "c": c, "d": d})
    theirs = _parametrised(qrels, run, [f"utility.{a},{b + 0.5},{c},{d}"])
    ours = score_all_ways(qrels, run, [measure], seed=seed)
    for query, values in theirs.items():
        assert ours.value(query, str(measure)) == values["utility"]


@pytest.mark.slow
@quick
@given(tables=tables(), beta=st.sampled_from([0.0, 0.25, 0.5, 2.0, 9.0]), level=levels, seed=seeds)
def test_set_f_has_the_same_bits_for_every_weight(
    tables: tuple[Table, Table], beta: float, level: int, seed: int
) -> None:
    """The parameter beta is trec_eval's weight x in ``set_F.x``."""
    qrels, run = tables
    measure = Measure.of("SetF", None, {"beta": beta, "rel": level})
    theirs = _evaluate(qrels, run, [f"set_F_{beta}"], level, judged_only=False)
    ours = score_all_ways(qrels, run, [measure], seed=seed, undefined="zero")
    for query, values in theirs.items():
        _check(values["set_F"], ours.value(query, str(measure)), query)


@pytest.mark.parametrize("documents", [1, 2, 1000])
def test_long_and_short_lists_have_the_same_bits(documents: int) -> None:
    """A list of one document and lists as long as TREC's agree to the last bit, ties at every score."""
    qrels = {"q": {f"d{i}": i % 5 for i in range(0, documents, 3)}}
    run = {"q": {f"d{i}": float((i * 7919) % 83) for i in range(documents)}}
    names = {name: texts[0] for family in FAMILIES.values() for name, texts in family.items()}
    theirs = _evaluate(qrels, run, names, 1, judged_only=False)["q"]
    measures = {name: _with(text, 1, judged_only=False) for name, text in names.items()}
    ours = score_all_ways(qrels, run, measures.values(), seed=documents, undefined="zero")
    for name, measure in measures.items():
        _check(theirs[name], ours.value("q", str(measure)), name)


def _base(name: str) -> str:
    """Return the measure of ``map_cut_5``: the longest supported name that it starts with."""
    return max((known for known in pytrec_eval.supported_measures if name.startswith(known)), key=len)


def _with(text: str, level: int, judged_only: bool) -> Measure:
    """Return a measure at a relevance level, on judged documents only and with trec_eval's rounding, where it can."""
    measure = Measure.parse(text)
    known = {parameter.name for parameter in measure.definition.parameters}
    wanted = TREC | {"rel": level, "judged_only": judged_only}
    if measure.name in TAKES_NO_LEVEL:
        del wanted["rel"]
    return Measure.of(
        measure.name, measure.cutoff, dict(measure.params) | {k: v for k, v in wanted.items() if k in known}
    )


def _evaluate(
    qrels: Table, run: Table, names: Iterable[str], level: int, judged_only: bool
) -> Mapping[str, Mapping[str, float]]:
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, set(names), relevance_level=level, judged_docs_only_flag=judged_only
    )
    return evaluator.evaluate(run)


def _parametrised(qrels: Table, run: Table, names: list[str]) -> Mapping[str, Mapping[str, float]]:
    """Ask the C extension itself: the Python wrapper takes no negative numbers and no pairs."""
    evaluator = RelevanceEvaluator(
        query_relevance=qrels, measures=set(names), relevance_level=1, judged_docs_only_flag=False
    )
    return evaluator.evaluate(run)


def _check(theirs: float, ours: float | None, where: object) -> None:
    # trec_eval divides 0 by 0 where no judged document is left, or where no grade has a gain; both are worth nothing.
    assert ours == (0.0 if math.isnan(theirs) else theirs), where


def test_the_comparison_can_fail() -> None:
    """A value that differs in its last bit is refused, so that equality above means equality."""
    value = karat.score({"q": {"a": 1}}, {"q": {"x": 2, "y": 1.5, "a": 1}}, ["RR"]).value("q", "RR")
    assert value == 1 / 3
    with pytest.raises(AssertionError):
        _check(math.nextafter(1 / 3, 1), value, "RR")
