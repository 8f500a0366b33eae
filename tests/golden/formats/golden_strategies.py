"""Random golden sets, with everything in them that a format might break on."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

quick = settings(max_examples=150, deadline=None, derandomize=True)

# Line ends of all kinds, what CSV, TSV, JSON and SGML mean something by, combining marks, and letters of 2 to 4 bytes.
NASTY = ['"', "'", "\t", "\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\x00", "\x7f", "\ufeff", "\u00a0", "  ", " "]
NASTY += [
    "<",
    "</TEXT>",
    "<top>",
    "&amp;",
    "&#10;",
    "&",
    ",",
    "|",
    "{",
    "[1]",
    "\\",
    "#",
    "-",
    "--",
    "e\u0301",
    "\u00e9",
]
NASTY += ["\u65e5\u672c", "\U0001f642", "Number: ", "Topic: 5", "\u00ad", "null", "0", "wifi", "late check-\nout"]
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), max_size=6).map("".join)
ids = st.lists(st.sampled_from(NASTY) | st.text(min_size=1, max_size=4), min_size=1, max_size=3).map("".join)
plain_ids = st.text(st.sampled_from("abcXYZ019._:/@\u00e9\u65e5"), min_size=1, max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
mappings = st.dictionaries(texts | st.sampled_from(["comments", "source_file", "expected_tools"]), values, max_size=3)


@st.composite
def golden_sets(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = ids,
    *,
    content: st.SearchStrategy[str] = texts,
    metadata: bool = False,
) -> GoldenSet:
    """A set of documents, queries and judgments, each pair judged once with a grade from 0 to 3."""
    described = mappings if metadata else st.just({})
    documents = [
        Document(id=name, text=draw(content), title=draw(texts), metadata=draw(described))
        for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))
    ]
    queries = [
        Query(id=name, text=draw(content), answer=draw(texts), type=draw(texts), metadata=draw(described))
        for name in draw(st.lists(names, min_size=1, max_size=4, unique=True))
    ]
    pairs = st.tuples(st.sampled_from(queries), st.sampled_from(documents))
    judged = draw(st.lists(pairs, max_size=6, unique_by=lambda pair: (pair[0].id, pair[1].id)))
    return GoldenSet(
        documents=tuple(documents),
        queries=tuple(queries),
        judgments=tuple(
            Judgment(query=query.id, target=Target(document=document.id), grade=draw(st.integers(0, 3)))
            for query, document in judged
        ),
    )


def round_trip(original: GoldenSet, format: str) -> GoldenSet:
    """Write a set and read it again, without naming its format; no other format may take it for its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set"
        golden.write(original, path, format)
        assert [known.name for known in golden.FORMATS if known.recognise(path)] == [format]
        back = golden.read(path)
    assert not [note for note in back.notes if "unknown key" in note]
    return back


def relevant(original: GoldenSet) -> set[tuple[str, str]]:
    """Return the pairs that are relevant, by whatever the set says that is."""
    return {(pair, str(target)) for (pair, target), grade in original.decided.items() if grade >= original.relevant}
