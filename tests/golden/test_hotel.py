"""The golden set that ships is what its datasheet and the issue of its making say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from karat import Hit, Span, golden, score_hits
from karat.core import GoldenSet, Target
from karat.golden import Report
from karat.golden._merge import agreement
from karat.text import canonical, content, numbers, outline, resolver

ROOT = Path(__file__).resolve().parents[2]
HOTEL = ROOT / "examples" / "hotel"


@cache
def hotel() -> GoldenSet:
    return golden.read(HOTEL)


@cache
def report() -> Report:
    return golden.check(hotel(), profile="small")


@cache
def texts() -> dict[str, bytes]:
    return {document.id: canonical(document.text).encode() for document in hotel().documents}


def counted(field: str) -> Counter[str]:
    return Counter(getattr(query, field) for query in hotel().queries)


def test_documents_are_many_and_varied() -> None:
    """At least 80 documents from 100 to 5,000 words, three above 3,000, and all types, formats and domains of A05."""
    lengths = [len(document.text.split()) for document in hotel().documents]
    assert len(lengths) >= 80
    assert min(lengths) >= 100
    assert max(lengths) <= 5000
    assert sum(length > 3000 for length in lengths) >= 3
    fields = {name: {getattr(d, name) for d in hotel().documents} for name in ("type", "format", "domain")}
    assert fields == {
        "type": {"KNOWLEDGE_ARTIFACT", "COMMUNICATION_SIGNAL", "INTERACTION_EVENT"},
        "format": {"markdown", "text", "json"},
        "domain": {"policy", "amenities", "support", "operations"},
    }
    assert {d.tier for d in hotel().documents} == {"constitutional", "critical", "important", "normal", "temporary"}
    assert sum(bool(d.superseded_by) for d in hotel().documents) >= 5


def test_documents_have_every_kind_of_block() -> None:
    """Prose, code, tables and figures are there for measures by block type to bite on."""
    types = Counter(block.type for text in texts().values() for block in outline(text.decode()).blocks)
    assert set(types) == {"prose", "code", "table", "figure"}
    assert min(types.values()) >= 5


def test_queries_are_many_and_varied() -> None:
    """At least 120 queries of all types and categories, with paraphrases, spans, anchors and negatives for 60 each."""
    queries = hotel().queries
    assert len(queries) >= 120
    assert set(counted("type")) == {"factual", "comparative", "troubleshooting", "sentiment", "definition", "how-to"}
    assert set(counted("category")) == {
        "trigger-match", "semantic-search", "causal-query", "cross-folder", "intent-specific", "cold-start",
        "multi-concept", "edge-case",
    }  # fmt: skip
    assert len(counted("intent")) == 7
    assert sum(len(query.paraphrases) == 3 for query in queries) >= 60
    assert sum(bool(query.anchors) for query in queries) >= 60
    assert sum(bool(query.negatives) for query in queries) >= 60
    assert len({j.query for j in hotel().judgments if j.target.span is not None}) >= 60
    assert sum(bool(query.must_show) for query in queries) >= 8
    assert sum(len(query.chain) > 1 for query in queries) >= 8
    assert len({query.session.id for query in queries if query.session}) >= 3
    assert hotel().classes


def test_floors_can_be_reached() -> None:
    """The ceiling of P@5 is at least 0.70, and every floor that the set declares can be reached."""
    ceilings = {name: top.best for name, top in report().ceilings.items() if not isinstance(top, str)}
    assert ceilings["P@5"] is not None
    assert ceilings["P@5"] >= 0.70
    assert all(best is not None and best > hotel().gate[name] for name, best in ceilings.items())


@pytest.mark.slow
def test_it_passes_its_own_linter() -> None:
    """No error, and no warning but those that the datasheet explains."""
    explained = set(re.findall(r"^- `([a-z-]+)`", (HOTEL / "DATASHEET.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert report().errors == ()
    assert {finding.rule for finding in report().warnings} == explained
    assert hotel().notes == ()


def test_spans_are_the_passages_that_answer() -> None:
    """Every span begins and ends at a character, and holds text."""
    for judgment in hotel().judgments:
        span = judgment.target.span
        if span is not None:
            passage = texts()[judgment.target.document][span.start : span.end].decode()
            assert len(passage.strip()) >= 30


COMPUTED = {"q027": {"31"}, "q051": {"43"}}
"""Numbers of reference answers that are written out in the documents (thirty-one kilos), or the sum of others."""


@cache
def numbers_of(document: str) -> frozenset[str]:
    return frozenset(numbers(texts()[document].decode()))


@cache
def words_of(document: str) -> frozenset[str]:
    return frozenset(content(texts()[document].decode()))


def test_enough_questions_have_an_answer_and_some_have_none() -> None:
    """Sixty have a reference answer, of which a passage is judged; a handful can only be refused."""
    passages = {judgment.query for judgment in hotel().judgments if judgment.target.span and judgment.grade >= 2}
    assert sum(bool(query.answer) and query.id in passages for query in hotel().queries) >= 60
    assert len(hotel().unanswerable) >= 5


def test_every_reference_answer_is_in_the_documents() -> None:
    """All its numbers are in documents that are judged to be on its topic, and most of its words in those that answer.

    Spans mark only the sentences that matter most; those of at least 60 queries have half of the words themselves.
    """
    spans: dict[str, set[Target]] = {}
    for judgment in hotel().judgments:
        if judgment.target.span is not None and judgment.grade >= 2:
            spans.setdefault(judgment.query, set()).add(judgment.target)
    marked, qrels = 0, hotel().qrels()
    for query in hotel().queries:
        if not query.answerable:
            assert not query.answer
            continue
        graded = qrels[query.id]
        near = set().union(*(numbers_of(document) for document, grade in graded.items() if grade >= 1))
        answering = set().union(*(words_of(document) for document, grade in graded.items() if grade >= 2))
        assert numbers(query.answer) - near <= COMPUTED.get(query.id, set()), query.id
        words = set(content(query.answer))
        assert len(words & answering) >= 0.7 * len(words), query.id
        held = " ".join(
            texts()[part.document][part.span.start : part.span.end].decode() for part in spans[query.id] if part.span
        )
        marked += len(words & set(content(held))) >= 0.5 * len(words)
    assert marked >= 60


def test_the_documents_do_not_answer_the_questions_without_an_answer() -> None:
    """Six to ten; what each asks for is in no document, by the words that somebody would have to write about it."""
    asked_for = {
        "q133": "helipad|helicopter", "q134": "yacht", "q135": "stock exchange|shareholder|share price",
        "q136": r"kosher|\brabbis?\b", "q137": "chapel|stained glass", "q138": "babysit|childmind|nanny|creche",
        "q139": "salary|salaries|wages|vacanc", "q140": "world cup",
    }  # fmt: skip
    assert asked_for.keys() == hotel().unanswerable
    everything = "\n".join(text.decode() for text in texts().values())
    for query, words in asked_for.items():
        assert not re.search(words, everything, re.IGNORECASE), query
    judged = {judgment.query for judgment in hotel().judgments}
    assert not judged & hotel().unanswerable


def test_the_agreement_in_the_datasheet_is_that_of_the_judgments() -> None:
    """Two readers judged every pair; the numbers that the datasheet gives are computed from the file."""
    result = agreement(hotel().judgments)
    assert result is not None
    assert result.disputed == ()
    (kappa, pairs), *_ = result.kappa.values()
    text = (HOTEL / "DATASHEET.md").read_text(encoding="utf-8")
    for number in (
        f"{pairs:,} pairs",
        f"{result.same:.1%}",
        f"{kappa:.3f}",
        f"{result.alpha:.3f}",
        f"{result.settled} ",
    ):
        assert number in text, number


def test_no_query_gives_its_documents_away() -> None:
    """No id of a document stands in a query or a paraphrase."""
    ids = set(texts())
    for query in hotel().queries:
        for text in (query.text, *query.paraphrases):
            assert not ids & set(text.lower().split())


# Five ways to cut the same texts; each leaves no byte out.


def whole(text: bytes) -> Iterator[Span]:
    yield Span(0, len(text))


def fixed(text: bytes) -> Iterator[Span]:
    yield from (Span(at, min(at + 400, len(text))) for at in range(0, len(text), 400))


def overlapping(text: bytes) -> Iterator[Span]:
    yield from (Span(at, min(at + 900, len(text))) for at in range(0, len(text), 600))


def sentences(text: bytes) -> Iterator[Span]:
    ends = [0, *(match.end() for match in re.finditer(rb"[.!?]\s+", text)), len(text)]
    yield from (Span(start, end) for start, end in pairwise(ends) if start < end)


def sections(text: bytes) -> Iterator[Span]:
    starts = [section.heading.start for section in outline(text.decode()).sections if section.heading]
    cuts = sorted({0, *starts, len(text)})
    yield from (Span(start, end) for start, end in pairwise(cuts))


CHUNKERS = [whole, fixed, overlapping, sentences, sections]


def perfect(chunker: Callable[[bytes], Iterator[Span]]) -> dict[str, list[Hit]]:
    """Retrieve all chunks of the relevant documents, the best graded first."""
    chunks = {
        document: [(f"{document}:chunk:{n}", span) for n, span in enumerate(chunker(text))]
        for document, text in texts().items()
    }
    hits_of = {}
    for query, graded in hotel().qrels().items():
        ranked = sorted((d for d, grade in graded.items() if grade > 0), key=lambda d: -graded[d])
        hits = [Hit(name, 0.0, document, span) for document in ranked for name, span in chunks[document]]
        hits_of[query] = [Hit(h.id, float(len(hits) - i), h.document, h.span) for i, h in enumerate(hits)]
    return hits_of


@pytest.mark.slow
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_document_scores_survive_rechunking(chunker: Callable[[bytes], Iterator[Span]]) -> None:
    """A perfect retriever scores 1.0 on documents, however the texts are cut."""
    scores = score_hits(hotel(), perfect(chunker), ["nDCG", "nDCG@10", "RR@10", "AP", "R@1000", "Success@1"])
    assert {name: round(value or 0, 12) for name, value in scores.mean().items()} == dict.fromkeys(scores.measures, 1.0)
    assert scores.count("AP") == len(hotel().queries) - len(hotel().unanswerable)


@pytest.mark.slow
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_judged_spans_survive_rechunking(chunker: Callable[[bytes], Iterator[Span]]) -> None:
    """Every judged span is found again in some chunk, and all of its bytes are retrieved."""
    scores = score_hits(hotel(), perfect(chunker), ["R@1000", "SpanR"], unit="target", resolve=resolver(hotel()))
    assert scores.mean() == {"R@1000": 1.0, "SpanR": 1.0}
