"""A run that is held in a table of hits is evaluated and compared as one that is made of objects."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.measures.test_whole import draw_golden, draw_hits

from each import each
from karat.core import Document, Hit, HitList, HitTable, InputError, Provenance, Run, Trace, find_table_rows
from karat.evaluation import RankedLists, StoredLists, describe_order, score_run
from karat.gate._lists import compare_lists, summarise_lists


def to_table(traces: list[Trace]) -> list[Trace]:
    """Return the same traces with their hits in one table, in which they stand in another order."""
    places = list(range(len(traces)))
    random.Random(len(traces)).shuffle(places)
    hits = [hit for place in places for hit in traces[place].hits]
    names = sorted({name for hit in hits for name in (hit.id, hit.document)})
    table = HitTable(
        names=names,
        id=np.array([names.index(hit.id) for hit in hits], np.int64),
        document=np.array([names.index(hit.document) for hit in hits], np.int64),
        score=np.array([hit.score for hit in hits], np.float64),
    )
    held, start = {}, 0
    for place in places:
        end = start + len(traces[place].hits)
        held[place], start = HitList.of_table(table, start, end), end
    return [replace(trace, hits=held[place]) for place, trace in enumerate(traces)]  # type: ignore[arg-type]


def draw_traces(rng: random.Random) -> list[Trace]:
    """Return answers to some queries, in two of three cases sorted by score."""
    ordered = rng.random() < 2 / 3
    return [
        Trace(query=query, text="?", hits=tuple(sorted(hits, key=lambda hit: -hit.score)) if ordered else hits)
        for query, hits in draw_hits(rng).items()
    ]


@each("seed", range(60))
def test_a_table_of_hits_is_scored_as_objects_are(seed: int) -> None:
    """With chunks of one document, equal scores, lists out of order, empty lists and unknown documents."""
    rng = random.Random(seed)
    golden, objects = draw_golden(rng), draw_traces(rng)
    golden = replace(golden, documents=tuple(Document(id=f"d{i}") for i in range(8)))  # else a run may be refused
    table = to_table(objects)
    assert find_table_rows([trace.listed for trace in table]) is not None
    assert describe_order(table) == describe_order(objects)
    names = {query.id for query in golden.queries}
    runs = [
        Run(provenance=Provenance(name="mine"), traces=tuple(trace for trace in traces if trace.query in names))
        for traces in (table, objects)
    ]
    one, other = (score_run(golden, run, ["nDCG@3", "AP", "DupRate@3", "NumRet"]) for run in runs)
    assert np.array_equal(one.scores.values, other.scores.values, equal_nan=True)
    assert np.array_equal(one.scores.codes, other.scores.codes)
    assert one.lists == other.lists == dict(other.lists)
    assert one.answered == {query: bool(documents) for query, documents in other.lists.items()}


@each("seed", range(60))
def test_two_tables_are_compared_as_their_lists_are(seed: int) -> None:
    """Whole or cut, with documents twice, in one run only or in another order; and the class also looks at RR."""
    rng = random.Random(seed)
    before = draw_traces(rng)
    after = [trace if rng.random() < 0.6 else other for trace, other in zip(before, draw_traces(rng), strict=False)]
    rng.shuffle(after)
    then, now = (RankedLists({trace.query: trace.listed for trace in to_table(traces)}) for traces in (before, after))
    assert then.pair(now) is not None
    similarities = compare_lists(now, then)
    assert list(similarities.items()) == list(compare_lists(dict(now), dict(then)).items())
    assert summarise_lists(similarities) == summarise_lists(
        {query: replace(own) for query, own in similarities.items()}
    )
    deltas = {query: rng.choice([0.0, 0.5, -0.02]) for query in then if rng.random() < 0.8}
    cut = compare_lists(now, then, k=2, rr_deltas=deltas)
    assert cut == compare_lists(dict(now), dict(then), k=2, rr_deltas=deltas)


def test_a_slice_of_a_table_is_a_list_of_its_own() -> None:
    """A copy of it, as between processes, has only its own hits."""
    (trace,) = to_table([Trace(query="q", text="?", hits=(Hit("wifi:chunk:1", 2.0), Hit("pool", 1.0)))])
    again = pickle.loads(pickle.dumps(trace.listed))
    assert again.table is None
    assert again.hits() == trace.hits == (Hit("wifi:chunk:1", 2.0), Hit("pool", 1.0))
    assert not hasattr(again, "unknown")


def test_stored_lists_are_decoded_at_once_as_one_by_one() -> None:
    """Lists of a baseline that are taken together are those that are asked for one by one; a damaged one is named."""
    texts = {"q": b'["wifi", "pool"]', "r": b"[]", "s": '["früh"]'.encode()}
    lists = StoredLists(texts)
    assert lists.take(["s", "q", "r"]) == [lists["s"], lists["q"], lists["r"]] == [("früh",), ("wifi", "pool"), ()]
    assert lists.take([]) == []
    assert lists.find_answered() == {"q": True, "r": False, "s": True}
    for damaged in (b"5", b'["wifi", 5]'):
        with pytest.raises(InputError, match="the documents of query 'r' are not a list"):
            StoredLists(texts | {"r": damaged}).take(["q", "r"])
