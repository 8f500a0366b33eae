"""karat against ir-measures 0.4.3 and the tools behind it, for what trec_eval 9 does not have.

Scores have no ties here: ir-measures orders them differently from one tool to the next (see test_peers_wrong.py).
"""

from __future__ import annotations

import math
import random

import ir_measures
import numpy as np
import pytest
from cwl.ruler.cwl_ruler import RBPCWLMetric
from cwl.ruler.ranking import Ranking
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import polygamma

import karat
from karat.core import Measure
from strategies import GRADES, judged, quick, untied_rankings

CWL_DEPTH = 1000
"""cwl_eval looks at so many ranks, and normalises by them."""
persistence = st.sampled_from([0.1, 0.5, 0.8, 0.95, 0.99])


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), k=st.integers(1, 14))
def test_judged_is_the_same(qrels: dict[str, int], run: dict[str, float], k: int) -> None:
    """The share of judged results is divided by what was returned, with and without a cut-off."""
    for measure in (f"Judged@{k}", "Judged"):
        assert _ours(measure, qrels, run) == _theirs(measure, qrels, run)


@quick
@given(qrels=judged(GRADES), run=untied_rankings(), p=persistence, normalize=st.booleans())
def test_compatibility_is_the_same(qrels: dict[str, int], run: dict[str, float], p: float, normalize: bool) -> None:
    """The closed form over judged documents gives what the overlap of two sets at every depth gives."""
    measure = f"Compat(p={p}, normalize={normalize})"
    assert _ours(measure, qrels, run) == pytest.approx(_theirs(measure, qrels, run), rel=1e-12, abs=1e-15)


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), p=persistence, rel=st.integers(1, 3))
def test_rank_biased_precision_is_the_same(qrels: dict[str, int], run: dict[str, float], p: float, rel: int) -> None:
    """RBP agrees with cwl_eval, whose 1,000 ranks hold all but p^1000 of the weight."""
    theirs = _theirs(f"RBP(rel={rel}, p={p})", qrels, run) * (1 - p**CWL_DEPTH)
    assert _ours(f"RBP(rel={rel}, p={p})", qrels, run) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), p=st.sampled_from([0.1, 0.5, 0.8, 0.95]))
def test_residual_of_rank_biased_precision_is_the_same(qrels: dict[str, int], run: dict[str, float], p: float) -> None:
    """RBPres is cwl_eval's best case, in which all that nobody judged is relevant, less its worst case."""
    gains = [float(qrels[document] > 0) if document in qrels else math.nan for document in _ranked(run)]
    metric = RBPCWLMetric(p)
    metric.residuals = True
    metric.measure(Ranking("q", np.array(gains), np.ones(len(gains)), max_n=CWL_DEPTH))
    assert _ours(f"RBPres(p={p})", qrels, run) == pytest.approx(metric.residual_expected_utility, rel=1e-12)


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), target=st.sampled_from([0.5, 1.0, 2.5, 10.0]))
def test_insq_differs_from_cwl_eval_by_its_normaliser_only(
    qrels: dict[str, int], run: dict[str, float], target: float
) -> None:
    """cwl_eval sums the weights of 1,000 ranks, karat those of all (the trigamma function); the rest is equal."""
    first_ranks = math.fsum(1 / (rank + 2 * target - 1) ** 2 for rank in range(1, CWL_DEPTH + 1))
    all_ranks = float(polygamma(1, 2 * target))
    assert all_ranks > first_ranks
    theirs = _theirs(f"INSQ(T={target}, max_rel=4)", qrels, run) * first_ranks / all_ranks
    assert _ours(f"INSQ(T={target}, max_grade=4)", qrels, run) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.slow
def test_gdeval_gives_the_same_to_its_five_decimals() -> None:
    """ERR@k and exponential nDCG@k agree with TREC's own script on 300 random topics, ties and pooled ones included."""
    draw = random.Random(20)
    documents = [f"d{i}" for i in range(30)]
    qrels = {
        str(topic): {d: draw.randint(-1, 4) for d in draw.sample(documents, draw.randint(1, 20))}
        for topic in range(300)
    }
    run = {
        topic: {d: draw.choice([0.25, 0.5, 1.0, 2.0, 3.0, draw.random()]) for d in draw.sample(documents, 25)}
        for topic in qrels
    }
    names = [name for k in (1, 5, 20, 100) for name in (f"ERR@{k}", f"nDCG(dcg='exp-log2')@{k}")]
    ours = karat.score(qrels, run, names)
    compared = 0
    for name in names:
        for metric in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run):
            if max(qrels[metric.query_id].values()) > 0:  # gdeval skips the others
                value = ours.value(metric.query_id, str(Measure.parse(name)))
                assert value == pytest.approx(metric.value, abs=0.000005 + 1e-12)
                compared += 1
    assert compared > 2000


@pytest.mark.slow
@quick
@given(qrels=judged(GRADES), run=untied_rankings(), k=st.integers(1, 14), rel=st.integers(1, 3))
def test_shared_spellings_mean_the_same(qrels: dict[str, int], run: dict[str, float], k: int, rel: int) -> None:
    """A measure written as ir-measures writes it is the same measure here."""
    names = [
        f"P(rel={rel})@{k}",
        f"R(rel={rel})@{k}",
        f"AP(rel={rel})@{k}",
        f"RR(rel={rel})",
        f"Success(rel={rel})@{k}",
        f"Rprec(rel={rel})",
        f"Bpref(rel={rel})",
        f"infAP(rel={rel})",
        f"SetP(rel={rel},relative=True)",
        f"SetR(rel={rel})",
        f"SetF(rel={rel},beta=0.5)",
        f"SetAP(rel={rel})",
        f"NumRet(rel={rel})",
        "nDCG(gains={1: 3, 2: 7})" + f"@{k}",
        f"nDCG(judged_only=True)@{k}",
        "NumRel",
        "NumRet",
        "NumQ",
    ]
    for name in names:
        assert _ours(name, qrels, run) == _theirs(name, qrels, run), name


def _ranked(run: dict[str, float]) -> list[str]:
    return sorted(run, key=lambda document: -run[document])


def _ours(measure: str, qrels: dict[str, int], run: dict[str, float]) -> float:
    value = karat.score({"q": qrels}, {"q": run}, [measure], undefined="zero").values[0, 0]
    return float(value)


def _theirs(measure: str, qrels: dict[str, int], run: dict[str, float]) -> float:
    (metric,) = ir_measures.iter_calc([ir_measures.parse_measure(measure)], {"q": qrels}, {"q": run})
    return float(metric.value)
