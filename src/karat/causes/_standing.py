"""Where the relevant documents of a query stand, in every channel and stage."""

from __future__ import annotations

from collections.abc import Iterator

from karat.causes._case import Case
from karat.causes._lab import Lab
from karat.core import Span
from karat.schema import DocumentStanding, ExpectedPassage, StagePlace
from karat.schema import StandingState as State

_BEATEN = 3
_LONGEST = 1200  # characters of a passage


def stand(case: Case, lab: Lab, document: str, *, full: bool = True) -> DocumentStanding:
    """Return where a relevant document stands; without ``full``, not the passage that should have matched."""
    known = lab.corpus.document(document)
    passage = find_passage(case, lab, document) if full else None
    spelt = lab.corpus.spell(case.query.text)
    text = passage.text if passage else f"{known.title}\n{known.text}" if known else ""
    matched = spelt.keys() & lab.corpus.subject(text) if text else set()
    beaten_by = _beaten_by(case, document)
    negatives = {target.document for target in case.query.negatives}
    return DocumentStanding(
        document=document,
        title=known.title if known else "",
        grade=case.expected[document],
        rank=case.rank_of(document),
        was=case.before.get(document),
        state=_state(case, lab, document, full=full),
        places=tuple(_places(case, lab, document)),
        beaten_by=beaten_by,
        hard_negatives=tuple(other for other in beaten_by if other in negatives),
        matched=tuple(sorted(spelt[form] for form in matched)),
        unmatched=tuple(sorted(spelt[form] for form in spelt.keys() - matched)) if text else (),
        passage=passage,
    )


def _state(case: Case, lab: Lab, document: str, *, full: bool) -> State:
    rank = case.rank_of(document)
    if document in case.found:
        return "in another section" if full and _is_elsewhere(case, lab, document) else "found"
    if rank is not None:
        return "wrong section" if rank <= case.cut else "below the cut"
    if lab.index is not None and document not in lab.index:
        return "not in the index"
    stages = lab.stages(case)
    having = [name for name, ranking in stages.items() if document in ranking]
    if "rerank" in stages and having and "rerank" not in having:
        return "dropped by the reranker"
    if having or document in {hit.document for hit in lab.deep(case)}:
        return "cut by k"
    return "not retrieved"


def _is_elsewhere(case: Case, lab: Lab, document: str) -> bool:
    """Whether parts of a document are judged, and no hit above the cut holds one; where documents count it is found."""
    grades = lab.golden.grades_by_query.get(case.query.id, {})
    judged = [t for t, grade in grades.items() if t.document == document and grade >= lab.golden.relevant]
    spans = [hit.span for hit in case.hits if hit.document == document]
    if any(target.whole for target in judged) or None in spans:
        return False
    parts = [span for target in judged if (span := lab.place(target)) is not None]
    return bool(parts) and not any(span.overlap(part) for span in spans if span for part in parts)


def _places(case: Case, lab: Lab, document: str) -> Iterator[StagePlace]:
    """Yield the place of a document in the list of each channel and stage."""
    for name, ranking in lab.stages(case).items():
        rank = list(ranking).index(document) + 1 if document in ranking else None
        yield StagePlace(stage=name, rank=rank, score=ranking.get(document), size=len(ranking))


def _beaten_by(case: Case, document: str) -> tuple[str, ...]:
    """Return the hits above a document that are not relevant: hard negatives first, then in order."""
    if document in case.found:
        return ()
    rank = case.rank_of(document)
    documents = list(dict.fromkeys(hit.document for hit in case.trace.hits))[: rank or None]
    others = [other for other in documents if other not in case.expected and other != document]
    negatives = {target.document for target in case.query.negatives}
    return tuple(sorted(others, key=lambda other: other not in negatives)[:_BEATEN])


def find_passage(case: Case, lab: Lab, document: str) -> ExpectedPassage | None:
    """Return the chunk that should have matched: in the section of the answer, with most of question and answer."""
    outline = lab.corpus.outline(document)
    if outline is None:
        return None
    wanted = lab.corpus.subject(f"{case.query.text}\n{case.query.answer}")
    sections = {target.section for target in case.query.anchors if target.document == document}
    anchors = [*case.parts.get(document, ()), *(part.whole for part in outline.sections if part.id in sections)]
    pieces: list[tuple[str, str, Span]] = [(c.id, c.section, c.span) for c in lab.chunks.get(document, ())] or [
        (block.id, block.section, block.span) for block in outline.blocks
    ]
    if not pieces:
        return None

    def value(piece: tuple[str, str, Span]) -> tuple[bool, float]:
        inside = any(piece[2].overlap(anchor) for anchor in anchors)
        return inside, lab.corpus.coverage(wanted, lab.corpus.text_at(document, piece[2]))

    id_, section, span = max(pieces, key=value)
    text = lab.corpus.text_at(document, span)
    section = section or outline.section_of(min(span.start, outline.size)).id
    return ExpectedPassage(id=id_, section=section, span=(span.start, span.end), text=text[:_LONGEST])
