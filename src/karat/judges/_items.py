"""What is judged: one answer of a run, with its question, its texts and its reference."""

from __future__ import annotations

from dataclasses import dataclass

from karat.core import GoldenSet, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An answer and all that a judge may see of it."""

    query: str
    question: str
    answer: str = ""
    reference: str = ""
    """What a right answer says; empty if nobody has written it."""
    texts: tuple[str, ...] = ()
    """The texts that the answer was made from, best first."""
    refused: bool = False
    answerable: bool = True
    error: str = ""
    paraphrase: int = 0
    repeat: int = 0


def make_item(golden: GoldenSet, trace: Trace, k: int | None = None) -> Item:
    """Return what a judge sees of a trace. A hit without its text has that of its document, if the set has it."""
    from karat.text import canonical

    query = golden.query_by_id.get(trace.query)
    texts = []
    for hit in trace.hits[:k]:
        document = golden.document_by_id.get(hit.document)
        whole = canonical(document.text) if document is not None else ""
        part = whole.encode()[hit.span.start : hit.span.end].decode(errors="replace") if hit.span else whole
        texts.append(hit.content or part)
    return Item(
        query=trace.query,
        question=trace.text,
        answer=trace.answer,
        reference=query.answer if query else "",
        texts=tuple(texts),
        refused=trace.refused,
        answerable=query.answerable if query else True,
        error=trace.error,
        paraphrase=trace.paraphrase,
        repeat=trace.repeat,
    )
