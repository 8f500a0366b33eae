"""Rules on parts of documents: spans, sections and blocks have to exist."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from karat.core import NORMALISER, Document, GoldenSet, InputError, Span, Target
from karat.golden.lint._id_rules import counted
from karat.golden.lint._rule import Finding, Subject, flag, rule
from karat.text import Outline, canonical, find_quote_again, has_quote, outline


@rule("span-outside-text", "error", voids=True)
def span_outside_text(subject: Subject) -> Iterator[Finding]:
    """A span is empty, lies outside its document's canonical text, or begins or ends within a character.

    Why: spans count bytes of the canonical text. One that does not fit was counted in another text, so that all
        spans of the document are doubtful.
    Example: bytes 5,000 to 5,200 of a text of 1,200 bytes; or characters counted instead of bytes.
    Fix: count again in the canonical text, which `karat golden outline` shows with offsets.
    """
    golden = subject.golden
    if golden.normaliser != NORMALISER:
        return
    wrong: dict[str, list[str]] = defaultdict(list)
    for document, targets in _parts(golden):
        spans = [target.span for target in targets if target.span is not None]
        text = canonical(document.text).encode() if spans else b""
        for span in spans:
            if how := _misfit(span, text):
                size = f" of {len(text)}" if how == "outside the text" else ""
                wrong[how].append(f"{document.id}: {span.start} to {span.end}{size}")
    for how, where in wrong.items():
        yield flag("span-outside-text", f"{counted(len(where), 'span')} {how}", where)


def _misfit(span: Span, text: bytes) -> str:
    """Return how a span does not fit a text; empty if it fits."""
    if span.start >= span.end:
        return "without a byte"
    if span.start < 0 or span.end > len(text):
        return "outside the text"
    # In UTF-8, a byte 10xxxxxx continues a character.
    ends = (text[at] for at in (span.start, span.end) if at < len(text))
    return "that split a character" if any(byte & 0xC0 == 0x80 for byte in ends) else ""


@rule("span-moved", "error", voids=True)
def span_moved(subject: Subject) -> Iterator[Finding]:
    """A judged span does not have the words that were judged.

    Why: the document was edited, and the bytes of the span belong to other words, so that a system gets its grade for
        what nobody judged. Seen only where the judgment has the words (`quote`), as those of `karat label` do.
    Example: bytes 25 to 55 were "Children may swim until 18:00.", and two sentences were put before them.
    Fix: set `span` to where the words stand now, which the finding says; if they are gone, judge the document again.
    """
    if subject.golden.normaliser != NORMALISER:
        return
    texts: dict[str, str] = {}
    moved: dict[str, None] = {}
    held = subject.golden.held_judgments
    for own in held if isinstance(held, tuple) else ():  # those in columns have no words
        document, span = subject.golden.document_by_id.get(own.target.document), own.target.span
        if not own.quote or span is None or document is None:
            continue
        text = texts.setdefault(document.id, canonical(document.text))
        if not has_quote(text, span, own.quote):
            now = find_quote_again(text, span, own.quote)
            said = f"now {now.start} to {now.end}" if now else "the words are gone, or stand there twice"
            moved[f"{own.query} {own.target}: {said}"] = None
    if moved:
        yield flag("span-moved", f"{counted(len(moved), 'judged span')} with other words than were judged", [*moved])


@rule("unknown-part", "error", voids=True)
def unknown_part(subject: Subject) -> Iterator[Finding]:
    """A judgment or a query names a section or a block that its document does not have.

    Why: nothing that a system returns can match it.
    Example: `wifi#S.9`, while the guide ends with section 4.
    Fix: look up the ids with `karat golden outline`; they move when a document is edited.
    """
    lost = []
    for document, targets in _parts(subject.golden):
        named = [target for target in targets if target.section or target.block]
        shape = outline(canonical(document.text)) if named else None
        lost += [str(target) for target in named if shape and _span_of(shape, target) is None]
    if lost:
        yield flag("unknown-part", f"{counted(len(lost), 'section or block', 'sections or blocks')} not there", lost)


@rule("span-beside-part", "warning")
def span_beside_part(subject: Subject) -> Iterator[Finding]:
    """A target has a span and the id of a section or block, and the two do not overlap.

    Why: the document was edited after the span was counted, or after the id was written. One of the two is wrong.
    Example: block `S.4.2.p.Bk011` has bytes 900 to 1,100, and the span beside it is 400 to 460.
    Fix: look at both with `karat golden outline`, and correct the one that moved.
    """
    if subject.golden.normaliser != NORMALISER:
        return
    apart = []
    for document, targets in _parts(subject.golden):
        # A span without a byte, which another rule reports, overlaps nothing.
        both = [target for target in targets if target.span and (target.section or target.block)]
        shape = outline(canonical(document.text)) if both else None
        for target in both:
            whole = _span_of(shape, target) if shape else None
            if whole is not None and target.span and not whole.overlap(target.span):
                apart.append(str(target))
    if apart:
        message = f"{counted(len(apart), 'span')} outside the section or block that is named with it"
        yield flag("span-beside-part", message, apart)


@rule("part-above-document", "warning")
def part_above_document(subject: Subject) -> Iterator[Finding]:
    """A part of a document is relevant to a query, and the document as a whole was judged not relevant.

    Why: a document has the best grade of its parts, so that a system is right with a document that people decided
        against, as when somebody who selected words was outvoted.
    Example: `ana` gives words of `wifi` grade 3 for `q1`, and a `validated` judgment gives `wifi` grade 1.
    Fix: judge the part again, with the source `validated` if that settled the document, or correct the document.
    """
    golden = subject.golden
    parts = {target for _, targets in _parts(golden) for target in targets}
    decided = golden.decided if parts else {}
    above = [
        f"{query}: {target}"
        for (query, target), grade in decided.items()
        if target in parts
        and grade >= golden.relevant > decided.get((query, Target(document=target.document)), golden.relevant)
    ]
    if above:
        message = f"{counted(len(above), 'part')} relevant in documents that were judged not relevant"
        yield flag("part-above-document", message, above)


@rule("unknown-normaliser", "warning")
def unknown_normaliser(subject: Subject) -> Iterator[Finding]:
    """Spans were counted in a canonical text that this version does not make.

    Why: the same document has other bytes under other rules, so that spans cannot be checked or matched.
    Example: `normaliser = "karat-2"`, read by a version that knows `karat-1`.
    Fix: use a version of karat that knows the normaliser, or count the spans again.
    """
    golden = subject.golden
    if golden.normaliser != NORMALISER and any(target.span is not None for target in _targets(golden)):
        message = f"spans were counted under the normaliser {golden.normaliser}, and this is {NORMALISER}: not checked"
        yield flag("unknown-normaliser", message)


def _span_of(shape: Outline, target: Target) -> Span | None:
    try:
        return shape.block(target.block).span if target.block else shape.section(target.section).whole
    except InputError:
        return None


def _parts(golden: GoldenSet) -> Iterator[tuple[Document, list[Target]]]:
    """Yield each document of which parts are named, with these parts, each once."""
    named: dict[str, dict[Target, None]] = defaultdict(dict)
    distinct = {id(target): target for target in _targets(golden)}  # readers keep equal targets once
    for target in distinct.values():
        if not target.whole:
            named[target.document][target] = None
    for name, targets in named.items():
        if name in golden.document_by_id:
            yield golden.document_by_id[name], list(targets)


def _targets(golden: GoldenSet) -> Iterator[Target]:
    yield from golden.judged_targets
    for query in golden.queries:
        yield from query.negatives
        yield from query.anchors
