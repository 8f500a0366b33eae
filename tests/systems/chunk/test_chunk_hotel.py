"""Chunks of the golden set that ships, as a pipeline would make them, and the time that large collections take."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet
from karat.measures import Overlap
from karat.systems._chunk import Chunk
from karat.systems.chunk import CHUNKERS, WORDS, Fixed, Sentence, Whole, make_chunker
from karat.text import canonical, resolver

HOTEL = Path(__file__).resolve().parents[3] / "examples" / "hotel"


@cache
def hotel() -> GoldenSet:
    return golden.read(HOTEL)


@cache
def chunks(name: str, context: str = "none") -> dict[str, list[Chunk]]:
    chunker = make_chunker({"name": name, "context": context})
    return {document.id: list(chunker(document)) for document in hotel().documents}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHUNKERS)
@pytest.mark.parametrize("context", ["none", "title", "headings"])
def test_every_document_is_covered(name: str, context: str) -> None:
    """Spans of the chunks leave nothing but white space, texts are those of the spans, and sizes are respected."""
    size = make_chunker(name).describe().get("size", 10**9)
    for document in hotel().documents:
        data = canonical(document.text).encode()
        rest = bytearray(data)
        for chunk in chunks(name, context)[document.id]:
            assert chunk.text.endswith(data[chunk.span.start : chunk.span.end].decode())
            assert len(WORDS(chunk.text)) <= size
            rest[chunk.span.start : chunk.span.end] = b" " * len(chunk.span)
        assert not rest.decode().strip()


@pytest.mark.slow
def test_every_judged_place_is_found() -> None:
    """For each judged part there is a chunk that counts for it by the default rule, whatever the chunker."""
    resolve = resolver(hotel())
    judged = {judgment.target for judgment in hotel().judgments if not judgment.target.whole}
    assert judged
    for name in CHUNKERS:
        for target in judged:
            place = resolve(target)
            assert place is not None
            held = [chunk for chunk in chunks(name)[target.document] if Overlap().holds(chunk.span, place)]
            assert held, (name, target)


@pytest.mark.slow
def test_the_chunkers_differ() -> None:
    """More chunks from the finer chunkers, all four types from blocks, and titles where they are asked for."""
    counts = {name: sum(map(len, chunks(name).values())) for name in CHUNKERS}
    assert counts["whole"] == len(hotel().documents)
    assert counts["whole"] < counts["sentence"] < counts["fixed"] < counts["blocks"]
    assert {chunk.type for value in chunks("blocks").values() for chunk in value} == {
        "prose",
        "code",
        "table",
        "figure",
    }
    titles = {document.id: document.title for document in hotel().documents}
    for document, pieces in chunks("sentence", "title").items():
        assert all(chunk.text.lstrip("# ").startswith(titles[document]) for chunk in pieces)


LONG = {
    "many paragraphs": "The desk is open from seven to eleven, and rings a bell.\n\n" * 1_600,
    "one line": "The desk is open, and rings. " * 3_400,
    "one heading": "# " + "The desk is open, and rings. " * 3_400,
    "one word": "x" * 100_000,
    "signs": "-=" * 50_000,
    "headings": "# A b\n\nc.\n\n" * 4_000,
    "marks": "e" + "\u0301" * 50_000,
    "ideographs": "日本語。" * 20_000,
    "members": "{" + ", ".join(f'"k{i}": "v. X"' for i in range(4_000)) + "}",
    "one member": '{"k": [' + "1, " * 30_000 + "1]}",
    "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 8_000,
    "blanks": "a" + " " * 100_000 + "b",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHUNKERS)
@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
def test_time_is_linear(text: str, name: str) -> None:
    """A hundred kilobytes made to be slow take a fraction of a second, where anything quadratic would take minutes."""
    chunker = make_chunker({"name": name, "context": "headings"})
    start = time.process_time()
    pieces = chunker(Document(id="d", text=text, title="A title"))
    assert time.process_time() - start < 30
    assert pieces


@pytest.mark.slow
def test_short_documents_take_microseconds() -> None:
    """Five thousand short documents take less than a second or two, and so 100,000 a fraction of a minute."""
    text = "The desk is open from seven to eleven, and rings a bell. " * 10
    for chunker in (Whole(context="title"), Fixed(), Sentence(context="title")):
        start = time.process_time()
        for number in range(5_000):
            chunker(Document(id=f"d{number}", text=f"{number} {text}", title="Desk"))
        assert time.process_time() - start < 5
