"""What karat asks of a system, and what it makes of the answers."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest

from karat.core import Document, Hit, Place, Span, SystemFailed, UsageError
from karat.systems import TenantMixed, adapt, hits_of, load


class Shop:
    """A retriever with everything."""

    name = "shop"

    def retrieve(self, query, k):
        return [query]

    async def later(self, query, k):
        return [query]

    def describe(self):
        return {"index": "v3"}


def find(query, k):
    return []


def test_objects_and_functions_are_systems():
    """Both become one thing with a name, and what they tell of themselves."""
    shop = adapt(Shop())
    assert (shop.name, shop.description, shop.is_async) == ("shop", {"index": "v3"}, False)
    assert adapt(find).name == "find"
    assert adapt(Shop().later).is_async
    assert adapt(shop) is shop


@pytest.mark.parametrize("wrong", [3, object(), list, lambda query: []])
def test_what_cannot_be_asked_is_refused(wrong):
    """No function, or one that takes other arguments, is told before anything is asked."""
    with pytest.raises(UsageError):
        adapt(wrong)


def test_a_tenant_is_passed_on_and_held_to():
    """Every question carries the tenant, and a hit of another one voids the run."""

    def ask(query, k, company_id):
        return [{"id": "a", "score": 1.0, "tenant": company_id}]

    system = adapt(ask, tenant="acme")
    assert hits_of(system.retrieve("q", 1), 1, "acme")[0].tenant == "acme"
    with pytest.raises(TenantMixed, match="belongs to tenant 'acme', not to 'other'"):
        hits_of(system.retrieve("q", 1), 1, "other")
    with pytest.raises(UsageError, match="company_id"):
        adapt(find, tenant="acme")


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        (["a", "b"], [Hit("a", 2.0), Hit("b", 1.0)]),
        ([("a", 0.5)], [Hit("a", 0.5)]),
        ([Hit("a", 1.0)], [Hit("a", 1.0)]),
        (iter([7]), [Hit("7", 1.0)]),
        ([{"id": "a:chunk:1", "score": 1}], [Hit("a:chunk:1", 1.0, "a")]),
        (
            [{"chunk_id": "c", "source_entity_id": "d", "similarity_score": 0.5, "text": "t", "offsets": [1, 2]}],
            [Hit("c", 0.5, "d", Span(1, 2), content="t")],
        ),
        (
            [{"id": "c", "similarity_score": 0.5, "rerank_score": 0.9, "combined_score": 0.7, "locator": {"page": 3}}],
            [Hit("c", 0.7, locator='{"page": 3}', stages={"combined": 0.7, "rerank": 0.9, "similarity": 0.5})],
        ),
        ([{"id": "a", "score": 1, "channels": {"bm25": [2, 0.5]}}], [Hit("a", 1.0, channels={"bm25": Place(2, 0.5)})]),
        ([], []),
    ],
)
def test_answers_of_many_kinds_are_hits(answer, hits):
    """Hits, records under common names, pairs and plain ids are all taken."""
    assert list(hits_of(answer, 10)) == hits


def test_no_more_than_k_are_taken():
    """A system that gives more than it was asked for gains nothing by it."""
    assert len(hits_of(["a", "b", "c"], 2)) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "returned None, not a list of hits"),
        ("text", "not a list of hits"),
        ({"id": "a"}, "not a list of hits"),
        ([("a", float("nan"))], "score nan is no finite number"),
        ([("a", "high")], "score 'high' is no number"),
        ([("a", True)], "score True is no number"),
        ([{"score": 1.0}], "hit 1 is"),
        ([None], "hit 1 is None"),
        ([{"id": "a", "score": 1, "span": "x"}], "hit 1 is"),
    ],
)
def test_answers_that_are_none_are_the_systems_failure(answer, message):
    """What cannot be a hit is told with the answer itself."""
    with pytest.raises(SystemFailed, match=message):
        hits_of(answer, 10)


def test_systems_are_loaded_by_name():
    """A function is taken, a class is made, and what is not there is told."""
    assert load("karat.systems:adapt") is adapt
    for path, message in [
        ("karat.systems", "write package.module:name"),
        ("no_such_module_x:f", "is it installed"),
        ("karat.systems:nothing", "has no 'nothing'"),
    ]:
        with pytest.raises(UsageError, match=message):
            load(path)


def test_an_ingest_that_wants_the_time_gets_it():
    """The time is passed in UTC to a parameter called timestamp, beside the tenant, and to no other function."""
    calls = []

    class Timed:
        def retrieve(self, query, k, company_id):
            return []

        def ingest(self, documents, timestamp, company_id):
            calls.append((documents, datetime.fromisoformat(timestamp), company_id))

    class Untimed:
        def retrieve(self, query, k):
            return []

        def ingest(self, documents):
            calls.append((documents, None, None))

    before = datetime.now(UTC).replace(microsecond=0)
    adapt(Timed(), tenant="acme").ingest(["a"])
    adapt(Untimed()).ingest(["b"])
    (_, time, tenant), untimed = calls
    assert before <= time <= datetime.now(UTC)
    assert tenant == "acme"
    assert untimed == (["b"], None, None)


def test_a_document_has_the_source_id_and_hash_that_a_system_may_keep():
    """The id names the golden set, and the hash is the SHA-256 of the text."""
    document = Document(id="wifi", text="Free.")
    assert document.source_id == "golden:wifi"
    assert document.source_hash == "sha256:" + hashlib.sha256(b"Free.").hexdigest()
