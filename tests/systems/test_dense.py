"""The dense index: exact by hand and by brute force, ties to the last bit, blocks, the graph, and saving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from each import each
from karat.core import InputError, UsageError
from karat.systems.index import Dense, _dense, _vectors
from karat.systems.index._ranking import best
from strategies import quick

EXACT, GRAPH = Dense(method="exact"), Dense(method="hnsw")


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(n: int, queries: int, size: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Vectors in groups, as texts on some topics have them, and queries from the same groups."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((30, size))
    points = centres[rng.integers(0, 30, n + queries)] + rng.standard_normal((n + queries, size))
    return unit(points[:n]), unit(points[n:])


def test_by_hand() -> None:
    """Inner products decide, equal ones by number, and k cuts."""
    index = EXACT.build([[1, 0], [0, 1], [0.6, 0.8], [1, 0], [-1, 0]])
    assert index.search([1, 0], 9) == [(0, 1), (3, 1), (2, pytest.approx(0.6)), (1, 0), (4, -1)]
    assert index.search([1, 0], 1) == [(0, 1)]
    assert index.search_many([[0, 1], [-1, 0]], 2) == [[(1, 1), (2, pytest.approx(0.8))], [(4, 1), (1, 0)]]
    assert len(index) == 5


@quick
@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(1, 45))
def test_best_is_a_stable_sort(values: list[int], k: int) -> None:
    """The best k are what sorting all by score and place gives, however many are equal."""
    scores = np.array(values, np.float32)
    assert best(scores, k).tolist() == sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]


SMALL = st.sampled_from([-1.0, -0.5, 0.0, 0.3, 0.5, 1.0])


@quick
@given(
    arrays(np.float32, st.tuples(st.integers(1, 30), st.just(5)), elements=SMALL),
    arrays(np.float32, 5, elements=SMALL),
    st.integers(1, 35),
)
def test_equals_brute_force(vectors: np.ndarray, query: np.ndarray, k: int) -> None:
    """The hits are those of all inner products in double precision, sorted."""
    products = [float(np.sum(row.astype(float) * query.astype(float))) for row in vectors]
    wanted = sorted(range(len(vectors)), key=lambda i: (-products[i], i))[:k]
    assert EXACT.build(vectors).search(query, k) == [(i, products[i]) for i in wanted]


def test_copies_tie_to_the_last_bit() -> None:
    """Equal vectors have one score wherever they stand, alone and among many queries, and come by number."""
    vectors, queries = clustered(1500, 40, 384)
    places = [3, 77, 700, 1111, 1499]
    vectors[places] = vectors[0]
    index = EXACT.build(vectors)
    hits = index.search(vectors[0], 20)
    assert [number for number, _ in hits[:6]] == [0, *places]
    assert len({score for _, score in hits[:6]}) == 1
    assert index.search_many(queries, 20) == [index.search(query, 20) for query in queries]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many queries and candidates are computed at a time, hits and scores are the same."""
    vectors, queries = clustered(300, 7)
    whole = EXACT.build(vectors).search_many(queries, 50)
    monkeypatch.setattr(_dense, "_CELLS", 600)
    monkeypatch.setattr(_vectors, "_ROWS", 16)
    assert EXACT.build(vectors).search_many(queries, 50) == whole


def test_near_ties_are_ordered_by_their_true_products() -> None:
    """Vectors that differ by less than single precision can add up still come in their right order."""
    rng = np.random.default_rng(3)
    base, query = unit(rng.standard_normal((1, 384)))[0], unit(rng.standard_normal((1, 384)))[0]
    vectors = np.tile(base, (400, 1))
    vectors[np.arange(400), rng.integers(0, 384, 400)] += np.float32(1e-7)
    true = vectors.astype(np.longdouble) @ query.astype(np.longdouble)
    hits = EXACT.build(vectors).search(query, 10)
    assert [true[number] for number, _ in hits] == pytest.approx(np.sort(true)[::-1][:10], abs=1e-15)


def test_the_callers_array_is_left_alone() -> None:
    """Building and searching do not change or lock what they are given."""
    vectors, queries = clustered(10, 2)
    before = vectors.copy()
    EXACT.build(vectors).search_many(queries, 3)
    assert vectors.flags.writeable
    assert (vectors == before).all()


@pytest.mark.parametrize("how", [EXACT, GRAPH], ids=["exact", "hnsw"])
def test_an_empty_index_finds_nothing(how: Dense) -> None:
    """No vectors, no hits."""
    if how is GRAPH:
        pytest.importorskip("hnswlib")
    assert how.build(np.zeros((0, 4))).search([0, 0, 0, 1], 3) == []


@each(
    ("make", "message"),
    [
        (lambda: EXACT.build([[1.0, np.nan]]), "vector 0 holds a number that is not finite"),
        (lambda: EXACT.build([[1.0, 0.0], [np.inf, 0.0]]), "vector 1 holds"),
        (lambda: EXACT.build([[1e30, 0.0]]), "too large"),
        (lambda: EXACT.build([1.0, 0.0]), "vectors of shape"),
        (lambda: EXACT.build([[1.0, 0.0]]).search([1.0], 1), "a query of 1 dimensions for an index of 2"),
        (lambda: EXACT.build([[1.0, 0.0]]).search([np.nan, 1.0], 1), "not finite"),
        (lambda: EXACT.build([[1.0, 0.0]]).search([1.0, 1.0], 0), "k=0"),
        (lambda: Dense(method="exakt"), "unknown method 'exakt' of the dense index, did you mean 'exact'"),  # type: ignore[arg-type]
        (lambda: Dense(limit=-1), "limit=-1; choose 0 or more"),
    ],
)
def test_mistakes_are_named(make: Callable[[], object], message: str) -> None:
    """What cannot be compared is refused."""
    with pytest.raises(UsageError, match=message):
        make()


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    """A loaded index gives the same bits; one of other vectors, or in another form, is refused."""
    vectors, queries = clustered(50, 5)
    index = EXACT.build(vectors)
    index.save(tmp_path / "dense", "sha256:1")
    assert EXACT.load(tmp_path / "dense", "sha256:1", size=50).search_many(queries, 9) == index.search_many(queries, 9)
    with pytest.raises(InputError, match="built from something else: sha256:1, not sha256:2"):
        EXACT.load(tmp_path / "dense", "sha256:2", size=50)
    (tmp_path / "dense").write_bytes((tmp_path / "dense").read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged"):
        EXACT.load(tmp_path / "dense", "sha256:1", size=50)


def test_the_stated_size_decides() -> None:
    """Up to 100,000 vectors are compared one by one; above it the graph is used where its package is installed."""
    assert Dense().choose(100_000) == "exact"
    assert EXACT.choose(10**9) == "exact"
    pytest.importorskip("hnswlib")
    assert Dense().choose(100_001) == "hnsw"
    assert Dense(limit=10).build(clustered(11, 1)[0]).describe()["kind"] == "hnsw"


@pytest.mark.slow
def test_the_graph_finds_nearly_all() -> None:
    """Of the ten best of 5,000 vectors the graph finds at least 98 %, with exact scores in exact order."""
    pytest.importorskip("hnswlib", reason="hnswlib is not installed: the graph is UNTESTED")
    vectors, queries = clustered(5000, 100)
    exact, near = EXACT.build(vectors).search_many(queries, 10), GRAPH.build(vectors).search_many(queries, 10)
    assert np.mean([len({*dict(best)} & {*dict(other)}) / 10 for best, other in zip(exact, near, strict=True)]) >= 0.98
    for first, other in zip(exact, near, strict=True):
        assert other == sorted(other, key=lambda hit: (-hit[1], hit[0]))
        assert [hit for hit in other if hit in first] == [hit for hit in first if hit[0] in dict(other)]


@pytest.mark.slow
def test_the_graph_is_the_same_every_time(tmp_path: Path) -> None:
    """Two builds and a loaded copy give the same hits; other parameters or vectors are refused."""
    pytest.importorskip("hnswlib", reason="hnswlib is not installed: the graph is UNTESTED")
    vectors, queries = clustered(2000, 30)
    index = GRAPH.build(vectors)
    hits = index.search_many(queries, 20)
    index.save(tmp_path / "graph", "f")
    assert GRAPH.build(vectors).search_many(queries, 20) == hits
    assert GRAPH.load(tmp_path / "graph", "f", size=2000).search_many(queries, 20) == hits
    for how, mark in ((Dense(method="hnsw", links=8), "f"), (GRAPH, "g"), (EXACT, "f")):
        with pytest.raises(InputError, match="built"):
            how.load(tmp_path / "graph", mark, size=2000)


def test_the_graph_gives_as_many_as_were_asked_for() -> None:
    """Where some vectors cannot be reached in the graph, all are looked at; copies come by number."""
    pytest.importorskip("hnswlib", reason="hnswlib is not installed: the graph is UNTESTED")
    vectors, queries = clustered(300, 3)
    sparse = Dense(method="hnsw", links=2, build_width=10).build(vectors)
    assert sparse.search_many(queries, 300) == EXACT.build(vectors).search_many(queries, 300)
    copies = np.tile(unit(np.ones((1, 8))), (3000, 1))
    hits = GRAPH.build(copies).search(copies[0], 2500)
    assert len(hits) == 2500
    assert [number for number, _ in hits] == sorted(number for number, _ in hits)
    assert len(GRAPH.build(copies[:3]).search(copies[0], 10)) == 3
