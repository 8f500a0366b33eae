"""An ablation as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._table import bold, escaped, number, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import AblationDocument

_SMALLEST = 0.00005


def ablation_text(document: AblationDocument) -> str:
    """Return what to do, every part with its measures, and the lexical floor."""
    head = [bold(escaped(document.summary))]
    head.append(
        f"{printable(document.system, 80)}, {count_things(document.queries, 'query', 'queries')}, k = {document.k}"
    )
    if document.note:
        head.append(escaped(document.note))
    parts = ["\n".join(head), _parts(document), _floor(document)]
    return "\n\n".join(part for part in parts if part)


def _parts(document: AblationDocument) -> str:
    if not document.parts:
        return ""
    rows = [
        ["without", "verdict", "measure", "full", "without it", "95 % of the change", "p", "p sign", "better", "worse"]
    ]
    for part in document.parts:
        for i, row in enumerate(part.measures):
            interval = "-" if row.low is None else f"{row.low:+.4f} to {row.high:+.4f}"
            tests = _p(row.p_corrected), _p(row.p_sign)
            shown = [number(row.full), number(row.without), interval, *tests, str(row.better), str(row.worse)]
            rows.append([part.part if not i else "", row.verdict, row.measure, *shown])
    note = "p is corrected for all parts and measures, p sign is not; CRITICAL, important and HARMFUL need both at 0.05"
    return f"{render(rows, left=3)}\n{note}; better and worse count queries"


def _p(p: float | None) -> str:
    return "-" if p is None else "<0.0001" if p < _SMALLEST else f"{p:.4f}"


def _floor(document: AblationDocument) -> str:
    from karat.reports import describe_rest

    if not document.floor:
        return ""
    rows = [["lexical floor", "words alone", "full", "ratio", "the rest"]]
    for row in document.floor:
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        rows.append([row.measure, number(row.floor), number(row.full), ratio, describe_rest(row.advice)])
    return render(rows)
