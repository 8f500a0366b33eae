"""The outline of a text: headings, numbers and blocks by hand, then properties, an oracle, and the command."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from each import each
from karat.cli._golden_outline import command
from karat.core import InputError, Span, UsageError
from karat.text._canonical import canonical
from karat.text._outline import LONGEST_PROSE, Outline, distance, outline, resolve, section_of_block, section_path

ROOT = Path(__file__).resolve().parents[2]

FRAGMENTS = [
    "# T",
    "## 1 A",
    "## 2 B",
    "### 1.1 C",
    "# 4 X",
    "## 4.2 Late",
    "1. Scope",
    "1.1 Foo",
    "2. Bar",
    "###### deep",
]
FRAGMENTS += [
    "text",
    "A sentence. Another one!",
    "\u65e5\u672c\u3002\u8a9e",
    "e\u0301\U0001f600",
    "\n",
    "\n",
    "\n\n",
    " x",
]
FRAGMENTS += [
    "---",
    "===",
    "T\n===",
    "T\n---",
    "```",
    "```py",
    "    code",
    "\tcode",
    "- item",
    "  more",
    "1. item",
    "> quote",
]
FRAGMENTS += [
    "![a](b)",
    "Figure 1: b",
    "|a|b|",
    "|-|-|",
    "a\tb",
    "{",
    '{"k": [1]}',
    '[{"a": 1}]',
    "\xa0",
    "\r",
    "\x0c",
    "x" * 700,
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("\n".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join),
    st.text(max_size=60),
)
thorough = settings(max_examples=400, deadline=None, derandomize=True)


def titles(text: str) -> dict[str, str]:
    """Return the sections' titles by their ids."""
    return {section.id: section.title for section in outline(text).sections}


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the blocks' types and what they hold."""
    data = text.encode()
    return [(b.type, data[b.span.start : b.span.end].decode()) for b in outline(text).blocks]


def cut(text: str, span: Span | None) -> str:
    """Return the text of a span."""
    assert span is not None
    return text.encode()[span.start : span.end].decode()


HEADINGS: dict[str, tuple[str, dict[str, str]]] = {
    "no heading": ("Open all day.\n", {"S.0": ""}),
    "nothing": ("", {"S.0": ""}),
    "levels": ("# A\n\na\n\n## B\n\nb\n\n# C\n", {"S.1": "A", "S.1.1": "B", "S.2": "C"}),
    "text before the first": ("Hello.\n\n# A\n", {"S.0": "", "S.1": "A"}),
    "six levels": ("###### A\n\n####### B\n", {"S.1": "A"}),
    "closing hashes": ("## A ##\n\n# C#\n\n# # #\n", {"S.1": "A", "S.2": "C#", "S.3": "#"}),
    "a tab after the hash": ("#\tA\n", {"S.1": "A"}),
    "no blank after the hash": ("#hashtag\n", {"S.0": ""}),
    "no title": ("#\n\n## ##\n", {"S.0": ""}),
    "indented by three": ("   # A\n", {"S.1": "A"}),
    "indented by four": ("text\n    # A\n", {"S.0": ""}),
    "below a paragraph": ("text\n# A\ntext\n", {"S.0": "", "S.1": "A"}),
    "in fenced code": ("```\n# A\n```\n\n# B\n", {"S.0": "", "S.1": "B"}),
    "in a fence that is never closed": ("# B\n\n~~~\n# A\n```\n# C\n", {"S.1": "B"}),
    "in fenced code of a list item": ("1. do\n\n    ```\n# A\n    ```\n\n# B\n", {"S.0": "", "S.1": "B"}),
    "in a list item": ("- a\n\n  # B\n", {"S.0": ""}),
    "in a quotation": ("> # A\n", {"S.0": ""}),
    "underlined": ("A\n===\n\nB\n---\n\nb\n", {"S.1": "A", "S.1.1": "B"}),
    "underlined twice": ("A\n===\nB\n---\nb\n", {"S.1": "A", "S.1.1": "B"}),
    "underlined too shortly": ("A\n==\n\nB\n--\n", {"S.0": ""}),
    "the last of several lines is underlined": ("a\nb\n---\n", {"S.0": ""}),
    "a thematic break": ("a\n\n---\n\nb\n", {"S.0": ""}),
    "two thematic breaks": ("***\n---\n", {"S.0": ""}),
    "a list item above a thematic break": ("- a\n---\n", {"S.0": ""}),
    "a quotation above a thematic break": ("> a\n---\n", {"S.0": ""}),
    "a line of a list item": ("- a\n\n  b\n  ---\n", {"S.0": ""}),
    "a long line above a thematic break": ("a" * 201 + "\n---\n", {"S.0": ""}),
    "a table": ("a | b\n--- | ---\n", {"S.0": ""}),
    "a row above a thematic break": ("a | b\n---\n", {"S.0": ""}),
    "front matter": ("---\ntitle: A\n---\n\n# B\n", {"S.0": "", "S.1": "B"}),
    "front matter that ends with dots": ("---\ntitle: A\n...\n# B\n", {"S.0": "", "S.1": "B"}),
}


@each(("text", "wanted"), HEADINGS.values(), ids=list(HEADINGS))
def test_headings(text: str, wanted: dict[str, str]) -> None:
    """Markdown headings begin sections; what only looks like one does not."""
    assert titles(text) == wanted


NUMBERED: dict[str, tuple[str, dict[str, str]]] = {
    "two chapters": ("1. Scope\n\na\n\n2. Terms\n\nb\n", {"S.1": "1. Scope", "S.2": "2. Terms"}),
    "no full stop": ("4 Rooms\n\n4.2 Late check-out\n\nb\n", {"S.4": "4 Rooms", "S.4.2": "4.2 Late check-out"}),
    "a single one": ("4.2 Late check-out\n\nUntil two.\n", {"S.4.2": "4.2 Late check-out"}),
    "a single item": ("1. Scope\n\nUntil two.\n", {"S.0": ""}),
    "below a title": ("Manual\n======\n\n1 A\n\na\n\n2 B\n\nb\n", {"S.0": "Manual", "S.1": "1 A", "S.2": "2 B"}),
    "text before the first": ("Hi.\n\n1 A\n\na\n\n2 B\n\nb\n", {"S.0": "", "S.1": "1 A", "S.2": "2 B"}),
    "a list": ("1. Apples\n\n2. Pears\n\n3. Plums\n\nEnd.\n", {"S.0": ""}),
    "a tight list": ("1. Apples\n2. Pears\n\nEnd.\n", {"S.0": ""}),
    "a table of contents, then chapters": (
        "1 A\n\n1.1 B\n\n2 C\n\nHi.\n\n1 A\n\na\n\n1.1 B\n\nb\n\n2 C\n\nc\n",
        {"S.0": "", "S.1": "1 A", "S.1.1": "1.1 B", "S.2": "2 C"},
    ),
    "a Markdown heading elsewhere": ("1 A\n\na\n\n# B\n\n2 C\n\nc\n", {"S.0": "", "S.1": "B"}),
    "sentences": ("1. This is so.\n\na\n\n2. So is this:\n\nb\n", {"S.0": ""}),
    "a lower-case letter": ("1. scope\n\na\n\n2. terms\n\nb\n", {"S.0": ""}),
    "text that is indented below": ("1. Scope\n\n   a\n\n2. Terms\n\n   b\n", {"S.0": ""}),
    "text right below": ("1. Scope\na\n\n2. Terms\nb\n", {"S.0": ""}),
    "nothing below the last": ("1. Scope\n\na\n\n2. Terms\n", {"S.0": ""}),
    "numbers that fall": ("2. Scope\n\na\n\n1. Terms\n\nb\n", {"S.0": ""}),
    "years": ("2025 Prices\n\na\n\n2026 Prices\n\nb\n", {"S.0": ""}),
    "long lines": (f"1. {'Word ' * 13}\n\na\n\n2. {'X' * 80}\n\nb\n", {"S.0": ""}),
}


@each(("text", "wanted"), NUMBERED.values(), ids=list(NUMBERED))
def test_numbered_headings_of_plain_text(text: str, wanted: dict[str, str]) -> None:
    """A numbered line that stands alone is a heading only where nothing speaks for a list."""
    assert titles(text) == wanted


NUMBERS: dict[str, tuple[str, list[str]]] = {
    "own numbers": ("# 4 A\n## 4.1 B\n## 4.2 C\n### 4.2.7 D\n# 5 E\n", ["S.4", "S.4.1", "S.4.2", "S.4.2.7", "S.5"]),
    "own numbers on one level": ("## 1 A\n## 1.1 B\n## 2 C\n", ["S.1", "S.1.1", "S.2"]),
    "own numbers with a full stop": ("## 1. A\n## 2) B\n## 4: C\n## 5:30 D\n", ["S.1", "S.2", "S.4", "S.5"]),
    "a title above own numbers": ("# T\n## 1 A\n## 2 B\n", ["S.0", "S.1", "S.2"]),
    "a title on the level of own numbers": ("# T\n# 1 A\n## 1.1 B\n", ["S.0", "S.1", "S.1.1"]),
    "a section without a number": ("# 4 A\n## 4.1 B\n## Note\n# 5 C\n", ["S.4", "S.4.1", "S.4.2", "S.5"]),
    "a chapter without a number": ("# 1 A\n# 2 B\n# References\n", ["S.1", "S.2", "S.3"]),
    "a number that is not free": ("# 1 A\n## Note\n## 1.1 B\n", ["S.1", "S.1.1", "S.1.2"]),
    "a number that stands twice": ("# 1 A\n# 1 B\n# 2 C\n", ["S.1", "S.2", "S.3"]),
    "numbers that fall": ("# 2 A\n# 1 B\n", ["S.1", "S.2"]),
    "a number within a part without one": ("# T\n# Part I\n## 1 A\n## 2 B\n", ["S.1", "S.2", "S.2.1", "S.2.2"]),
    "few numbers": ("# A\n# 7 Ways\n# B\n# C\n", ["S.1", "S.2", "S.3", "S.4"]),
    "versions": ("# 1.2.0\n# 1.1.0\n", ["S.1", "S.2"]),
    "zero is taken": ("Hi.\n# 0 A\n# 1 B\n", ["S.0", "S.1", "S.2"]),
    "zero is free": ("# 0 A\n# 1 B\n", ["S.0", "S.1"]),
    "counted": ("# A\n## B\n## C\n# D\n## E\n", ["S.1", "S.1.1", "S.1.2", "S.2", "S.2.1"]),
    "a skipped level": ("# A\n### B\n## C\n### D\n# E\n", ["S.1", "S.1.1", "S.1.2", "S.1.2.1", "S.2"]),
    "no first level": ("### A\n## B\n# C\n", ["S.1", "S.2", "S.3"]),
}


@each(("text", "wanted"), NUMBERS.values(), ids=list(NUMBERS))
def test_numbers_of_sections(text: str, wanted: list[str]) -> None:
    """Sections have the numbers of their headings where these make sense, else their places in the tree."""
    assert list(titles(text)) == wanted


def test_depth_ends_at_six() -> None:
    """What would be seven deep, below a title and numbers of six components, becomes a sibling."""
    # Number 0 is the title's, so that all are counted.
    text = "T\n===\n\n" + "".join(f"0{'.1' * i} A\n\na\n\n" for i in range(6))
    assert list(titles(text)) == ["S.1" + ".1" * i for i in range(6)] + ["S.1.1.1.1.1.2"]


def test_spans_of_a_section() -> None:
    """The heading, its own blocks, everything below it, and the anchor are distinguished, in bytes."""
    text = "# Caf\xe9\n\nIt is \u65e5\u672c.\n\nOpen all day.\n\n## Late\n\nUntil 23:00.\n\n# End\n"
    cafe, late, end = outline(text).sections
    assert [cut(text, s.heading) for s in (cafe, late, end)] == ["# Caf\xe9", "## Late", "# End"]
    assert cut(text, cafe.body) == "It is \u65e5\u672c.\n\nOpen all day."
    assert cut(text, cafe.whole) == "It is \u65e5\u672c.\n\nOpen all day.\n\n## Late\n\nUntil 23:00."
    assert cut(text, late.body) == cut(text, late.whole) == "Until 23:00."
    assert cut(text, cafe.anchor) == "It is \u65e5\u672c."
    assert (cafe.parent, late.parent, late.depth) == ("", "S.1", 2)
    assert end.body == end.whole == Span(len(text.encode()) - 1, len(text.encode()) - 1)
    assert end.anchor is None


def test_a_section_that_holds_only_sections() -> None:
    """Its own body is empty, and the whole begins with the first heading below it."""
    text = "# A\n\n## B\n\nb\n"
    first = outline(text).sections[0]
    assert (len(first.body), cut(text, first.whole)) == (0, "## B\n\nb")


def test_a_title_below_front_matter() -> None:
    """What stands before chapter 1 is S.0, with the document's title, front matter included."""
    text = "---\ntitle: x\n---\n\n# Manual\n\nFor all guests.\n\n## 1 A\n\n## 2 B\n"
    front = outline(text).sections[0]
    assert (front.id, front.title, cut(text, front.heading)) == ("S.0", "Manual", "# Manual")
    assert cut(text, front.body) == "---\ntitle: x\n---\n\n# Manual\n\nFor all guests."
    assert cut(text, front.anchor) == "For all guests."
    assert [b.id for b in outline(text).blocks] == ["S.0.c.Bk001", "S.0.p.Bk002"]
    alone = outline("---\na: b\n---\n# Manual\n## 1 A\n").sections[0]
    assert alone.body == alone.whole == Span(0, 12)


ANCHORS = {
    "a paragraph": ("Short.\n\nLonger than it.\n", "Longer than it."),
    "a paragraph after code": ("```\ncode\n```\n\nLonger than it.\n", "Longer than it."),
    "fenced code": ("```py\n\n  x = 1\ny = 2\n```\n", "x = 1"),
    "fenced code of a list item": ("- ```\n  x = 1\n  ```\n", "x = 1"),
    "indented code": ("# A\n\n    x = 1\n", "x = 1"),
    "a table": ("|a|b|\n|-|-|\n|1|2|\n", "|a|b|"),
    "a drawn table": ("+-+\n|a|\n+-+\n|1|\n+-+\n", "|a|"),
    "front matter": ("---\na: b\n---\n", "a: b"),
}


@each(("text", "wanted"), ANCHORS.values(), ids=list(ANCHORS))
def test_anchors(text: str, wanted: str) -> None:
    """A section is recognised by a paragraph of eight characters, else by a line of code or the head of a table."""
    assert cut(text, outline(text).sections[-1].anchor) == wanted


@each("text", ["Short.\n", "```\n```\n", "![a](b)\n", ""])
def test_a_section_may_have_no_anchor(text: str) -> None:
    """Where there is neither a long enough paragraph nor a line of code or a table, there is no anchor."""
    assert outline(text).sections[0].anchor is None


BLOCKS = {
    "paragraphs": ("a\nb\n\nc\n", ["prose a\nb", "prose c"]),
    "a list": ("Take:\n- a\n- b\n  c\n\n- d\n", ["prose Take:\n- a\n- b\n  c", "prose - d"]),
    "fenced code": ("a\n```py\n\nb\n```\nc\n", ["prose a", "code ```py\n\nb\n```", "prose c"]),
    "two fences": ("```\na\n```\n```\nb\n```\n", ["code ```\na\n```", "code ```\nb\n```"]),
    "a fence that is never closed": ("```\na\n\n\n", ["code ```\na"]),
    "a shorter fence inside": ("````\n```\n````\na\n", ["code ````\n```\n````", "prose a"]),
    "tildes in backticks": ("```\n~~~\n```\na\n", ["code ```\n~~~\n```", "prose a"]),
    "indented code": ("# A\n\n    a\n\n    b\n\nc\n", ["code     a\n\n    b", "prose c"]),
    "an indented paragraph": ("A\n\n    a\n", ["prose A", "prose     a"]),
    "an indented paragraph of a list": (
        "# A\n\n- a\n\n      b\n\nc\n\n    d\n",
        ["prose - a", "prose       b", "prose c", "code     d"],
    ),
    "a table": (
        "a\n| b | c |\n|---|---|\n| 1 | 2 |\nd\n",
        ["prose a", "table | b | c |\n|---|---|\n| 1 | 2 |", "prose d"],
    ),
    "a table of one column": ("| a |\n|---|\n| 1 |\n", ["table | a |\n|---|\n| 1 |"]),
    "rows without a head": ("|a|b|\n|1|2|\n\nc\n", ["table |a|b|\n|1|2|", "prose c"]),
    "a drawn table": ("+--+\n|a |\n+==+\n|1 |\n+--+\n", ["table +--+\n|a |\n+==+\n|1 |\n+--+"]),
    "cells between tabs": ("a\tb\n1\t2\nc\n", ["table a\tb\n1\t2", "prose c"]),
    "one line with a tab": ("a\tb\n\n1\t2\n", ["prose a\tb", "prose 1\t2"]),
    "one line with a pipe": ("a | b\nc\n", ["prose a | b\nc"]),
    "a figure": ("a\n\n![b](c.png)\n\nd\n", ["prose a", "figure ![b](c.png)", "prose d"]),
    "a figure that is a link": ("[![b](c)](d)\n", ["figure [![b](c)](d)"]),
    "a figure and its caption": ("![b](c)\nThe lobby.\n\nd\n", ["figure ![b](c)\nThe lobby.", "prose d"]),
    "a caption after a blank line": ("![b](c)\n\n*Figure 1*: d\n\ne\n", ["figure ![b](c)\n\n*Figure 1*: d", "prose e"]),
    "one caption only": ("![b](c)\nd\n\nFigure 2: e\n", ["figure ![b](c)\nd", "prose Figure 2: e"]),
    "a figure in a paragraph": ("a\n![b](c)\nd\ne\n", ["prose a", "figure ![b](c)", "prose d\ne"]),
    "two figures": ("![a](b)\n![c](d)\n", ["figure ![a](b)", "figure ![c](d)"]),
    "a figure above a line": ("![a](b)\n---\n", ["figure ![a](b)", "prose ---"]),
    "an image in a sentence": ("See ![b](c) here.\n", ["prose See ![b](c) here."]),
    "a thematic break": ("a\n\n---\n\nb\n", ["prose a", "prose ---", "prose b"]),
    "front matter": ("---\na: b\n---\nc\n", ["code ---\na: b\n---", "prose c"]),
}


@each(("text", "wanted"), BLOCKS.values(), ids=list(BLOCKS))
def test_blocks(text: str, wanted: list[str]) -> None:
    """Paragraphs, code, tables and figures are blocks, of whole lines."""
    assert [f"{kind} {held}" for kind, held in blocks(text)] == wanted


JSON = {
    "an object": (' {"a": 1, "b" : [2, 3] ,\n"c": {"d": 4}}\n', ['{"a": 1,', '"b" : [2, 3] ,', '"c": {"d": 4}}']),
    "an array of objects": ('[{"a": 1},\n {"b": 2}\n]\n', ['[{"a": 1},', '{"b": 2}\n]']),
    "an array of values": ("[1, 2,\n3]\n", ["[1, 2,\n3]"]),
    "an array of values and objects": ('[{"a": 1}, 2]\n', ['[{"a": 1}, 2]']),
    "nothing inside": ("{ }\n", ["{ }"]),
    "characters beyond ASCII": ('{"\xe9": "\u65e5", "b": "\U0001f600"}', ['{"\xe9": "\u65e5",', '"b": "\U0001f600"}']),
}


@each(("text", "wanted"), JSON.values(), ids=list(JSON))
def test_json(text: str, wanted: list[str]) -> None:
    """A JSON text has one block of code for each member of the outermost object, or array of objects."""
    assert blocks(text) == [("code", member) for member in wanted]
    assert list(titles(text)) == ["S.0"]


@each(
    "text",
    ['{"a": 1', '{"a" 1}', "{1: 2}", "[a link](b)", '{"a": 1} and more', "[1,]", '{"a": 1,}', "[" * 100_000, "12"],
)
def test_no_json(text: str) -> None:
    """What is no JSON object or array is prose, however it begins."""
    assert blocks(text) == [("prose", text)]


def test_ids_of_blocks() -> None:
    """An id says section, type and number; the numbers run through the document."""
    text = "a\n\n# 4 A\n\nb\n\n## 4.2 B\n\n```\nc\n```\n\n|d|e|\n|-|-|\n\n![f](g)\n"
    assert [b.id for b in outline(text).blocks] == [
        "S.0.p.Bk001",
        "S.4.p.Bk002",
        "S.4.2.c.Bk003",
        "S.4.2.t.Bk004",
        "S.4.2.f.Bk005",
    ]
    many = outline("a\n\n" * 1001)
    assert (many.blocks[998].id, many.blocks[1000].id) == ("S.0.p.Bk999", "S.0.p.Bk1001")


def test_long_prose_is_split_at_sentences() -> None:
    """Parts of a long paragraph have letters, end with a sentence, and have at most 1,200 bytes."""
    sentence = "The caf\xe9 at the quay (see e.g. the map) opens at seven. "
    text = "Short.\n\n" + (sentence * 60).strip() + "\n\nEnd.\n"
    shape = outline(text)
    parts = [b for b in shape.blocks if b.id.startswith("S.0.p.Bk002")]
    assert [b.id[-1] for b in parts] == ["a", "b", "c"]
    assert all(len(b.span) <= LONGEST_PROSE and cut(text, b.span).endswith("seven.") for b in parts)
    assert " ".join(cut(text, b.span) for b in parts) == (sentence * 60).strip()
    assert (shape.blocks[0].id, shape.blocks[-1].id) == ("S.0.p.Bk001", "S.0.p.Bk003")


def test_long_lists_and_logs_are_split_at_lines() -> None:
    """An item of a list ends like a sentence, and a sentence that is too long is split at its lines."""
    items = "".join(f"- item {i} without a full stop\n" for i in range(200))
    log = "".join(f"{i} something happened\n" for i in range(200))
    for text in (items, log):
        shape = outline(text).blocks
        assert len(shape) > 3
        assert all(len(b.span) <= LONGEST_PROSE for b in shape)
        assert "\n".join(cut(text, b.span) for b in shape) + "\n" == text


def test_what_cannot_be_split_stays_whole() -> None:
    """One endless line is one block, and so are long code and a long table."""
    for text in ("x" * 5000, "```\n" + "Code. More.\n" * 500 + "```", "|a|b|\n|-|-|" + "\n|One. Two.|3|" * 500):
        (block,) = outline(text).blocks
        assert (len(block.span), block.id[-5:]) == (len(text), "Bk001")


def test_sentences_without_blanks_between_them() -> None:
    """Chinese and Japanese full stops end sentences too."""
    text = "\u65e5\u672c\u8a9e\u3067\u3059\u3002" * 200
    shape = outline(text).blocks
    assert len(shape) == 4
    assert all(cut(text, b.span).endswith("\u3002") for b in shape)


def test_more_than_26_parts() -> None:
    """After z come aa, ab and so on, and no id stands twice."""
    ids = [b.id for b in outline("A sentence that is rather long, as they go. " * 2000).blocks]
    assert len(ids) == len(set(ids)) > 60
    assert [ids[i][-2:] for i in (0, 25, 26, 52)] == ["1a", "1z", "aa", "ba"]


TEXT = "Hello there.\n\n# 4 Rooms\n\nThe rooms.\n\n## 4.2 Late\n\nLate check-out.\n\nUntil two.\n"


def test_looking_things_up() -> None:
    """Sections and blocks are found by id, by span and by offset."""
    shape = outline(TEXT)
    assert shape.section("S.4.2").title == "4.2 Late"
    assert cut(TEXT, shape.block("S.4.2.p.Bk003").span) == "Late check-out."
    late = shape.block("S.4.2.p.Bk003").span
    assert [b.id[-1] for b in shape.at(Span(late.start + 1, late.end + 3))] == ["3", "4"]
    assert [b.id[-1] for b in shape.at(Span(0, shape.size))] == ["1", "2", "3", "4"]
    assert shape.at(Span(late.end, late.end + 1)) == shape.at(Span(late.start, late.start)) == ()
    assert [shape.section_of(at).id for at in (0, 13, 14, 40, shape.size)] == ["S.0", "S.0", "S.4", "S.4.2", "S.4.2"]
    for outside in (-1, shape.size + 1):
        with pytest.raises(InputError, match="outside the text, which has 78"):
            shape.section_of(outside)


def test_resolving_ids() -> None:
    """The bytes of a section include the sections below it; those of a block are its own."""
    assert cut(TEXT, resolve(TEXT, section="S.4")).startswith("The rooms.")
    assert cut(TEXT, resolve(TEXT, section="S.4")).endswith("Until two.")
    assert cut(TEXT, resolve(outline(TEXT), block="S.4.2.p.Bk004")) == "Until two."
    assert resolve(TEXT, "S.4.2", "S.4.2.p.Bk004") == resolve(TEXT, block="S.4.2.p.Bk004")


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "another section": ({"section": "S.4.3"}, "there is no section 'S.4.3', did you mean 'S.4.2'?"),
    "nothing alike": ({"section": "xyz"}, "there is no section 'xyz'; karat golden outline shows all ids"),
    "a block that moved": (
        {"block": "S.4.1.p.Bk003"},
        "there is no block 'S.4.1.p.Bk003', did you mean 'S.4.2.p.Bk003'?",
    ),
    "a part that is none": ({"block": "S.4.2.p.Bk003a"}, "did you mean 'S.4.2.p.Bk003'"),
    "neither": ({}, "resolve needs the id of a section or of a block"),
    "both, apart": ({"section": "S.4", "block": "S.4.2.p.Bk003"}, "block 'S.4.2.p.Bk003' is not in section 'S.4'"),
    "no block id": (
        {"section": "S.4", "block": "c_00123"},
        "'c_00123' is not a block id; write it like S.4.2.p.Bk011a",
    ),
}


@each(("ids", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_unknown_ids(ids: dict[str, str], message: str) -> None:
    """An id that the text does not have is an error with near misses."""
    with pytest.raises((InputError, UsageError)) as error:
        resolve(TEXT, **ids)
    assert message in str(error.value)


@pytest.mark.slow
def test_near_misses_of_a_long_text_take_no_time() -> None:
    """Looking for near misses does not compare an id with each of a hundred thousand."""
    shape = outline("a\n\n" * 100_000)
    start = time.process_time()
    with pytest.raises(InputError, match=r"did you mean 'S\.0\.p\.Bk500'"):
        shape.block("S.1.p.Bk500")
    assert time.process_time() - start < 5


@each(
    ("a", "b", "steps"),
    [
        ("S.4.2", "S.4.2", 0),
        ("S.4", "S.4.2", 1),
        ("S.4.2", "S.4", 1),
        ("S.4.1", "S.4.2", 2),
        ("S.1.1", "S.1.10", 2),
        ("S.1.2.3", "S.1.10.3", 4),
        ("S.4", "S.5", 2),
        ("S.0", "S.4.2.1", 4),
        ("S.04", "S.4", 0),
    ],
)
def test_distance(a: str, b: str, steps: int) -> None:
    """Steps are counted through the lowest common ancestor, and 1.10 is not below 1.1."""
    assert distance(a, b) == steps


@each("wrong", ["", "S", "S.", "4.2", "S.4.", "S.a", "S.4.2.p.Bk011", "S.\u0664", "S.1\n"])
def test_what_is_no_section_id(wrong: str) -> None:
    """A distance from something else than a section is refused."""
    with pytest.raises(InputError, match=r"is not a section id; write it like S\.4\.2"):
        distance("S.1", wrong)


def test_sections_sort_as_numbers() -> None:
    """Reading order is the order of the numbers, not of the letters: ten comes after two."""
    ids = list(titles("# A\n" + "## B\n" * 11))
    assert ids == sorted(ids, key=section_path) != sorted(ids)


def test_a_block_names_its_section() -> None:
    """The section can be read off a block's id, so that old traces need no text."""
    assert section_of_block("S.4.2.p.Bk011a") == "S.4.2"
    assert section_of_block("S.0.c.Bk1000") == "S.0"
    for wrong in ("S.4.2", "S.4.2.x.Bk011", "A.3.1.bk012", "S.4.2.p.Bk11"):
        with pytest.raises(InputError, match="is not a block id"):
            section_of_block(wrong)


def test_half_of_a_surrogate_pair_is_told() -> None:
    """Text that has no UTF-8 form has no bytes to count."""
    with pytest.raises(InputError, match="half of a surrogate pair; canonicalise it first"):
        outline("a\ud83d")
    assert outline(canonical("a\ud83d")).size == 5


def check(text: str) -> Outline:
    """Check all that an outline promises, for one text."""
    data, shape = text.encode(), outline(text)
    owner = [""] * len(data)
    for section in shape.sections:
        owner[section.heading.start : section.heading.end] = ["#"] * len(section.heading)
    assert shape.size == len(data)
    for before, after in zip(shape.blocks, shape.blocks[1:], strict=False):
        assert before.span.end <= after.span.start
    for block in shape.blocks:
        assert data[block.span.start : block.span.end].decode().strip()
        assert not any(owner[block.span.start : block.span.end])
        owner[block.span.start : block.span.end] = [block.id] * len(block.span)
        assert shape.block(block.id) is block
        assert shape.at(block.span) == (block,)
        assert shape.section_of(block.span.start) is shape.section(block.section)
    at = 0
    for character in text:
        assert character.isspace() or owner[at]
        at += len(character.encode())
    return shape


def check_sections(text: str, shape: Outline) -> None:
    """Check the tree of sections."""
    ids = [section.id for section in shape.sections]
    assert ids == sorted(set(ids), key=section_path)
    for section in shape.sections:
        own = [block.span for block in shape.blocks if block.section == section.id]
        assert section.title in cut(text, section.heading)
        assert section.body == Span(own[0].start, own[-1].end) if own else not section.body
        assert section.whole.end >= section.body.end
        assert section.depth == len(section_path(section.id)) <= 6
        if section.parent:
            around = shape.section(section.parent).whole
            assert around.start <= section.heading.start
            assert section.whole.end <= around.end
            assert distance(section.id, section.parent) >= 1
        if section.anchor:
            assert cut(text, section.anchor).strip()
            assert section.body.start <= section.anchor.start < section.anchor.end <= section.body.end


@pytest.mark.slow
@thorough
@given(TEXTS)
@example("---\na: b\n---\n# T\n## 1 A\n## 2 B\n")
@example("- ```\n# a\n  ```\n")
@example("e\u0301\r\n===\r\n\U0001f468\u200d\U0001f469\u200d\U0001f467 \u0916\u093f\r\n")
def test_every_byte_is_in_one_block_or_heading(text: str) -> None:
    """Blocks are disjoint, in order and whole characters, and leave out only white space; canonical or not."""
    text = text.encode(errors="replace").decode()
    for form in (text, canonical(text)):
        check_sections(form, check(form))


@pytest.mark.slow
@thorough
@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_line_ends_do_not_matter(text: str, line_end: str) -> None:
    """A text has the same outline whichever line ends its file has."""
    text = canonical(text)
    assert outline(canonical(text.replace("\n", line_end))) == outline(text)


@pytest.mark.slow
@thorough
@given(
    st.lists(
        st.sampled_from(
            ["cafe\u0301 au lait", "\u0916\u093f\u0921\u093c\u0915\u0940", "\U0001f468\u200d\U0001f469", "plain"]
        ),
        min_size=1,
    )
)
def test_offsets_mean_what_they_say(paragraphs: list[str]) -> None:
    """Each paragraph is found again at its bytes, however many of them a character has."""
    text = canonical("\r\n\r\n".join(paragraphs))
    assert [held for _, held in blocks(text)] == [canonical(paragraph).strip() for paragraph in paragraphs]


PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"]


@pytest.fixture(scope="module")
def markdown() -> Any:
    """Another implementation."""
    return pytest.importorskip("markdown").Markdown(extensions=["toc", "fenced_code", "tables"])


@pytest.mark.parametrize("pages", [PAGES[number::12] for number in range(12)], ids=range(12))
def test_headings_are_those_of_python_markdown(markdown: Any, pages: list[Path]) -> None:
    """It finds the same headings in the documentation of this repository."""
    for page in pages:
        headings, expected = find_headings(markdown, page.read_text(encoding="utf-8"))
        assert headings == expected, page


def find_headings(parser: Any, page: str) -> tuple[list[str], list[str]]:
    """Return the words of the headings of a page, as they are here and elsewhere."""
    text = canonical(page)
    parser.reset().convert(text)

    def names(tokens: list[dict[str, Any]]) -> list[str]:
        return [name for token in tokens for name in (token["name"], *names(token["children"]))]

    def words(title: str) -> str:
        return re.sub(r"&\w+;|[\W_]+", "", title)

    shape = [section.title for section in outline(text).sections if section.title]
    return list(map(words, shape)), list(map(words, names(parser.toc_tokens)))


ADVERSARIAL = {
    "hashes": "#" * 250_000,
    "hashes on lines": "#\n" * 250_000,
    "headings": "# a\n" * 25_000,
    "numbered headings": "".join(f"{i // 900}.{i % 900 + 1} Foo\n\na\n\n" for i in range(10_000)),
    "numbered lines": "".join(f"{i % 999}. Foo\n\n" for i in range(15_000)),
    "underlines": "a\n---\n" * 25_000,
    "fences": "```\n" * 50_000,
    "a fence that is never closed": "```\n" + "a\n" * 100_000,
    "one huge line": "x" * 250_000,
    "full stops": "." * 250_000,
    "full stops and blanks": ". " * 25_000 + " " * 250_000 + "x",
    "quotation marks": '."' * 125_000,
    "paragraphs": "a\n\n" * 25_000,
    "list items": "- a\n" * 250_000,
    "markers": "- " * 125_000,
    "images": "![" * 125_000,
    "brackets of an image": "![a](" + "(" * 250_000,
    "image lines": "![a](b)\n" * 15_000,
    "rows": "|a|b|\n|-|-|\n" * 20_000,
    "pipes": "|" * 250_000,
    "JSON brackets": "[" * 250_000,
    "JSON members": "[" + ",".join(["{}"] * 25_000) + "]",
    "JSON blanks": "{" + " " * 250_000,
    "characters of four bytes": "\U0001f600. " * 250_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_time_is_linear(text: str) -> None:
    """Text made to be slow takes about a second at most, where anything quadratic would take minutes."""
    start = time.process_time()
    shape = outline(text)
    assert time.process_time() - start < 15
    assert shape.size == len(text.encode())


def printed(*arguments: str, stdin: bytes = b"") -> str:
    """Return what ``karat golden outline`` prints."""
    return CliRunner().invoke(command, arguments, input=stdin, catch_exceptions=False).stdout


def test_the_command_prints_the_tree(tmp_path: Path) -> None:
    """Sections and blocks are indented by depth, with type, bytes and first words."""
    file = tmp_path / "hotel.md"
    file.write_bytes(b"# Desk\n\nOpen\nall day.\n\n## Late check-out\n\n```\nx\n```\n")
    head, blank, *rows = printed(str(file)).splitlines()
    assert head.endswith(
        "hotel.md: 52 bytes, 2 sections, 2 blocks; canonical text karat-1, the same bytes as in the file"
    )
    assert blank == ""
    assert rows == [
        "id                 type     bytes  title or first words",
        "S.1                section  8-51   Desk",
        "  S.1.p.Bk001      prose    8-21   Open all day.",
        "  S.1.1            section  42-51  Late check-out",
        "    S.1.1.c.Bk002  code     42-51  ``` x ```",
    ]


def test_the_command_can_leave_out_the_blocks() -> None:
    """With --no-blocks only sections are shown, in both forms."""
    assert [row.split()[0] for row in printed("-", "--no-blocks", stdin=b"# A\n\na\n").splitlines()[2:]] == [
        "id",
        "S.1",
    ]
    assert "blocks" not in json.loads(printed("-", "--no-blocks", "--json", stdin=b"# A\n\na\n"))


def test_the_command_says_whether_the_text_changed() -> None:
    """Offsets count the canonical text, so it matters whether the file has other bytes."""
    assert "1 section, 1 block; canonical text karat-1, other bytes than in the file" in printed("-", stdin=b"a\r\n")
    assert json.loads(printed("-", "--json", stdin=b"\xef\xbb\xbfa\n"))["changed"] is True
    assert json.loads(printed("-", "--json", stdin=b"a\n"))["changed"] is False


def test_the_command_prints_json() -> None:
    """The machine form has all that the outline has."""
    shape = json.loads(printed("-", "--json", stdin="# Caf\xe9\n\nOpen all day.\n".encode()))
    assert shape == {
        "document": "-",
        "normaliser": "karat-1",
        "changed": False,
        "bytes": 23,
        "sections": [
            {
                "id": "S.1",
                "title": "Caf\xe9",
                "depth": 1,
                "parent": "",
                "heading": [0, 7],
                "body": [9, 22],
                "whole": [9, 22],
                "anchor": [9, 22],
            }
        ],
        "blocks": [{"id": "S.1.p.Bk001", "type": "prose", "section": "S.1", "span": [9, 22]}],
    }


def test_the_command_is_safe_for_a_terminal() -> None:
    """What a terminal would act on is shown escaped, and long titles are cut."""
    shown = printed("-", stdin=("# \u202eevil " + "x" * 100 + "\n\na\u200bb\n").encode())
    assert "\\u202eevil xxx" in shown
    assert "xxx...\n" in shown
    assert "a\\u200bb" in shown


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\n\xff", "standard input, line 2: byte 0xff is not UTF-8; convert it to UTF-8, for example with iconv"),
        (
            b"a\0",
            "standard input, line 1: a NUL byte, which text never has; convert it to UTF-8, for example with iconv",
        ),
    ],
)
def test_the_command_refuses_what_is_not_text(data: bytes, message: str) -> None:
    """A file in another encoding gives one message, with the line."""
    with pytest.raises(InputError) as error:
        printed("-", stdin=data)
    assert str(error.value) == message


def test_the_command_says_which_file_is_missing(tmp_path: Path) -> None:
    """A file that is not there gives one message with its name."""
    with pytest.raises(InputError, match=r"nowhere\.md: no such file"):
        printed(str(tmp_path / "nowhere.md"))
