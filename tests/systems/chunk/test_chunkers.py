"""Chunkers, by hand: where each cuts, what it says of a chunk, and what it refuses."""

from __future__ import annotations

import json

import pytest

from each import each
from karat.core import Document, Span, UsageError, document_of
from karat.systems._chunk import Chunk, Chunker
from karat.systems.chunk import Blocks, Fixed, Heading, Recursive, Sentence, Whole, make_chunker
from karat.text import canonical, outline


def texts(chunker: Chunker, text: str, title: str = "") -> list[str]:
    return [chunk.text for chunk in chunker(Document(id="d", text=text, title=title))]


GUIDE = """\
# Guest WiFi

Free in all rooms.

## Speed

| plan | speed |
|---|---|
| basic | 20 |

Ask the desk. Do not wait.

```
show room 12
```

### Cast

![remote](remote.png)

# Events

Later.
"""


def test_a_chunk_knows_where_it_is() -> None:
    """Ids count from 0, name their document, and spans count bytes of the canonical text."""
    document = Document(id="café:1", text="\ufeffÉté à\r\nla mer. Fin de\u0301finitive.")
    first, second = Sentence(size=6, overlap=0)(document)
    assert first == Chunk(id="café:1:chunk:0", document="café:1", span=Span(0, 16), text="Été à\nla mer.")
    assert second == Chunk(id="café:1:chunk:1", document="café:1", span=Span(17, 33), text="Fin définitive.")
    assert document_of(second.id) == "café:1"


def test_whole() -> None:
    """One chunk, without the white space at either end."""
    assert texts(Whole(), "\n\n  Tea.\n\nMilk.  \n") == ["Tea.\n\nMilk."]
    assert Whole()(Document(id="d", text="\n\n  Tea.\n"))[0].span == Span(2, 6)


@each("name", ["whole", "fixed", "sentence", "recursive", "heading", "blocks"])
def test_nothing_gives_nothing(name: str) -> None:
    """A document without text has no chunks; with only a title it has one, where titles are indexed."""
    for text in ("", " \n\t\n"):
        assert list(make_chunker(name)(Document(id="d", text=text, title="Tea"))) == []
        for context in ("title", "headings"):
            (only,) = make_chunker({"name": name, "context": context})(Document(id="d", text=text, title=" Tea\nroom "))
            assert (only.id, only.span, only.text) == ("d:chunk:0", Span(0, 0), "Tea room")


FIXED = {
    "exactly one": (Fixed(size=3, overlap=1), "a b c", ["a b c"]),
    "one more": (Fixed(size=3, overlap=1), "a b c d", ["a b c", "c d"]),
    "no overlap": (Fixed(size=2, overlap=0), "a b\nc d e", ["a b", "c d", "e"]),
    "half": (Fixed(size=4, overlap=2), "a b c d e f g", ["a b c d", "c d e f", "e f g"]),
    "one token each": (Fixed(size=1, overlap=0), "a, b", ["a", ",", "b"]),
    "a word without end": (Fixed(size=2, overlap=0), "a " + "x" * 100, ["a", "x" * 64, "x" * 36]),
    "no overlap within a word": (Fixed(size=2, overlap=1), "x" * 90, ["x" * 64, "x" * 26]),
    "a letter stays with its marks": (Fixed(size=1, overlap=0), "x\u0338" * 20, ["x\u0338" * 16, "x\u0338" * 4]),
}


@each(("chunker", "text", "expected"), FIXED.values(), ids=list(FIXED))
def test_fixed(chunker: Chunker, text: str, expected: list[str]) -> None:
    """Every ``size`` tokens a chunk ends, and the next begins ``overlap`` tokens earlier."""
    assert texts(chunker, text) == expected


SENTENCE = {
    "fits": (Sentence(), "Tea. Milk.", ["Tea. Milk."]),
    "as many as fit": (Sentence(size=4, overlap=0), "Tea. Milk. Jam.", ["Tea. Milk.", "Jam."]),
    "the last sentence again": (Sentence(size=4, overlap=2), "Tea. Milk. Jam.", ["Tea. Milk.", "Milk. Jam."]),
    "never more than the overlap": (
        Sentence(size=8, overlap=3),
        "A. We have good tea. B. C. D. E.",
        ["A. We have good tea.", "B. C. D. E."],
    ),
    "an overlap that leaves room": (
        Sentence(size=6, overlap=3),
        "A. B. C. We have hot tea. D.",
        ["A. B. C.", "We have hot tea.", "D."],
    ),
    "a long sentence by lines": (
        Sentence(size=4, overlap=0),
        "one two\nthree four five\nsix. Seven.",
        ["one two", "three four five", "six. Seven."],
    ),
    "a long line by tokens": (Sentence(size=3, overlap=0), "a b c d e f g. H.", ["a b c", "d e f", "g.", "H."]),
    "a heading is not left behind": (
        Sentence(size=6, overlap=0),
        "Tea is hot.\n\n# Milk\n\nIt is cold.",
        ["Tea is hot.", "# Milk\n\nIt is cold."],
    ),
}


@each(("chunker", "text", "expected"), SENTENCE.values(), ids=list(SENTENCE))
def test_sentence(chunker: Chunker, text: str, expected: list[str]) -> None:
    """Whole sentences up to the size; the overlap is whole sentences too."""
    assert texts(chunker, text) == expected


RECURSIVE = {
    "fits": (Recursive(size=20), "Tea.\n\nMilk.", ["Tea.\n\nMilk."]),
    "paragraphs put together": (Recursive(size=4), "A b.\n\nC.\n\nD.\n\nE.", ["A b.", "C.\n\nD.", "E."]),
    "lines of a long paragraph": (Recursive(size=4), "A\n\nb c\nd e f\ng", ["A", "b c", "d e f\ng"]),
    "what was cut stays apart": (Recursive(size=3), "A\n\nb c\nd e\n\nF", ["A", "b c", "d e", "F"]),
    "between tokens at last": (Recursive(size=2), "a b c d e", ["a b", "c d", "e"]),
    "an overlap is never a whole part": (Recursive(size=4, overlap=2), "a\n\nb c d e", ["a", "b c", "c d e"]),
    "overlap in tokens": (Recursive(size=4, overlap=1), "a b c\n\nd e f", ["a b c", "c\n\nd e f"]),
    "a separator that begins": (
        Recursive(size=4, separators=["\n## "]),
        "x y\n## a b\n## c d",
        ["x y", "## a b", "## c d"],
    ),
    "a separator that ends": (Recursive(size=3, separators=(";",)), "a b;c d;e", ["a b;", "c d;", "e"]),
    "no separators": (Recursive(size=2, separators=()), "a. b. c", ["a.", "b.", "c"]),
    "never within a word": (Recursive(size=1, separators=("an",)), "banana", ["banana"]),
    "never before a mark": (Recursive(size=2), "。\u0308。。", ["。\u0308。", "。"]),
}


@each(("chunker", "text", "expected"), RECURSIVE.values(), ids=list(RECURSIVE))
def test_recursive(chunker: Chunker, text: str, expected: list[str]) -> None:
    """The strongest separator first; the next only where a piece is still too long."""
    assert texts(chunker, text) == expected


def test_headings() -> None:
    """A section is a chunk with its heading, and knows its id and the type of what is in it."""
    chunks = Heading(least=0)(Document(id="d", text=GUIDE))
    assert [(chunk.section, chunk.type, chunk.text.partition("\n")[0]) for chunk in chunks] == [
        ("S.1", "prose", "# Guest WiFi"),
        ("S.1.1", "", "## Speed"),
        ("S.1.1.1", "figure", "### Cast"),
        ("S.2", "prose", "# Events"),
    ]


def test_small_sections_are_put_together() -> None:
    """A small section joins the next unless that stands above it; the section of a chunk is what holds all of it."""
    chunks = Heading(least=9)(Document(id="d", text=GUIDE))
    assert [(chunk.section, chunk.text.partition("\n")[0], chunk.text.count("#")) for chunk in chunks] == [
        ("S.1", "# Guest WiFi", 3),
        ("S.1.1.1", "### Cast", 3),
        ("S.2", "# Events", 1),
    ]
    (first,) = Heading(least=512)(Document(id="d", text=GUIDE))
    assert (first.section, first.span) == ("", Span(0, len(GUIDE.encode()) - 1))


def test_a_small_section_joins_the_one_before() -> None:
    """The last section below a heading has nothing to join but the one before it."""
    text = "# A\n\nOne two three four.\n\n## B\n\nFive.\n\n# C\n\nSix seven eight nine.\n"
    assert texts(Heading(least=6), text) == [
        "# A\n\nOne two three four.\n\n## B\n\nFive.",
        "# C\n\nSix seven eight nine.",
    ]


def test_small_sections_stay_apart_where_they_do_not_fit() -> None:
    """Two sections that are too large together are two chunks, however small one of them is."""
    assert texts(Heading(size=8, least=8), "# A\n\n# B\n\nOne two three four.\n") == [
        "# A",
        "# B\n\nOne two three four.",
    ]


def test_a_long_section_is_cut_by_sentences() -> None:
    """Prose is cut where sentences begin, with overlap; a table stays whole, and goes by rows where it has to."""
    text = "# A\n\nOne two. Three four.\nFive six.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert texts(Heading(size=8, overlap=3), text) == [
        "# A\n\nOne two. Three four.",
        "Three four.\nFive six.",
        "Five six.\n\n| a | b |",
        "|---|---|",
        "| 1 | 2 |",
    ]
    assert texts(Heading(size=20, overlap=3), text) == [
        "# A\n\nOne two. Three four.\nFive six.",
        "Five six.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    ]


def test_blocks() -> None:
    """Each block is a chunk of one type, with the heading before it."""
    chunks = Blocks(least=0)(Document(id="d", text=GUIDE))
    assert [(chunk.type, chunk.section, chunk.text) for chunk in chunks] == [
        ("prose", "S.1", "# Guest WiFi\n\nFree in all rooms."),
        ("table", "S.1.1", "## Speed\n\n| plan | speed |\n|---|---|\n| basic | 20 |"),
        ("prose", "S.1.1", "Ask the desk. Do not wait."),
        ("code", "S.1.1", "```\nshow room 12\n```"),
        ("figure", "S.1.1.1", "### Cast\n\n![remote](remote.png)"),
        ("prose", "S.2", "# Events\n\nLater."),
    ]


def test_small_prose_is_put_together() -> None:
    """Neighbours of one type in one section are; across headings, and around a table, they are not."""
    text = "# A\n\nOne.\n\nTwo.\n\n|a|b|\n|-|-|\n\nThree.\n\n# B\n\nFour.\n\nFive six seven.\n\nEight.\n"
    assert texts(Blocks(least=4), text) == [
        "# A\n\nOne.\n\nTwo.",
        "|a|b|\n|-|-|",
        "Three.",
        "# B\n\nFour.",
        "Five six seven.\n\nEight.",
    ]


def test_code_stays_whole_up_to_the_size() -> None:
    """What fits is one chunk, if need be without its heading; what does not is cut at the ends of lines."""
    text = "# Heading\n\n```\na b\nc d\ne f\n```\n"
    assert texts(Blocks(size=14), text) == ["# Heading\n\n```\na b\nc d\ne f\n```"]
    assert texts(Blocks(size=9, least=0), text) == ["# Heading", "```\na b\nc d\ne f\n```"]
    assert texts(Blocks(size=6, least=0), text) == ["# Heading\n\n```\na b", "c d\ne f\n```"]


def test_a_long_paragraph_is_not_cut_before_a_mark() -> None:
    """Where the outline ends a block between a letter and its mark, the two blocks stay together."""
    text = ("日" * 10 + "。\u0301") * 60
    assert len(outline(canonical(text)).blocks) == 2
    assert texts(Blocks(size=1000, least=0), text) == [text]


def test_a_heading_without_a_body_goes_with_its_neighbour() -> None:
    """Headings alone are a chunk only where the text has nothing else."""
    assert texts(Blocks(), "# A\n\n## B\n\nYes.\n\n## C\n") == ["# A\n\n## B\n\nYes.\n\n## C"]
    (only,) = Blocks()(Document(id="d", text="# A\n\n## B\n"))
    assert (only.text, only.type, only.section) == ("# A\n\n## B", "", "")


RECORD = {"room": 12, "beds": ["one", "two"], "note": "Quiet. Faces the sea. " * 4}


@pytest.mark.parametrize("indent", [None, 1])
def test_json_by_members(indent: int | None) -> None:
    """Members of a JSON document are code, small ones are put together, and brackets and commas are not lost."""
    text = json.dumps(RECORD, indent=indent)
    chunks = Blocks(size=60, least=8)(Document(id="d", text=text, format="json"))
    assert [chunk.type for chunk in chunks] == ["code", "code"]
    assert chunks[0].text.startswith("{")
    assert chunks[0].text.endswith("],")
    assert chunks[1].text.startswith('"note":')
    assert chunks[1].text.endswith("}")
    assert texts(Heading(size=50), text) == [chunk.text for chunk in chunks]
    assert len(texts(Heading(size=200), text)) == 1


CONTEXT = {
    "title": (Fixed(size=8, overlap=0, context="title"), "a b c d e f g", ["Tea room\na b c d e f", "Tea room\ng"]),
    "a title that is there": (Whole(context="title"), "# Tea room\n\nyes", ["# Tea room\n\nyes"]),
    "a title that is part of a line": (Whole(context="title"), "Tea rooms", ["Tea room\nTea rooms"]),
    "headings": (
        Blocks(least=0, context="headings"),
        "# A\n\none\n\n## B\n\n|a|b|\n|-|-|\n\ntwo",
        ["Tea room\n# A\n\none", "Tea room > A\n## B\n\n|a|b|\n|-|-|", "Tea room > A > B\ntwo"],
    ),
    "the title is the first heading": (
        Blocks(least=0, context="headings"),
        "# Tea Room\n\none\n\n```\ntwo\n```\n",
        ["Tea room\n# Tea Room\n\none", "Tea Room\n```\ntwo\n```"],
    ),
    "headings without a title": (Sentence(size=10, overlap=0, context="headings"), "# A b\n\n" + "C d. " * 5, None),
}


@each(("chunker", "text", "expected"), CONTEXT.values(), ids=list(CONTEXT))
def test_context(chunker: Chunker, text: str, expected: list[str] | None) -> None:
    """The title, and the headings above a chunk, stand on a line before it; the span holds only the body."""
    title = "Tea room" if expected is not None else ""
    if expected is None:
        expected = ["# A b\n\nC d.", "A b\nC d. C d.", "A b\nC d. C d."]
    pieces = chunker(Document(id="d", text=text, title=title))
    assert [chunk.text for chunk in pieces] == expected
    for chunk in pieces:
        body = text.encode()[chunk.span.start : chunk.span.end].decode()
        assert chunk.text.endswith(body)
        assert chunk.text == body or "\n" not in chunk.text.removesuffix(f"\n{body}")


def test_a_long_title_leaves_half_of_the_room() -> None:
    """A title takes at most half of the size, and the overlap keeps its share of the rest."""
    pieces = texts(Fixed(size=8, overlap=4, context="title"), "a b c d e f", title="one two three four five six")
    assert pieces == [f"one two three four\n{body}" for body in ("a b c d", "c d e f")]


def test_sections_are_told_where_headings_are_looked_at() -> None:
    """With headings for context, any chunker tells section and type; without, it does not look."""
    document = Document(id="d", text=GUIDE)
    assert {chunk.section for chunk in Fixed(size=10, overlap=0)(document)} == {""}
    # The longest line before a chunk has 6 tokens, so that 16 are left; the sections have 8, 30, 11 and 4.
    pieces = Fixed(size=22, overlap=0, context="headings")(document)
    assert [chunk.section for chunk in pieces] == ["S.1", "S.1.1", "S.1.1", ""]
    (only,) = Fixed(context="headings")(Document(id="d", text="# A\n\nYes.\n"))
    assert (only.section, only.type) == ("S.1", "prose")


def test_numbered_text_with_a_title_within() -> None:
    """The title of a numbered text goes with what follows it, and sections begin where their numbers do."""
    text = "House rules\n===========\n\nHello.\n\n1. Scope\n\nAll of us.\n\n2. Noise\n\nNone.\n"
    pieces = Heading(least=0)(Document(id="d", text=text))
    assert [chunk.text for chunk in pieces] == [
        "House rules\n===========\n\nHello.",
        "1. Scope\n\nAll of us.",
        "2. Noise\n\nNone.",
    ]


@each(
    ("make", "message"),
    [
        (lambda: Fixed(size=0), "fixed: size = 0; choose at least 1"),
        (lambda: Fixed(size=True), "fixed: size = True; choose a whole number of tokens"),
        (lambda: Sentence(size="512"), "sentence: size = '512'; choose a whole number of tokens"),  # type: ignore[arg-type]
        (lambda: Sentence(overlap=-1), "sentence: overlap = -1; choose at least 0"),
        (lambda: Recursive(size=9, overlap=5), "recursive: overlap = 5; choose at most 4, half of size = 9"),
        (lambda: Heading(least=-1), "heading: least = -1; choose at least 0"),
        (lambda: Blocks(least=1.5), "blocks: least = 1.5; choose a whole number of tokens"),  # type: ignore[arg-type]
        (lambda: Blocks(context="heading"), "blocks: context = 'heading', did you mean 'headings'?"),  # type: ignore[arg-type]
        (lambda: Whole(context=None), "whole: context = None; choose from none, title, headings"),  # type: ignore[arg-type]
        (lambda: Recursive(separators="\n"), "recursive: separators = '\\n'; write a list of texts"),
        (lambda: Recursive(separators=7), "recursive: separators = 7; write a list of texts"),  # type: ignore[arg-type]
        (
            lambda: Recursive(separators=["a", ""]),
            "recursive: separators has ''; each must be a text that is not empty",
        ),
    ],
)
def test_options_that_make_no_sense(make: object, message: str) -> None:
    """An error names the chunker, the option and its value, and says what to give instead."""
    assert callable(make)
    with pytest.raises(UsageError) as raised:
        make()
    assert str(raised.value) == message
