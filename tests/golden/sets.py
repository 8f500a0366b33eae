"""Random golden sets that hold what a format can keep, and the ways to send them round."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from karat import golden
from karat.core import GRADES, SOURCES, Document, GoldenSet, Judgment, Query, Session, Span, Target
from karat.golden._format import EVERYTHING

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NASTY = ["", " ", "two\nlines", "\r\n", 'a "quoted" word', "back\\slash", "\u2028", "e\u0301", "\u65e5\u672c", "// no"]
TEXTS = st.one_of(st.sampled_from(NASTY), st.text(CHARACTERS, max_size=12))
"""Any text that a file can hold; no NUL."""
IDS = st.one_of(
    st.sampled_from(["1", "07", "-1", "9007199254740993", "d:chunk:0", "a b", "#", '"', "\u00e9", "\u65e5\u672c"]),
    st.text(CHARACTERS, min_size=1, max_size=5),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
METADATA = st.dictionaries(TEXTS, JSON, max_size=2)
SCALES = [
    (GRADES, 2),
    (GRADES, 1),
    (("not relevant", "relevant"), 1),
    (("no", "yes"), 1),
    (("a", "b", "c"), 1),
    (("a", "b", "c", "d", "e"), 3),
]


def golden_sets(
    keeps: frozenset[str] = EVERYTHING,
    *,
    ids: st.SearchStrategy[str] = IDS,
    texts: st.SearchStrategy[str] = TEXTS,
    scales: list[tuple[tuple[str, ...], int]] = SCALES,
    **others: st.SearchStrategy[Any],
) -> st.SearchStrategy[GoldenSet]:
    """Golden sets in which only what is kept differs from its default; ids are sound, and no query stands twice.

    A pair is judged several times only where annotators are kept. Texts lie in their rows. ``others`` replaces the
    strategy of a field, as in ``document__domain=st.just("policy")``.
    """
    names = st.shared(st.lists(ids, min_size=1, max_size=4, unique=True))
    known = names.flatmap(st.sampled_from)
    targets = built(Target, keeps, {**_target(texts), "document": known}, others)
    rows = _rows(ids, texts, known, targets, keeps)
    queries = st.lists(built(Query, keeps, rows["query"], others), max_size=3, unique_by=lambda query: query.id)
    judged = st.lists(targets, max_size=4, unique="judgment.annotator" not in keeps)
    free = {
        kind: st.fixed_dictionaries(_kept(kind, keeps, rows[PARTS[kind]], others))
        for kind in (GoldenSet, Document, Judgment)
    }
    return _golden_sets(names, queries, judged, free, keeps, scales)


@st.composite
def _golden_sets(
    draw: st.DrawFn,
    names: st.SearchStrategy[list[str]],
    queries: st.SearchStrategy[list[Query]],
    judged: st.SearchStrategy[list[Target]],
    free: Mapping[Any, st.SearchStrategy[dict[str, Any]]],
    keeps: frozenset[str],
    scales: list[tuple[tuple[str, ...], int]],
) -> GoldenSet:
    """Put together what depends on each other; all strategies are made before, since that takes longer than to draw."""

    def make(kind: Any, **own: Any) -> Any:
        own = {name: value for name, value in own.items() if f"{PARTS[kind]}.{name}" in keeps}
        return kind(**draw(free[kind]), **own)

    declared = {"set.grades", "set.relevant"} <= keeps
    grades, relevant = draw(st.sampled_from(scales)) if declared else (GRADES, 2)
    questions = draw(queries)
    judgments = [
        make(Judgment, query=query.id, target=target, grade=draw(st.integers(0, len(grades) - 1)))
        for query in questions
        for target in draw(judged)
    ]
    held = tuple(make(Document, id=name) for name in draw(names) if "set.documents" in keeps)
    parts = {"documents": held, "queries": tuple(questions), "judgments": tuple(judgments)}
    golden_set: GoldenSet = make(GoldenSet, grades=grades, relevant=relevant, **parts)
    return golden_set


PARTS = {
    GoldenSet: "set",
    Document: "document",
    Query: "query",
    Session: "session",
    Judgment: "judgment",
    Target: "target",
}


def built(
    kind: Any, keeps: frozenset[str], rows: Mapping[str, st.SearchStrategy[Any]], others: Mapping[str, Any]
) -> st.SearchStrategy[Any]:
    """Build values of one class, with the fields that are kept."""
    return st.builds(kind, **_kept(kind, keeps, rows, others))


def _kept(
    kind: Any, keeps: frozenset[str], rows: Mapping[str, st.SearchStrategy[Any]], others: Mapping[str, Any]
) -> dict[str, st.SearchStrategy[Any]]:
    """Return the strategies of the fields of a class that are kept."""
    part = PARTS[kind]
    kept = [field.name for field in fields(kind) if f"{part}.{field.name}" in keeps and field.name in rows]
    return {name: others.get(f"{part}__{name}", rows[name]) for name in kept}


def _target(texts: st.SearchStrategy[str]) -> dict[str, st.SearchStrategy[Any]]:
    spans = st.builds(Span, st.integers(0, 99), st.integers(100, 200))
    return {"section": texts, "block": texts, "span": st.none() | spans}


def _rows(
    ids: st.SearchStrategy[str],
    texts: st.SearchStrategy[str],
    known: st.SearchStrategy[str],
    targets: st.SearchStrategy[Target],
    keeps: frozenset[str],
) -> dict[str, dict[str, st.SearchStrategy[Any]]]:
    """Return a strategy for each field of the model that does not depend on the others."""

    def some(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
        return st.lists(of, max_size=3).map(tuple)

    parts = {"id": ids, "documents": some(known), "turn": st.integers(1, 9), "remember": some(known)}
    sessions = built(Session, keeps | {"session.id"}, parts, {})
    description = dict.fromkeys(("name", "version", "description", "created", "normaliser"), texts)
    wording = dict.fromkeys(("text", "category", "type", "intent", "answer", "top_chunk", "harvested"), texts)
    words = dict.fromkeys(("text", "title", "type", "tier", "version"), texts)
    gate = st.dictionaries(texts, st.floats(0, 1), max_size=2)
    return {
        "set": {**description, "classes": st.dictionaries(texts, some(known), max_size=2), "gate": gate},
        "document": {
            **words,
            "format": st.sampled_from(["", "markdown", "text", "json"]),
            "domain": texts,
            "tags": some(texts),
            "superseded_by": st.just("") | known,
            "metadata": METADATA,
        },
        "query": {
            **wording,
            "id": ids,
            "paraphrases": some(texts),
            "negatives": some(targets),
            "anchors": some(targets),
            "must_show": some(known),
            "chain": some(known),
            "session": st.none() | sessions,
            "answerable": st.booleans(),
            "metadata": METADATA,
        },
        "judgment": {
            "source": st.sampled_from(SOURCES),
            "annotator": texts,
            "confidence": st.none() | st.floats(0, 1),
            "date": texts,
            "channels": some(texts),
        },
    }


def sent_round(golden_set: GoldenSet, format: str, name: str = "golden.json") -> tuple[GoldenSet, tuple[str, ...]]:
    """Write a set and read it again; return what came back, and the notes on what was lost.

    Fails where another format takes the file for its own, or where the reader finds a key that it does not know.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        lost = golden.write(golden_set, path, format)
        back = golden.read(path, format)
        if golden_set.queries:
            assert [known.name for known in golden.FORMATS if known.recognise(path)] == [format]
    assert not [note for note in back.notes if "unknown key" in note]
    return back, lost
