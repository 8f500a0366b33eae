"""The same faults in another collection, of abstracts about flight: do the rules fit more than the hotel?"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from tests.diagnosis.planted import data_faults, hotel, system_faults
from tests.diagnosis.planted.hotel import Lsa, keep
from tests.public_data import find_collection

from karat.core import GoldenSet
from karat.golden import read

pytestmark = [pytest.mark.public_data, pytest.mark.slow]
DOCUMENTS, QUERIES = 250, 20


@cache
def cranfield() -> GoldenSet:
    """Return the first documents of the collection, and the queries that have at least three relevant among them."""
    golden = read(find_collection("cranfield"))
    documents = [document for document in golden.documents if document.text][:DOCUMENTS]
    ids = {document.id for document in documents}
    judgments = tuple(judgment for judgment in golden.judgments if judgment.target.document in ids)
    relevant = [judgment.query for judgment in judgments if judgment.grade >= golden.relevant]
    queries = [query.id for query in golden.queries if relevant.count(query.id) >= 3][:QUERIES]
    return keep(replace(golden, documents=tuple(documents), judgments=judgments), queries)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the faults break a system on Cranfield instead of the hotel."""
    golden = cranfield()
    embedder = Lsa(golden.documents)
    for module in (hotel, data_faults, system_faults):
        monkeypatch.setattr(module, "hotel", lambda: golden, raising=False)
        monkeypatch.setattr(module, "lsa", lambda: embedder, raising=False)


FAULTS = {
    "ids": (data_faults.ids_are_paths, data_faults.ids_are_hashes),
    "stale": (data_faults.texts_of_other_documents, data_faults.short_drafts),
    "outside": (data_faults.the_first_forty, data_faults.documents_deleted),
    "flips": (system_faults.a_reranker_that_draws_lots, system_faults.two_replicas),
    "copies": (data_faults.ingested_four_times, data_faults.mirrored_with_small_edits),
    "cut": (system_faults.pages_of_three, system_faults.a_shallow_last_stage),
    "embedding": (system_faults.arbitrary_vectors, system_faults.a_model_of_three_dimensions),
}


def test_faults_in_another_collection_are_named() -> None:
    """Nine of ten, as in the hotel."""
    named = {
        (planted, fault.__name__): hotel.explain(fault()).groups[0].cause
        for planted, faults in FAULTS.items()
        for fault in faults
    }
    wrong = {fault: cause for fault, cause in named.items() if cause != fault[0]}
    assert len(wrong) <= 0.1 * len(named), wrong
