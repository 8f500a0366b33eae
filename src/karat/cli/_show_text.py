"""One query of a run as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._table import bold, coloured, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema import ShownHit, ShownQuery

_NONE = "-"


def query_text(shown: ShownQuery) -> str:
    """Return the question, what was expected and returned, the scores, and why."""
    head = [
        bold(f"{printable(shown.query)}  {escaped(shown.text)}"),
        f"run       {printable(shown.run, 80)} ({escaped(shown.file)})",
    ]
    if shown.baseline is not None:
        head.append(f"baseline  {printable(shown.baseline, 80)}")
    parts = ["\n".join(head), _expected(shown), _returned(shown), _left(shown), _scores(shown), _reasons(shown)]
    return "\n\n".join(part for part in parts if part)


def _expected(shown: ShownQuery) -> str:
    if not shown.answerable:
        return "expected: nothing, since the question has no answer"
    if not shown.expected:
        return "expected: nothing is judged"
    was = ["was"] if shown.baseline is not None else []
    rows = [["expected", "title", "grade", "rank", *was]]
    listed = [document for document in shown.expected if document.grade > 0 or document.rank is not None]
    for document in listed:
        places = [document.rank, *([document.was] if was else [])]
        grade = f"{document.grade} {_mark(document.relevant)}"
        rows.append(
            [printable(document.document, 40), printable(document.title, 40) if document.title else "", grade]
            + [_NONE if place is None else str(place) for place in places]
        )
    others = len(shown.expected) - len(listed)
    more = f"\n{others:,} more are judged not relevant, and were not returned" if others else ""
    return render(rows, left=2) + more


def _returned(shown: ShownQuery) -> str:
    if shown.error:
        return f"returned: nothing, the system failed: {escaped(shown.error)[:400]}"
    if not shown.returned:
        return "returned: nothing"
    was = ["was"] if shown.baseline is not None else []
    rows = [["returned", "text", "grade", "score", "rank", *was]]
    for hit in shown.returned:
        moved = [_moved(hit)] if was else []
        grade = "? " if hit.grade is None else f"{hit.grade} {_mark(bool(hit.relevant))}"
        rows.append([printable(hit.id, 40), printable(hit.words, 60) if hit.words else "", grade, number(hit.score),
                     str(hit.rank), *moved])  # fmt: skip
    return render(rows, left=2)


def _mark(relevant: bool) -> str:
    return "+" if relevant else " "


def _moved(hit: ShownHit) -> str:
    if hit.was is None:
        return "new"
    return "=" if hit.was == hit.rank else str(hit.was)


def _left(shown: ShownQuery) -> str:
    if not shown.left:
        return ""
    rows = [["no longer returned", "title", "grade", "was"]]
    for row in shown.left:
        grade = "?" if row.grade is None else str(row.grade)
        rows.append([printable(row.document, 40), printable(row.title, 40) if row.title else "", grade, str(row.was)])
    return render(rows, left=2)


def _scores(shown: ShownQuery) -> str:
    compared = bool(shown.before)
    rows = [["measure", "value", *(["baseline", "change"] if compared else [])]]
    for name, value in shown.scores.items():
        before = shown.before.get(name)
        change = _NONE if value is None or before is None else f"{value - before:+.4f}"
        rows.append([name, number(value), *([number(before), change] if compared else [])])
    return render(rows)


def _reasons(shown: ShownQuery) -> str:
    if not shown.reasons:
        right = "every relevant document was returned above the cutoffs" if shown.answerable else "nothing was returned"
        return coloured(right, "green")
    return "\n".join(f"- {escaped(reason)}" for reason in shown.reasons)
