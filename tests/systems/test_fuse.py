"""Fusion: every formula by hand, then beside ranx and another implementation, then what must hold for any rankings."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import InputError, Place, UsageError
from karat.systems._fuse import NORMS, Fused, Fusion, Method, Norm, format_trec, fuse, minmax
from strategies import quick

LEXICAL = [("a", 8.0), ("b", 6.0), ("c", 0.0)]
DENSE = [("c", 0.9), ("d", 0.5), ("a", 0.4)]
BOTH = {"lexical": LEXICAL, "dense": DENSE}
METHODS: list[Method] = ["rrf", "isr", "weighted", "combsum", "combmnz"]
NORM: list[Norm] = ["minmax", "z", "rank"]


def scores(fused: list[Fused[str]]) -> dict[str, float]:
    return {hit.id: hit.score for hit in fused}


def test_rrf_by_hand() -> None:
    """Reciprocal ranks with k = 60, and with another k and weights."""
    assert scores(Fusion()(BOTH)) == pytest.approx(
        {"a": 1 / 61 + 1 / 63, "c": 1 / 63 + 1 / 61, "b": 1 / 62, "d": 1 / 62}
    )
    weighted = Fusion(k=0, weights={"lexical": 0.25, "dense": 2})(BOTH)
    assert scores(weighted) == pytest.approx({"c": 0.25 / 3 + 2, "d": 1, "a": 0.25 + 2 / 3, "b": 0.125})
    assert [hit.id for hit in weighted] == ["c", "d", "a", "b"]


def test_isr_by_hand() -> None:
    """Inverse squares of ranks, times the number of channels."""
    assert scores(Fusion(method="isr")(BOTH)) == pytest.approx(
        {"a": 2 * (1 + 1 / 9), "c": 2 * (1 / 9 + 1), "b": 1 / 4, "d": 1 / 4}
    )


def test_sums_by_hand() -> None:
    """Min-max: lexical a 1, b 0.75, c 0; dense c 1, d 0.2, a 0."""
    summed = {"a": 1.0, "b": 0.75, "c": 1.0, "d": 0.2}
    assert scores(Fusion(method="combsum")(BOTH)) == pytest.approx(summed)
    assert scores(Fusion(method="combmnz")(BOTH)) == pytest.approx({"a": 2.0, "b": 0.75, "c": 2.0, "d": 0.2})
    weighted = Fusion(method="weighted", weights={"lexical": 0.3, "dense": 0.7})(BOTH)
    assert scores(weighted) == pytest.approx({"a": 0.3, "b": 0.225, "c": 0.7, "d": 0.14})
    assert scores(Fusion(method="weighted")(BOTH)) == pytest.approx(summed)


def test_norms_by_hand() -> None:
    """z is the standard score counted from the lowest: of 3, 1, -1 with deviation sqrt(8/3); rank goes down to 1/n."""
    assert minmax([3.0, 1.0, -1.0]) == [1.0, 0.5, 0.0]
    assert NORMS["z"]([3.0, 1.0, -1.0]) == pytest.approx([4 / math.sqrt(8 / 3), 2 / math.sqrt(8 / 3), 0])
    assert NORMS["rank"]([3.0, 1.0, -1.0]) == pytest.approx([1, 2 / 3, 1 / 3])


@each("norm", NORM)
@each("equal", [[7.0], [-7.0], [0.0], [0.1, 0.1, 0.1], [1e308, 1e308], [5e-324]])
def test_equal_scores_are_worth_something(norm: str, equal: list[float]) -> None:
    """In a list without differences, to be found counts: 1 each, or by rank."""
    wanted = NORMS["rank"](equal) if norm == "rank" else [1.0] * len(equal)
    assert NORMS[norm](equal) == wanted
    assert NORMS[norm]([]) == []


def test_z_does_not_punish_what_was_found() -> None:
    """The last document of a list stands where one that is not in the list stands, and not below it."""
    fused = Fusion(method="combsum", norm="z")({"one": [("x", 9.0), ("y", 8.0), ("z", 1.0)], "two": [("w", 5.0)]})
    assert scores(fused)["z"] == 0.0
    assert min(scores(fused).values()) == 0.0


def test_channels_are_kept() -> None:
    """Each hit says which channel had it at which rank with which score."""
    fused = {hit.id: hit.channels for hit in Fusion()(BOTH)}
    assert fused["a"] == {"lexical": Place(1, 8.0), "dense": Place(3, 0.4)}
    assert fused["d"] == {"dense": Place(2, 0.5)}


def test_ties_have_an_order() -> None:
    """Equal scores: chunks by number, upwards; documents by id as bytes, downwards, as trec_eval has it."""
    assert [hit.id for hit in Fusion()({"x": [(7, 2.0)], "y": [(3, 1.0)]})] == [3, 7]
    assert [hit.id for hit in Fusion()({"x": [("d10", 2.0)], "y": [("d9", 1.0)], "z": [("\U0001f642", 1.0)]})] == [
        *("\U0001f642", "d9", "d10"),
    ]


def test_depth_and_nothing() -> None:
    """Only so many are kept; no channels, and channels without hits, give nothing."""
    assert [hit.id for hit in Fusion()(BOTH, 1)] == ["c"]
    empty: list[tuple[str, float]] = []
    assert Fusion()({}) == []
    assert Fusion()({"lexical": empty, "dense": empty}) == []
    assert scores(Fusion(method="combmnz")({"lexical": empty, "dense": [("a", 1.0)]})) == {"a": 1.0}


@each("method", METHODS)
@each("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_none_are_refused(method: Method, score: float) -> None:
    """NaN and infinities are refused by every method, also by those that look at ranks only."""
    with pytest.raises(InputError, match="channel dense has a score that is not a finite number"):
        Fusion(method=method)({"lexical": LEXICAL, "dense": [("a", score)]})


@each(
    ("options", "message"),
    [
        ({"method": "rrff"}, "unknown method 'rrff' of fusion, did you mean 'rrf'"),
        ({"norm": "softmax"}, "unknown norm 'softmax' of fusion; known: minmax, z, rank"),
        ({"k": -1}, "k=-1"),
        ({"k": math.nan}, "k=nan"),
        ({"method": "combsum", "weights": {"dense": 1}}, "combsum takes no weights; choose rrf or weighted"),
        ({"weights": {"dense": -1}}, "a number from 0 to 1e\\+09"),
        ({"weights": {"dense": math.nan}}, "a number from 0"),
        ({"weights": {"dens": 1}}, "a weight for 'dens', which is not a channel, did you mean 'dense'"),
        ({"weights": {"dense": 0, "lexical": 0}}, "all weights are 0"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    """What makes no sense is refused, with what would."""
    with pytest.raises(UsageError, match=message):
        Fusion(**options)(BOTH)


def test_a_document_stands_once_in_a_channel() -> None:
    """A ranking with a document twice is refused."""
    with pytest.raises(InputError, match="channel one has 'a' twice"):
        Fusion()({"one": [("a", 2.0), ("a", 1.0)]})


def test_description_has_what_matters_only() -> None:
    """What a method does not look at does not change its description."""
    assert Fusion(norm="z").describe() == Fusion().describe() == {"method": "rrf", "k": 60, "weights": {}}
    assert Fusion(method="isr", k=3).describe() == {"method": "isr"}
    assert Fusion(method="combmnz", norm="z").describe() == {"method": "combmnz", "norm": "z"}


def test_runs_are_fused_query_by_query() -> None:
    """A run is ranked by score and then id, whatever its order; a query of one run is fused from that one."""
    runs = {"one": {"q1": {"a": 1.0, "b": 1.0}}, "two": {"q1": {"b": 5.0}, "q2": {"c": -3.0}}}
    fused = fuse(runs)
    assert [(hit.id, hit.channels["one"].rank) for hit in fused["q1"]] == [("b", 1), ("a", 2)]
    assert scores(fused["q2"]) == {"c": 1 / 61}
    with pytest.raises(UsageError, match="depth=0"):
        fuse(runs, depth=0)


def test_ids_with_blanks_cannot_be_written() -> None:
    """TREC's columns have blanks between them, so that an id with one is refused and not mangled."""
    for query, document in (("q", "a b"), ("q\t1", "a")):
        with pytest.raises(InputError, match="holds a blank"):
            list(format_trec({query: [Fused(document, 1.0, {})]}, tag="rrf"))
    assert list(format_trec({"q": [Fused("caf\u00e9\u00a0x", 1e-07, {})]}, tag="t")) == [
        "q Q0 caf\u00e9\u00a0x 1 1e-07 t\n"
    ]


def other(method: str, norm: str, k: float, channels: dict[str, list[tuple[str, float]]]) -> dict[str, float]:
    """Fuse again, with arrays: a row for each document, a column for each channel."""
    documents = sorted({document for ranking in channels.values() for document, _ in ranking})
    table = np.zeros((len(documents), len(channels)))
    there = np.zeros_like(table, bool)
    for column, ranking in enumerate(channels.values()):
        values = np.array([score for _, score in ranking])
        ranks = np.arange(1, len(ranking) + 1)
        if method == "rrf":
            adds = 1 / (k + ranks)
        elif method == "isr":
            adds = ranks**-2.0
        elif norm == "rank":
            adds = (len(ranks) + 1 - ranks) / len(ranks)
        else:
            width = values.std() if norm == "z" else np.ptp(values)
            adds = (values - values.min()) / width if np.ptp(values) else np.ones(len(values))
        for (document, _), add in zip(ranking, adds, strict=True):
            table[documents.index(document), column] = add
            there[documents.index(document), column] = True
    sums = table.sum(axis=1) * (there.sum(axis=1) if method in ("isr", "combmnz") else 1)
    return dict(zip(documents, sums.tolist(), strict=True))


RANKING = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-50, 50).map(float), min_size=1, max_size=8).map(
    lambda scored: sorted(scored.items(), key=lambda item: (item[1], item[0]), reverse=True)
)
CHANNELS = st.dictionaries(st.sampled_from(["one", "two", "three"]), RANKING, min_size=1)


@quick
@given(CHANNELS, st.sampled_from(METHODS), st.sampled_from(NORM), st.integers(0, 100))
def test_equals_another_implementation(channels: Any, method: Method, norm: Norm, k: int) -> None:
    """Every method and norm gives what the same formula gives with arrays, and the order follows the scores."""
    fused = Fusion(method=method, norm=norm, k=k)(channels)
    assert scores(fused) == pytest.approx(other(method, norm, k, channels))
    assert [hit.id for hit in fused] == sorted(scores(fused), key=lambda d: (scores(fused)[d], d), reverse=True)


@quick
@given(CHANNELS, st.sampled_from(METHODS), st.sampled_from(NORM))
def test_order_of_channels_changes_no_bit(channels: Any, method: Method, norm: Norm) -> None:
    """However the channels are given, scores and order are the same."""
    fusion = Fusion(method=method, norm=norm)
    results = [fusion({name: channels[name] for name in names}) for names in permutations(channels)]
    assert all([(h.id, h.score) for h in result] == [(h.id, h.score) for h in results[0]] for result in results)


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.sampled_from(NORM))
def test_norms_keep_the_order(values: list[float], norm: Norm) -> None:
    """For any finite scores, however large, a norm gives finite numbers from 0 up that never turn an order round."""
    values.sort(reverse=True)
    scores = NORMS[norm](values)
    assert all(math.isfinite(value) and value >= 0 for value in scores)
    assert scores == sorted(scores, reverse=True)
    if norm == "minmax":
        assert max(scores) == 1


@quick
@given(RANKING, st.sampled_from(METHODS), st.sampled_from(NORM))
def test_one_channel_keeps_its_order(ranking: Any, method: Method, norm: Norm) -> None:
    """Fusing one ranking alone leaves it as it is."""
    assert [hit.id for hit in Fusion(method=method, norm=norm)({"only": ranking})] == [key for key, _ in ranking]


@pytest.mark.slow
@quick
@given(CHANNELS, RANKING, st.sampled_from(METHODS), st.sampled_from(NORM))
def test_to_be_found_never_hurts(channels: Any, more: Any, method: Method, norm: Norm) -> None:
    """A further channel lowers the score of no document."""
    fusion = Fusion(method=method, norm=norm)
    before, after = scores(fusion(channels)), scores(fusion({**channels, "more": more}))
    assert all(after[document] >= before[document] - 1e-12 for document in before)


_ASK = """
import json, sys
from ranx import Run, fuse
request = json.load(sys.stdin)
results = {}
for method, norm, params in request["ways"]:
    runs = [Run(run) for run in request["runs"]]
    fused = fuse(runs, norm=norm, method=method, params=params)
    results[f"{method} {norm}"] = {q: dict(d) for q, d in fused.to_dict().items()}
json.dump(results, sys.stdout)
"""


@pytest.mark.slow
def test_equals_ranx(python_of: Callable[[str], Path], environment: dict[str, str]) -> None:
    """On runs with distinct scores, all methods and the norms that ranx defines alike give ranx's scores."""
    rng = np.random.default_rng(5)
    runs = [
        {
            f"q{q}": {f"d{d}": float(s) for d, s in zip(rng.permutation(60)[:30], rng.normal(size=30), strict=True)}
            for q in range(20)
        }
        for _ in range(3)
    ]
    weights = {"0": 0.2, "1": 0.3, "2": 0.5}
    ways: list[tuple[str, str | None, dict[str, Any] | None, Fusion]] = [
        ("rrf", None, {"k": 60}, Fusion()),
        ("isr", None, None, Fusion(method="isr")),
        ("sum", "min-max", None, Fusion(method="combsum")),
        ("sum", "rank", None, Fusion(method="combsum", norm="rank")),
        ("mnz", "min-max", None, Fusion(method="combmnz")),
        ("mnz", "rank", None, Fusion(method="combmnz", norm="rank")),
        ("wsum", "min-max", {"weights": [0.2, 0.3, 0.5]}, Fusion(method="weighted", weights=weights)),
    ]
    request = {"runs": runs, "ways": [way[:3] for way in ways]}
    env = environment | {"NUMBA_DISABLE_JIT": "1"}  # to compile takes longer than to interpret
    answer = subprocess.run(
        [python_of("bench"), "-c", _ASK], input=json.dumps(request), env=env, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    theirs = json.loads(answer.stdout)
    for method, norm, _, fusion in ways:
        ours = fuse({str(i): run for i, run in enumerate(runs)}, fusion)
        for query, wanted in theirs[f"{method} {norm}"].items():
            assert scores(ours[query]) == pytest.approx(wanted), (method, norm)
