"""What karat asks of a system, and what it makes of the answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from karat import evaluate
from karat.core import (
    Document,
    GoldenSet,
    Hit,
    Judgment,
    Place,
    Query,
    Span,
    SystemFailed,
    Target,
    UsageError,
)
from karat.systems import TenantMixed, adapt, load, read_hits


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


def test_a_class_in_the_place_of_an_instance():
    """The message says what to type."""

    class Search:
        def retrieve(self, query, k):
            return []

    with pytest.raises(UsageError, match=r"Search is a class; did you mean Search\(\)\?"):
        adapt(Search)


def test_objects_and_functions_are_systems():
    """Both become one thing with a name, and what they tell of themselves."""
    shop = adapt(Shop())
    source = f"sha256:{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    assert (shop.name, shop.description, shop.is_async) == ("shop", {"source": source, "index": "v3"}, False)
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
    assert read_hits(system.retrieve("q", 1), 1, "acme")[0].tenant == "acme"
    with pytest.raises(TenantMixed, match="belongs to tenant 'acme', not to 'other'"):
        read_hits(system.retrieve("q", 1), 1, "other")
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
    assert list(read_hits(answer, 10)) == hits


@dataclass
class Found:
    """A hit as a team might have it."""

    document: object
    score: float | None = None
    content: str = ""

    def type(self):
        return "a method is not a field"


class Row(NamedTuple):
    id: str
    content: str


@pytest.mark.parametrize(
    ("answer", "hits"),
    [
        ([SimpleNamespace(id="a:chunk:1", score=0.5, content="t")], [Hit("a:chunk:1", 0.5, "a", content="t")]),
        ([Found("a", 0.5, "t"), Found("b", 0.25)], [Hit("a", 0.5, "a", content="t"), Hit("b", 0.25, "b")]),
        ([Found("a"), Found("b")], [Hit("a", 2.0), Hit("b", 1.0)]),
        ([Found(Document(id="a", text="t"), 0.5)], [Hit("a", 0.5)]),
        ([Found({"id": 7}, 0.5)], [Hit("7", 0.5)]),
        ([{"document": "a", "score": 0.5, "content": "t"}], [Hit("a", 0.5, content="t")]),
        ([Row("a", "t")], [Hit("a", 1.0, content="t")]),
        ([SimpleNamespace(doc_id=3, similarity_score=0.5, page_content="t")], [Hit("3", 0.5, content="t")]),
        ([np.int64(3), np.str_("a")], [Hit("3", 2.0), Hit("a", 1.0)]),
    ],
)
def test_any_object_with_an_id_or_a_document_is_a_hit(answer, hits):
    """Attributes are read like the keys of a mapping; without a score the rank decides."""
    assert list(read_hits(answer, 10)) == hits


def test_objects_of_another_tenant_void_the_run():
    """The tenant is an attribute, too."""
    with pytest.raises(TenantMixed, match="hit 'a' belongs to tenant 'acme', not to 'other'"):
        read_hits([SimpleNamespace(document="a", tenant="acme")], 1, "other")


def test_a_retriever_of_own_hits_is_evaluated():
    """From the protocol to the score, without a class of karat's."""
    golden = GoldenSet(
        queries=(Query(id="q", text="pool?"),),
        judgments=(Judgment(query="q", target=Target(document="pool"), grade=3),),
    )
    assert evaluate(golden, lambda query, k: [Found("wifi"), Found("pool")], ["RR@10"]).mean() == {"RR@10": 0.5}


def test_no_more_than_k_are_taken():
    """A system that gives more than it was asked for gains nothing by it."""
    assert len(read_hits(["a", "b", "c"], 2)) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "returned None, not a list of hits"),
        ("text", "not a list of hits"),
        ({"id": "a"}, "not a list of hits"),
        ([("a", float("nan"))], "score nan is not finite"),
        ([("a", "high")], "score 'high' is not a number"),
        ([("a", True)], "score True is not a number"),
        ([{"score": 1.0}], "it has neither an id nor a document"),
        ([SimpleNamespace(score=1.0)], "it has neither an id nor a document"),
        ([object()], "it has neither an id nor a document"),
        ([SimpleNamespace(id="a", score="high")], "score 'high' is not a number"),
        ([None], "hit 1 is None"),
        ([{"id": "a", "score": 1, "span": "x"}], "hit 1 is"),
    ],
)
def test_answers_that_are_none_are_the_systems_failure(answer, message):
    """What cannot be a hit is told with the answer itself."""
    with pytest.raises(SystemFailed, match=message):
        read_hits(answer, 10)


def test_systems_are_loaded_by_name():
    """A function is taken, a class is made, and what is not there is told."""
    assert load("karat.systems:adapt") is adapt
    for path, message in [
        ("karat.systems", "write package.module:name"),
        ("no_such_module_x:f", "is it installed"),
        ("karat.systems:nothing", "has no 'nothing'"),
        ("karat.systems:laod", "karat.systems has no 'laod', did you mean 'load'"),
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
