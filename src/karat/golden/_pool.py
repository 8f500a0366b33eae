"""What to judge next: the union of the best of every run, pairs that nobody judged first."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core import NORMALISER, Document, GoldenSet, InputError, UsageError
from karat.files import read_bytes, write_file
from karat.golden._passages import Passage
from karat.golden.formats import encode_line
from karat.text import canonical

_CHUNK = re.compile(r"(.+):chunk:\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """A pair of query and document to judge."""

    query: str
    document: str
    rank: int
    """The best rank that any run gives it."""
    runs: int
    """How many runs have it in their pool."""
    grade: int | None
    """Its grade, where it is judged already."""
    hits: tuple[str, ...] = field(default=(), compare=False)
    """The ids by which the runs name the document: its own, or those of its chunks."""


def pool(golden: GoldenSet, runs: Iterable[Mapping[str, Mapping[str, float]]], *, depth: int = 20) -> list[Pooled]:
    """Return the pairs that the runs have in their first ``depth``, each once.

    Queries and documents that the set does not have are left out, where it has any: nobody could judge them. So are
    queries without an answer, for which no document is relevant.
    Unjudged pairs come first, then the others; within both the best rank decides, then the number of runs, so that
    whoever stops early has judged the top of every query. Chunk ids such as ``wifi:chunk:3`` count as their document,
    and documents of one equivalence class as the first of them in a run.

    >>> pairs = pool(GoldenSet(), [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1.0}}], depth=1)
    >>> [(pair.document, pair.rank, pair.runs) for pair in pairs]
    [('a', 1, 1), ('b', 1, 1)]
    """
    if depth < 1:
        raise UsageError(f"depth={depth}; pool at least one document")
    judged = golden.qrels()
    known = set(golden.document_by_id)
    best: dict[tuple[str, str], tuple[int, int, dict[str, None]]] = {}
    for run in runs:
        for query, scores in run.items():
            if query in golden.unanswerable or (golden.queries and query not in judged):
                continue
            ranking = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
            units = distinct_documents(ranking, known, golden.class_of).values()
            judgeable = [unit for unit in units if not known or unit[0] in known]
            for rank, (document, hits) in enumerate(judgeable[:depth], 1):
                top, count, names = best.get((query, document), (rank, 0, {}))
                best[query, document] = (min(top, rank), count + 1, names | dict.fromkeys(hits))
    grades = {query: judged.get(query, {}) for query, _ in best}
    pairs = [
        Pooled(query=q, document=d, rank=rank, runs=count, grade=grades[q].get(d), hits=tuple(names))
        for (q, d), (rank, count, names) in best.items()
    ]
    place = {query: i for i, query in enumerate(judged)}
    return sorted(
        pairs,
        key=lambda p: (p.grade is not None, p.rank, -p.runs, place.get(p.query, len(place)), p.query, p.document),
    )


def distinct_documents(
    ranking: Sequence[str], known: Collection[str], class_of: Mapping[str, str]
) -> dict[str, tuple[str, list[str]]]:
    """Return the documents of a ranking with their hits, by document or class, at the place of the first chunk."""
    units: dict[str, tuple[str, list[str]]] = {}
    for name in ranking:
        chunk = None if name in known else _CHUNK.fullmatch(name)
        document = chunk[1] if chunk and (chunk[1] in known or not known) else name
        units.setdefault(class_of.get(document, document), (document, []))[1].append(name)
    return units


def pool_rows(
    golden: GoldenSet, pairs: Iterable[Pooled], passages: Mapping[tuple[str, str], Passage] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file in which annotators fill in ``grade``, with all that they need to read.

    A row has the query, the document's title and text, and the passage that a system returned, where ``passages``
    knows it (by query and id of the hit). Where the set holds no text, that of the hit is shown. Ranks, runs and
    the grades of others are left out: knowing them sways the judge.
    """
    for pair in pairs:
        query, document = golden.query_by_id.get(pair.query), golden.document_by_id.get(pair.document)
        hits = [passages[pair.query, hit] for hit in pair.hits if (pair.query, hit) in passages] if passages else []
        passage = _passage(golden, document, hits)
        text = document.text if document else ""
        row = {
            "query": pair.query,
            "query_text": query.text if query else next((hit.query_text for hit in hits if hit.query_text), ""),
            "document": pair.document,
            "title": document.title if document else "",
            "text": text or passage,
            "passage": passage if passage.strip() != text.strip() and text else "",
            "grade": None,
        }
        yield {key: value for key, value in row.items() if value != ""}


def _passage(golden: GoldenSet, document: Document | None, hits: Sequence[Passage]) -> str:
    """Return the text of the first hit that has one: what the system returned, or the bytes of its span."""
    for hit in hits:
        if hit.text:
            return hit.text
        if hit.span is not None and document is not None and golden.normaliser == NORMALISER:
            data = canonical(document.text).encode()[hit.span.start : hit.span.end]
            return data.decode(errors="ignore").strip()
    return ""


def pool_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as the text of a file, one JSON record per line."""
    return "".join(map(encode_line, rows))


def write_pool(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to a file, whole or not at all.

    An older pool is replaced only while nobody has filled in a grade. Any other file, such as a run, a golden set or
    the work of an annotator, is refused and stays as it is.
    """
    text = pool_text(rows)
    if Path(path).is_file() and not _is_unjudged_pool(path):
        hint = "choose a new name, or remove it"
        raise InputError("exists already, and is not a pool without grades", source=str(path), hint=hint)
    write_file(path, text)


def _is_unjudged_pool(path: str | Path) -> bool:
    """Return whether a file is empty, or has rows of a pool of which none has a grade."""
    try:
        rows = [json.loads(line) for line in read_bytes(path).splitlines()]
    except (InputError, ValueError, RecursionError):
        return False
    return all(isinstance(row, dict) and "query" in row and row.get("grade", 0) is None for row in rows)
