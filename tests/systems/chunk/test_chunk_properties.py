"""What holds for every chunker and every text: nothing lost, nothing torn, nothing too long; and two naive oracles.

To draw an example takes ten times as long as to look at it, so that each is looked at for several properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat.core import Document
from karat.systems._chunk import Chunk, Chunker
from karat.systems.chunk import WORDS, Blocks, Fixed, Heading, Recursive, Sentence, Whole, make_chunker
from karat.text import canonical, outline, sentence_places

pytestmark = pytest.mark.slow

FRAGMENTS = [
    *("# T", "## 1 A", "## 2 B", "### 1.1 C", "1. Scope", "2. Bar", "T\n===", "###### deep"),
    *("text", "A sentence. Another one!", "Mr. Kay said e.g. no", "日本。語「あ。」", "e\u0301x\u0338", "ที่ดี", "हिन्दी"),
    *("\n", "\n\n", "\r\n", "\r", " ", "  x", "\t", "\u2028", "\x0c", "\xad", "\u00a0", "\u200b"),
    *("👩\u200d👩\u200d👧", "👍🏽", "🇩🇪🇫🇷", "❤\ufe0f", "。\u0301", "\u0301", "\u200d", "\ufeff", "\ud83d"),
    *("```", "```py", "    code", "- item", "1. item", "> quote", "---", "|a|b|", "|-|-|", "a\tb", "![a](b)"),
    *('{"k": [1]}', '[{"a": 1}, {"b": 2}]', "{", "x" * 100, "=" * 70, "word " * 40, "A b. " * 30, ", ", ". "),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("\n".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("\n\n".join),
    st.text(max_size=80),
)
DOCUMENTS = st.builds(Document, id=st.sampled_from(["d", "a:chunk:1"]), text=TEXTS, title=st.sampled_from(FRAGMENTS))


class Bytes:
    """One token for each byte of a character, empty ones for blanks, and marks at both ends."""

    name = "bytes"

    def __call__(self, text: str) -> list[tuple[int, int]]:
        places = [(at + character.isspace(), at + 1) for at, character in enumerate(text) for _ in character.encode()]
        return [(0, 0), *places, (0, 0)]


@st.composite
def configs(draw: st.DrawFn) -> dict[str, object]:
    """Draw the table of a chunker."""
    name = draw(st.sampled_from(["whole", "fixed", "sentence", "recursive", "heading", "blocks"]))
    config: dict[str, object] = {"name": name, "context": draw(st.sampled_from(["none", "title", "headings"]))}
    if name != "whole":
        size = draw(st.one_of(st.integers(1, 12), st.integers(13, 60)))
        config["size"] = size
        if name != "blocks":
            config["overlap"] = draw(st.integers(0, size // 2))
        if name in ("heading", "blocks"):
            config["least"] = draw(st.integers(0, 30))
        if name == "recursive":
            separators = st.sampled_from(["\n\n", "\n", ". ", "。", " ", "\n# ", "x", "\u0301"])
            config["separators"] = draw(st.lists(separators, max_size=4))
    return config


thorough = settings(max_examples=600, deadline=None, derandomize=True)


def bodies(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the text of each span; an error where one cuts through a character."""
    data = canonical(document.text).encode()
    return [data[chunk.span.start : chunk.span.end].decode() for chunk in chunks]


def test_the_strategies_reach_all_chunkers() -> None:
    """Hypothesis can make each of the six; otherwise the properties below would say less than they seem to."""
    seen: set[type] = set()

    @settings(max_examples=200, derandomize=True, deadline=None)
    @given(configs())
    def look(config: Mapping[str, object]) -> None:
        seen.add(type(make_chunker(config)))

    look()
    assert seen == {Whole, Fixed, Sentence, Recursive, Heading, Blocks}


@thorough
@given(configs(), DOCUMENTS)
@example(
    {"name": "fixed", "size": 1, "overlap": 0, "context": "none"},
    Document(id="d", text="👩\u200d👩\u200d👧\r\n\r\nq\u0301"),
)
def test_every_chunker_keeps_its_promises(config: Mapping[str, object], document: Document) -> None:
    """Nothing is left out, torn, repeated, out of order, too long, or another thing the next time."""
    chunker = make_chunker(config)
    chunks = chunker(document)
    nothing_is_left_out(document, chunks)
    a_chunk_is_its_span(chunker, document, chunks)
    chunks_stand_in_order(chunks)
    no_chunk_is_too_long(chunker, chunks)
    letters_keep_their_marks(document, chunks)
    the_same_gives_the_same(chunker, document, chunks)
    overlap_is_at_most_what_was_asked(make_chunker({**config, "context": "none"}), document)


def nothing_is_left_out(document: Document, chunks: Sequence[Chunk]) -> None:
    """Every byte of the canonical text that is not white space is in a chunk."""
    held = set()
    for chunk in chunks:
        held |= set(range(chunk.span.start, chunk.span.end))
    at = 0
    for character in canonical(document.text):
        size = len(character.encode())
        assert character.isspace() or held.issuperset(range(at, at + size))
        at += size


def a_chunk_is_its_span(chunker: Chunker, document: Document, chunks: Sequence[Chunk]) -> None:
    """A chunk's text is the text of its span, with at most one line before it; ids count; spans hold no loose ends."""
    for number, (chunk, body) in enumerate(zip(chunks, bodies(document, chunks), strict=True)):
        assert (chunk.id, chunk.document) == (f"{document.id}:chunk:{number}", document.id)
        if not body:  # a document that has only a title
            assert len(chunks) == 1
            assert not canonical(document.text).strip()
            continue
        assert body == body.strip()
        line, rest = chunk.text[: -len(body)], chunk.text[-len(body) :]
        assert rest == body
        assert line == "" or (line.endswith("\n") and line.count("\n") == 1 and line.strip())
        assert line == "" or chunker.describe()["context"] != "none"


def chunks_stand_in_order(chunks: Sequence[Chunk]) -> None:
    """Each chunk begins after the one before, and holds something that none before it holds."""
    spans = [chunk.span for chunk in chunks]
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(spans))


def no_chunk_is_too_long(chunker: Chunker, chunks: Sequence[Chunk]) -> None:
    """A chunk has at most as many tokens as it may have, its context included, and also when counted by itself."""
    size = chunker.describe().get("size")
    for chunk in chunks:
        assert size is None or len(WORDS(chunk.text)) <= size


def letters_keep_their_marks(document: Document, chunks: Sequence[Chunk]) -> None:
    """No chunk begins with a mark of a letter, unless it has more of them than fit."""
    text = canonical(document.text)
    for chunk, body in zip(chunks, bodies(document, chunks), strict=True):
        before = text.encode()[: chunk.span.start].decode()
        assert not (body and body[0] in "\u0301\u0338\ufe0f🏽" and before and before[-1].isalpha())


def the_same_gives_the_same(chunker: Chunker, document: Document, chunks: Sequence[Chunk]) -> None:
    """Twice the same document gives equal chunks, and so does its canonical text."""
    again = Document(id=document.id, text=canonical(document.text), title=document.title)
    assert list(chunks) == list(chunker(document)) == list(chunker(again))


def overlap_is_at_most_what_was_asked(chunker: Chunker, document: Document) -> None:
    """Without context, two neighbours share at most ``overlap`` tokens; where there is no such option, nothing."""
    data = canonical(document.text).encode()
    overlap = chunker.describe().get("overlap", 0)
    for a, b in pairwise([chunk.span for chunk in chunker(document)]):
        shared = data[b.start : a.end].decode() if b.start < a.end else ""
        assert len(WORDS(shared)) <= overlap


@thorough
@given(
    DOCUMENTS,
    st.integers(1, 40),
    st.sampled_from(["fixed", "sentence", "recursive", "heading", "blocks"]),
    st.integers(1, 30),
    st.integers(30, 200),
    st.data(),
)
def test_every_text_is_cut_where_it_may_be(
    document: Document, size: int, name: str, fixed: int, large: int, data: st.DataObject
) -> None:
    """By other tokens, at a fixed size, by type and section, and between sentences."""
    another_tokeniser_is_respected(document, size, name)
    types_and_sections_are_those_of_the_outline(document, large)
    sentence_places_are_between(document.text)
    fixed_is_slices(document.text, fixed, data.draw(st.integers(0, fixed // 2)))


def another_tokeniser_is_respected(document: Document, size: int, name: str) -> None:
    """With tokens of bytes, of which a character has up to four, nothing is lost or too long, down to one character."""
    overlap = {} if name == "blocks" else {"overlap": size // 2}
    chunks = make_chunker({"name": name, "size": size, **overlap}, tokens=Bytes())(document)
    assert all(len(body.encode()) <= size or len(body) == 1 for body in bodies(document, chunks))
    data = bytearray(canonical(document.text).encode())
    for chunk in chunks:
        data[chunk.span.start : chunk.span.end] = b" " * len(chunk.span)
    assert not data.decode().strip()


def types_and_sections_are_those_of_the_outline(document: Document, size: int) -> None:
    """A chunk of blocks holds blocks of one type, its own; a section that is named holds all of the chunk."""
    parts = outline(canonical(document.text))
    for chunk in Blocks(size=size)(document):
        assert {block.type for block in parts.at(chunk.span)} <= {chunk.type}
        assert chunk.section == "" or parts.section(chunk.section)
    for chunk in Heading(size=size)(document):
        if chunk.section:
            section = parts.section(chunk.section)
            start = 0 if section is parts.sections[0] else section.heading.start
            assert start <= chunk.span.start
            assert chunk.span.end <= max(section.whole.end, section.heading.end)


def sentence_places_are_between(text: str) -> None:
    """Places rise, lie strictly inside, and have something on either side."""
    text = canonical(text).rstrip()
    places = list(sentence_places(text, 0, len(text)))
    assert places == sorted(set(places))
    assert all(text[a:b].strip() for a, b in pairwise([0, *places, len(text)]) if places)


def fixed_is_slices(text: str, size: int, overlap: int) -> None:
    """Chunks of a fixed size are slices of the list of tokens, where no word is too long, and nothing joins two."""
    text = canonical(re.sub(r"\S{25,}", "long", text.replace("\u200d", "")))
    tokens = WORDS(text)
    expected = []
    for first in range(0, max(len(tokens) - overlap, min(1, len(tokens))), size - overlap):
        part = tokens[first : first + size]
        expected.append(text[part[0][0] : part[-1][1]])
    assert [chunk.text for chunk in Fixed(size=size, overlap=overlap)(Document(id="d", text=text))] == expected


@thorough
@given(
    st.lists(st.sampled_from(["Tea. ", "We have tea. ", "No, we do not have any. ", "Why? "]), max_size=30), st.data()
)
def test_sentences_against_a_naive_loop(sentences: list[str], data: st.DataObject) -> None:
    """Sentences go into a chunk one by one until one does not fit; then as many as may are taken over, from the end."""
    size = data.draw(st.integers(8, 40))
    overlap = data.draw(st.integers(0, size // 2))
    expected: list[list[str]] = []
    chunk: list[str] = []
    for sentence in sentences:
        if sum(len(WORDS(part)) for part in [*chunk, sentence]) > size:
            expected.append(chunk)
            while chunk and (
                sum(len(WORDS(part)) for part in chunk) > overlap
                or sum(len(WORDS(part)) for part in [*chunk, sentence]) > size
            ):
                chunk = chunk[1:]
        chunk = [*chunk, sentence]
    if chunk:
        expected.append(chunk)
    pieces = Sentence(size=size, overlap=overlap)(Document(id="d", text="".join(sentences)))
    assert [part.text for part in pieces] == ["".join(chunk).strip() for chunk in expected]
