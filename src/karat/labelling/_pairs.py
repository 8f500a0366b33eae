"""What a proposal grades, as people read it: question, document and grades side by side."""

from __future__ import annotations

from collections.abc import Iterable

from karat.core import GoldenSet, Target
from karat.files import Reading, Row
from karat.golden.formats import read_judgment
from karat.schema.labelling import ProposalChange, ProposedPair
from karat.text import canonical, resolver

_MOST = 1000  # pairs
_BEGINNING = 600  # characters
_Grades = dict[tuple[str, Target], dict[str, int]]


def list_pairs(
    golden: GoldenSet, changes: Iterable[ProposalChange], changed: GoldenSet | None = None
) -> tuple[ProposedPair, ...]:
    """Return the pairs that some changes grade, with the grades before and, in the ``changed`` set, after."""
    said, settled, fresh = _collect(changes)
    place = resolver(golden)
    pairs = []
    for (query, target), grades in sorted(said.items(), key=lambda own: (own[0][0], str(own[0][1]))):
        document, known = golden.document_by_id.get(target.document), golden.query_by_id.get(query)
        text = canonical(document.text) if document else ""
        span = None if target.whole or document is None else place(target)
        excerpt = text[:_BEGINNING] if span is None else text.encode()[span.start : span.end].decode(errors="ignore")
        pairs.append(
            ProposedPair(
                query=query,
                question=known.text if known else fresh.get(query, ""),
                document=target.document,
                target=str(target),
                title=document.title if document else "",
                excerpt=excerpt,
                before=golden.decided.get((query, target)) if changed is not None else None,
                after=changed.decided.get((query, target)) if changed is not None else None,
                grades=grades,
                settled=settled.get((query, target), {}),
                now=golden.decided.get((query, target)),
            )
        )
    return tuple(pairs)


def _collect(changes: Iterable[ProposalChange]) -> tuple[_Grades, _Grades, dict[str, str]]:
    """Return who says which grade of each pair, who settled which, and the texts of new queries."""
    said: _Grades = {}
    settled: _Grades = {}
    fresh: dict[str, str] = {}
    reading = Reading()  # what is wrong with a row is said when it is applied
    for number, change in enumerate(changes, 1):
        if change.query is not None:
            fresh[str(change.query.get("id", ""))] = str(change.query.get("text", ""))
        if change.judgment is None or len(said) >= _MOST:
            continue
        with Row(reading, change.judgment, f"change {number}") as row:
            own = read_judgment(row)
            grades = said.setdefault((own.query, own.target), {})
            if own.source == "validated":
                grades = settled.setdefault((own.query, own.target), {})
            grades[own.annotator or own.source] = own.grade
    return said, settled, fresh
