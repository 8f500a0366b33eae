"""Passages that people may see while they judge: only those that do not tell which run found a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from karat.core import Document, GoldenSet
from karat.golden._passages import Passage, RankedRuns
from karat.golden._pool import Pooled
from karat.text import canonical

_ALIKE = 2.0
"""So many times longer may the middle passage of one run be than that of another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindPassages:
    """What people may see of what runs returned, by query and id of the hit."""

    passages: Mapping[tuple[str, str], Passage]
    notes: tuple[str, ...] = ()
    """Why no passage is shown, if that is so."""


def blind_passages(golden: GoldenSet, ranked: RankedRuns, pairs: Iterable[Pooled]) -> BlindPassages:
    """Return the passages of some pairs, or none where they would tell which run found a pair.

    They tell it if one run returned passages and another one whole documents, or much longer passages: then whoever
    judges sees whose pair it is. Where the set has no text of a document, what a run returned of it stays: there is
    nothing else to read.
    """
    pairs = list(pairs)
    reason = find_giveaway(
        {
            file: [_measure(golden, pair, table, passages) for pair in pairs if _has(pair, table)]
            for file, table, passages in zip(ranked.files, ranked.tables, ranked.passages_by_run, strict=True)
        }
    )
    if not reason:
        return BlindPassages(passages=ranked.passages)
    kept = dict(ranked.passages)
    for pair in pairs:
        if _read(golden.document_by_id.get(pair.document)):
            for key in ((pair.query, hit) for hit in pair.hits if (pair.query, hit) in kept):
                kept[key] = Passage(query_text=kept[key].query_text)
    return BlindPassages(passages=kept, notes=(reason,))


def find_giveaway(sources: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """Return why passages would tell where a pair is from; empty if they do not.

    A source has two sizes for each of its pairs: that of what it returned, and that of the whole document.
    """
    sizes_of = {name: sizes for name, sizes in sources.items() if sizes}
    whole = [name for name, sizes in sizes_of.items() if all(part >= size for part, size in sizes)]
    if not sizes_of or len(whole) == len(sizes_of):
        return ""  # nothing would be marked
    begin = "passages are left out, since they would show where a pair is from"
    if whole:
        return f"{begin}: {whole[0]} has whole documents, and others have passages"
    middle = {name: median(min(own) for own in sizes) for name, sizes in sizes_of.items()}
    longest, shortest = max(middle, key=lambda own: middle[own]), min(middle, key=lambda own: middle[own])
    if middle[longest] > _ALIKE * middle[shortest]:
        return f"{begin}: {longest} has much longer passages than {shortest}"
    return ""


def measure_passage(document: Document | None, passage: Passage | None) -> tuple[int, int]:
    """Return the size of what was returned of a document, and that of the whole, in bytes."""
    size = len(_read(document))
    if not size or passage is None:
        return size, size
    part = len(passage.span) if passage.span is not None else len(canonical(passage.text).strip().encode())
    return (part or size), size


def _measure(
    golden: GoldenSet,
    pair: Pooled,
    table: Mapping[str, Mapping[str, float]],
    passages: Mapping[tuple[str, str], Passage],
) -> tuple[int, int]:
    hits = (passages.get((pair.query, hit)) for hit in pair.hits if hit in table[pair.query])
    return measure_passage(golden.document_by_id.get(pair.document), next((hit for hit in hits if hit), None))


def _has(pair: Pooled, table: Mapping[str, Mapping[str, float]]) -> bool:
    return any(hit in table.get(pair.query, {}) for hit in pair.hits)


def _read(document: Document | None) -> bytes:
    return canonical(document.text).strip().encode() if document is not None else b""
