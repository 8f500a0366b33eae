"""A gain as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._table import bold, escaped, number, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import Gain, GainDocument, GainedQuery

_SHOWN = 20  # documents
_QUERIES = 5  # of a document, each way
_TINY = 5e-5  # a gain that four digits do not show


def gain_text(document: GainDocument) -> str:
    """Return a row for each document, one for all together, and the queries that they help and hurt."""
    first = document.documents[0]
    name = printable(first.documents[0], 60)
    if first.gain > _TINY:
        head = [bold(f"{name} would add most: {first.gain:+.4f}")]
    else:
        head = [bold(f"no document would add anything; the first is {name}: {round(first.gain, 4) + 0.0:+.4f}")]
    head.append(
        f"{printable(document.system, 80)}, {count_things(document.queries, 'query', 'queries')}, k = {document.k}"
    )
    head += map(escaped, document.notes)
    parts = ["\n".join(head), _rows(document), _queries(document)]
    return "\n\n".join(part for part in parts if part)


def _rows(document: GainDocument) -> str:
    names = [printable(row.measure, 30) for row in document.together.measures]
    rows = [["document", "gain", *names, "novelty", "of nearest", "chunks", "shown", "helps", "hurts"]]
    rows += [_row(printable(gain.documents[0], 50), gain) for gain in document.documents[:_SHOWN]]
    if len(document.documents) > 1:
        rows.append(_row(f"all {len(document.documents):,}", document.together))
    more = len(document.documents) - _SHOWN
    ending = f"\nand {more:,} more (--json and --markdown show all)" if more > 0 else ""
    weights = ", ".join(f"{weight:g} x {printable(name, 30)}" for name, weight in document.weights.items())
    if document.novelty_weight:
        weights += f", plus {document.novelty_weight:g} x novelty ({document.novelty_form})"
    return f"{render(rows)}{ending}\ngain: the mean of {weights}; shown: queries that have it among their hits"


def _row(name: str, gain: Gain) -> list[str]:
    changes = ["-" if row.change is None else f"{row.change:+.4f}" for row in gain.measures]
    novelty = [number(gain.novelty_mean), number(gain.novelty_max)]
    counts = [str(count) for count in (gain.chunks, gain.shown, len(gain.helps), len(gain.hurts))]
    return [name, f"{gain.gain:+.4f}", *changes, *novelty, *counts]


def _queries(document: GainDocument) -> str:
    lines = []
    for gain in document.documents[:_SHOWN]:
        effects = [
            f"{verb} {_list(queries)}" for verb, queries in (("helps", gain.helps), ("hurts", gain.hurts)) if queries
        ]
        if effects:
            lines.append(f"{printable(gain.documents[0], 50)} {'; '.join(effects)}")
    return "\n".join(lines)


def _list(queries: tuple[GainedQuery, ...]) -> str:
    shown = ", ".join(f"{printable(row.query, 30)} ({row.change:+.2f})" for row in queries[:_QUERIES])
    more = len(queries) - _QUERIES
    return f"{shown} and {more:,} more" if more > 0 else shown
