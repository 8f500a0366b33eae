"""What an answer cites, where that is, and whether it meets what is relevant; and why a question has no answer."""

from __future__ import annotations

from collections.abc import Mapping

from karat.core import Citation, GoldenSet, Hit, Parameter, Target, Trace, document_of
from karat.measures._evidence import NOTHING, Case

NO_ANSWER = "no answer recorded"
NO_GOLD = "nothing relevant in the golden set"
REFUSED = "the answer was refused"
EMPTY = "the answer is empty"
CITES_NOTHING = "the answer cites nothing"
ELSEWHERE = "cites no document that has an anchor"
NO_CLAIM = "the answer makes no claim"
NO_WORDS = "the answer has no words"
UNKNOWN_TEXT = "the text is not known"
"""Why a measure has no value: what was retrieved or cited is not in the golden set, and the trace does not hold it."""
SILENT: Mapping[str, str] = {
    REFUSED: "refused",
    EMPTY: "empty",
    CITES_NOTHING: "without a citation",
    ELSEWHERE: "citing other documents",
    NO_CLAIM: "without a claim",
    NO_WORDS: "without words",
}
"""Why a measure of answers has no value, where the system chose to say nothing that could be wrong; and a word for it.

Such a measure is over what was answered. A rule of the gate counts these as the worst value: a system that says less
would pass it otherwise.
"""

WINDOW = Parameter(name="window", kind="int", default=30, low=0, help="bytes by which a citation may miss the gold")


def is_answered(case: Case) -> bool:
    trace = case.trace
    return bool(trace.answer or trace.citations) and not trace.refused


def lacks_answers(case: Case) -> bool:
    """Return whether nothing says that the system answers at all: this question did not fail, and none has an answer.

    Where it answers or refuses others, a question without an answer is one that it did not answer.
    """
    trace = case.trace
    return bool(trace.query) and not trace.error and not case.evidence.has_answers


def list_citations(case: Case, *, first: bool = False) -> list[Target]:
    """Return what the answer cites, each as a part of a document: by its own words, or those of the hit it names."""
    hits = {hit.id: hit for hit in reversed(case.trace.hits)}
    citations = case.trace.citations[: 1 if first else None]
    return [_locate(citation, hits.get(citation.id)) for citation in citations]


def _locate(citation: Citation, hit: Hit | None) -> Target:
    if hit is None or citation.document not in (hit.document, document_of(citation.id)):
        document = citation.document
    elif citation.span or citation.section or citation.block:
        document = hit.document  # which a citation of a chunk by its id need not name
    else:
        return part_of(hit)
    return Target(document=document, section=citation.section, block=citation.block, span=citation.span)


def part_of(hit: Hit) -> Target:
    return Target(document=hit.document, section=hit.section, block=hit.block, span=hit.span)


def list_relevant(case: Case, rel: int) -> list[Target]:
    graded = case.evidence.golden.grades_by_query.get(case.query, {})
    return [target for target, grade in graded.items() if grade >= max(rel, 0)]


def meets(case: Case, cited: Target, gold: Target, window: int = 0) -> bool:
    """Return whether a citation and a part of the gold have bytes in common, or are at most ``window`` bytes apart.

    A citation of a whole document, which says nothing about where, meets only gold that is a whole document.
    """
    if cited.document != gold.document or gold.whole:
        return cited.document == gold.document
    if cited.whole:
        return False
    place, wanted = case.evidence.place(cited), case.evidence.place(gold)
    if place is None or wanted is None:
        return bool(cited.block) and cited.block == gold.block
    return place.start < wanted.end + window and wanted.start - window < place.end


def supports(case: Case, cited: Target, gold: Target, window: int = 0) -> bool:
    """Return whether a citation meets something relevant; one of bytes that its document does not have never does."""
    if cited.span is not None and case.evidence.place(Target(document=cited.document, span=cited.span)) is None:
        return False
    return meets(case, cited, gold, window)


def share_section(case: Case, cited: Target, gold: Target) -> bool:
    """Return whether two parts are in the same section, as far as both say in which one they are."""
    section, wanted = case.evidence.section(cited), case.evidence.section(gold)
    return not section or not wanted or gold.whole or section == wanted or section.startswith(f"{wanted}.")


def is_in_anchor(case: Case, cited: Target) -> bool:
    return any(_is_in_section(case, cited, anchor) for anchor in case.gold.anchors)


def _is_in_section(case: Case, part: Target, anchor: Target) -> bool:
    """Return whether a part is in the section of an anchor, or in one below it."""
    if part.document != anchor.document or part.whole:
        return False
    section, wanted = case.evidence.section(part), case.evidence.section(anchor)
    return bool(section) and (section == wanted or section.startswith(f"{wanted}."))


def explain_silence(case: Case) -> str:
    """Return why a question has no answer to measure."""
    if lacks_answers(case):
        return NO_ANSWER
    if case.trace.refused:
        return REFUSED
    return NOTHING if case.trace.error or not case.trace.query else EMPTY


def find_invented(golden: GoldenSet, trace: Trace) -> list[str]:
    """Return the ids that an answer cites and that exist nowhere: neither among its hits nor in the golden set.

    Nothing is known to be invented if the golden set has no documents.
    """
    if not trace.citations or not golden.documents:
        return []
    hits = {name for hit in trace.hits for name in (hit.id, hit.document)}
    return [
        citation.id
        for citation in dict.fromkeys(trace.citations)
        if hits.isdisjoint((citation.id, citation.document)) and citation.document not in golden.document_by_id
    ]
