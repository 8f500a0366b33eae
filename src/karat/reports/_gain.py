"""What new documents would add, as Markdown: for a report, or a comment on the pull request that adds them."""

from __future__ import annotations

from collections.abc import Iterator

from karat.reports._sections import format_table, markdown
from karat.reports._words import count
from karat.schema import Gain, GainDocument

_TINY = 5e-5  # a gain that four digits do not show
_NUMBERS = ("Gain", "Novelty", "Of the nearest", "Chunks", "Shown")


def render_gain(document: GainDocument) -> str:
    """Return the report as Markdown: all documents, the most useful first, and every query that they help or hurt."""
    system, queries = markdown(document.system, 200), count(document.queries, "query", "queries")
    parts = [
        "# Knowledge gain\n",
        f"{_summarise(document)}\n",
        f"**System**: {system}, {queries}, k = {document.k}  ",
        f"**Gain**: {_describe_weights(document)}\n",
        *(f"- {markdown(note)}" for note in document.notes),
        *([""] if document.notes else []),
        "## By document\n",
        _format_documents(document),
    ]
    rows = list(_list_queries(document))
    parts += ["## By query\n", format_table(["Query", "Document", "Change"], rows)] if rows else []
    return "\n".join(parts)


def _summarise(document: GainDocument) -> str:
    first = document.documents[0]
    name = markdown(first.documents[0], 80)
    if first.gain > _TINY:
        return f"**{name}** would add most: {_sign(first.gain)}."
    return f"No document would add anything; the first is {name}: {_sign(first.gain)}."


def _describe_weights(document: GainDocument) -> str:
    weights = ", ".join(f"{weight:g} x {markdown(name)}" for name, weight in document.weights.items())
    if document.novelty_weight:
        weights += f", plus {document.novelty_weight:g} x novelty ({document.novelty_form})"
    return f"the weighted mean of the changes of {weights}"


def _format_documents(document: GainDocument) -> str:
    names = [markdown(row.measure) for row in document.together.measures]
    rows = [_describe(markdown(gain.documents[0], 80), gain) for gain in document.documents]
    if len(document.documents) > 1:
        rows.append(_describe(f"all {len(document.documents):,} together", document.together))
    gain, *others = _NUMBERS
    return format_table(["Document", gain, *names, *others, "Helps", "Hurts"], rows)


def _describe(name: str, gain: Gain) -> list[str]:
    changes = ["-" if row.change is None else _sign(row.change) for row in gain.measures]
    novelty = ["-" if value is None else f"{value:.4f}" for value in (gain.novelty_mean, gain.novelty_max)]
    counts = [f"{number:,}" for number in (gain.chunks, gain.shown, len(gain.helps), len(gain.hurts))]
    return [name, _sign(gain.gain), *changes, *novelty, *counts]


def _list_queries(document: GainDocument) -> Iterator[list[str]]:
    """Yield each query with each document that changes it, the queries in the order of their greatest change."""
    rows = [
        (row.query, gain.documents[0], row.change) for gain in document.documents for row in (*gain.helps, *gain.hurts)
    ]
    most: dict[str, float] = {}
    for query, _, change in rows:
        most[query] = max(most.get(query, 0.0), abs(change))
    for query, name, change in sorted(rows, key=lambda row: (-round(most[row[0]], 12), row[0], -abs(row[2]), row[1])):
        yield [markdown(query, 80), markdown(name, 80), _sign(change)]


def _sign(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"
