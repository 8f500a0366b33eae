"""Citation precision: how much of what an answer cites is relevant, which an answer that cites everything lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karat.core import Parameter, Span, Target
from karat.measures._cited import (
    NO_ANSWER,
    NO_GOLD,
    UNKNOWN_TEXT,
    WINDOW,
    explain_silence,
    find_invented,
    is_answered,
    is_in_anchor,
    list_citations,
    list_relevant,
    share_section,
    supports,
)
from karat.measures._evidence import Case, trace_measure
from karat.measures._measure import REL

_UNIT = Parameter(
    name="unit", kind="str", default="citations", help="what is counted", choices=("citations", "bytes")
)  # fmt: skip
_END = 1 << 62
"""A byte behind the end of every document."""


@trace_measure(
    "CitePrecision", REL, WINDOW, _UNIT, aliases=("citation_precision",), cutoff="none", undefined=NO_ANSWER,
    independent=False,
)  # fmt: skip
def cite_precision(case: Case, k: None, *, rel: int, window: int, unit: str) -> float | str:
    """Citation precision: the share of what an answer cites that is relevant, or in the section that has the answer.

    Formula: CitePrecision = mean over the cited documents of |citations that CiteAccuracy calls right, or that are in
        an anchor| / |citations of the document|
    Range: 0 to 1
    Convention: over the questions that were answered; an answer without a citation counts 0; the same citation twice
        counts once, and so does a document, in however many slices it is cited; a citation of a document that neither
        the hits nor the golden set has, or of a part that its document does not have, is wrong; ``unit='bytes'`` is
        the share of the cited bytes that are at most ``window`` bytes from what is relevant or an anchor, times the
        share of the citations that exist: neither one citation of everything, nor a right one in many slices makes it
        better; undefined where the system does not answer
    Citation: Gao, Yen, Yu and Chen, Enabling Large Language Models to Generate Text with Citations, 2023

    >>> from karat.core import Citation, GoldenSet, Judgment, Query, Span, Target, Trace
    >>> from karat import score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(100, 160)), grade=3)
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> cited = (Citation("wifi", span=Span(100, 160)), Citation("pool", span=Span(0, 20)))
    >>> trace = Trace(query="q", text="?", answer="Free.", citations=cited)
    >>> score_hits(golden, {"q": ()}, ["CitePrecision", "CitePrecision(unit='bytes')"], traces={"q": trace}).mean()
    {'CitePrecision': 0.5, "CitePrecision(unit='bytes')": 0.75}
    """
    relevant = list_relevant(case, rel)
    if not relevant and not case.gold.anchors:
        return NO_GOLD
    if not is_answered(case):
        return explain_silence(case)
    citations = list(dict.fromkeys(list_citations(case)))
    if not citations:
        return 0.0
    if unit == "citations":
        return _weigh_documents(case, citations, relevant, window)
    return _weigh_bytes(case, citations, (*relevant, *case.gold.anchors), window)


def _weigh_documents(case: Case, citations: list[Target], relevant: Iterable[Target], window: int) -> float:
    """Return the mean over the cited documents, so that a right citation in many slices weighs no more than one."""
    marks: dict[str, list[bool]] = {}
    for cited in citations:
        marks.setdefault(cited.document, []).append(_is_right(case, cited, relevant, window))
    return sum(sum(right) / len(right) for right in marks.values()) / len(marks)


def _is_right(case: Case, cited: Target, relevant: Iterable[Target], window: int) -> bool:
    return _exists(case, cited) and (
        is_in_anchor(case, cited)
        or any(supports(case, cited, gold, window) and share_section(case, cited, gold) for gold in relevant)
    )


def _weigh_bytes(case: Case, citations: list[Target], wanted: Iterable[Target], window: int) -> float | str:
    """Return the share of the cited bytes that are wanted, times the share of the citations that exist."""
    invented = set(find_invented(case.evidence.golden, case.trace))
    made_up = {citation.document for citation in case.trace.citations if citation.id in invented}
    real = [cited for cited in citations if cited.document not in made_up and _exists(case, cited)]
    places = [(cited.document, case.evidence.place(cited)) for cited in real]
    if not all(place is not None and len(place) for _, place in places):
        return UNKNOWN_TEXT
    cited_bytes = _merge((document, place.start, place.end) for document, place in places if place)
    wanted_bytes = _merge(_list_wanted(case, wanted, window))
    total = sum(end - start for _, start, end in cited_bytes)
    shared = sum(end - start for _, start, end in _intersect(cited_bytes, wanted_bytes))
    return shared / total * len(real) / len(citations) if total else 0.0


def _exists(case: Case, cited: Target) -> bool:
    """Return whether a document has a part that is cited, as far as its text is known."""
    text = case.document(cited.document).text
    return not text or case.evidence.place(cited) is not None


_Piece = tuple[str, int, int]
"""A document, and the first and the last byte of a piece of it."""


def _list_wanted(case: Case, wanted: Iterable[Target], window: int) -> Iterator[_Piece]:
    for part in wanted:
        place = Span(0, _END) if part.whole else case.evidence.place(part)
        if place is not None:
            yield part.document, max(place.start - window, 0), place.end + window


def _merge(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Return pieces in order, those that overlap or touch as one."""
    merged: list[_Piece] = []
    for document, start, end in sorted(pieces):
        if merged and merged[-1][0] == document and start <= merged[-1][2]:
            merged[-1] = (document, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((document, start, end))
    return merged


def _intersect(left: list[_Piece], right: list[_Piece]) -> Iterator[_Piece]:
    """Yield what two lists of merged pieces have in common."""
    place = 0
    for document, start, end in left:
        while place < len(right) and (right[place][0], right[place][2]) <= (document, start):
            place += 1
        later = place
        while later < len(right) and right[later][0] == document and right[later][1] < end:
            yield document, max(start, right[later][1]), min(end, right[later][2])
            later += 1
