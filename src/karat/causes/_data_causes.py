"""Causes in the data: ids, versions, what the index lacks, places, copies, and the judgments themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from karat.causes._case import Case
from karat.causes._cause import Evidence, cause, prove
from karat.causes._lab import Lab
from karat.core import Hit, shorten

_MANY = 0.5
_CHANGED = 0.5
"""A text of which half is nowhere in the document is of another version."""
_STRANGE = 0.15
"""Recognised characters turn many words into words that no document has; a new version hardly does."""
_CROWDED = 0.3
_ANSWERS = 0.9
"""An unjudged hit that has nine tenths of what the best relevant document has of question and answer is as good."""
_PART = re.compile(r"(:chunk:\d+|#.*|\|r=.*|[:_@-]\d+)$")
_PREFIX = re.compile(r"^(chunk-|doc[:_-]|golden:|[a-z]+://)", re.IGNORECASE)


@cause("ids", "the ids do not match")
def ids(case: Case, lab: Lab) -> Evidence | None:
    """The ids that come back are not those of the golden set.

    Why: a document counts as found only under the id by which it was judged; all measures are 0 if none matches.
    Evidence: hits with ids that the golden set does not have, among them a relevant one in another spelling.
    Example: the system returns docs/wifi.md, and wifi was judged.
    Fix: map the ids of the system to those of the golden set, or say how they name documents (karat eval --ids).
    """
    unknown = [hit for hit in case.hits if not lab.corpus.knows(hit.document)]
    if not unknown:
        return None
    copies = lab.copies.mark(case.hits, lab.own_text, len(case.hits))
    spelled = {key: hit for hit in reversed(unknown) for key in _spellings(hit)}
    pairs = {document: spelled[_fold(document)] for document in case.lost if _fold(document) in spelled}
    if pairs:
        document, hit = next(iter(pairs.items()))
        named = hit.id if _fold(hit.id) == _fold(document) else hit.document
        return prove(case.share(pairs), f"it returned {shorten(named)} where {shorten(document)} was judged")
    if len(unknown) == len(case.hits) and not any(copies):
        expected = next(iter(case.lost), "")
        sample = f"such as {shorten(unknown[0].document)}" + (
            f" where {shorten(expected)} was judged" if expected else ""
        )
        return prove(1.0, f"the golden set has none of the {len(unknown)} ids that came back, {sample}")
    return None


def _spellings(hit: Hit) -> Iterator[str]:
    """Yield what an id might mean: without folder, ending, prefix, part and case."""
    for name in {hit.id, hit.document}:
        for part in {name, _PART.sub("", name), _PREFIX.sub("", _PART.sub("", name))}:
            last = part.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
            yield from (_fold(part), _fold(last), _fold(last.rsplit(".", 1)[0]))


def _fold(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


@cause("stale", "a stale version")
def stale(case: Case, lab: Lab) -> Evidence | None:
    """The index has an old version: of the text, or a document that another one replaces.

    Why: the old text answers another question than the one that was judged, or takes the place of the new text.
    Evidence: a hit that the lost document supersedes; a text, or a source hash, that is not that of the golden set.
    Example: cancellation-policy-2024 is returned, and cancellation-policy-2026 is not.
    Fix: ingest the documents again, and remove or mark those that are superseded.
    """
    replaced = {document: hit for document in case.lost for hit in case.hits if _replaces(lab, hit.document, document)}
    if replaced:
        document, hit = next(iter(replaced.items()))
        missing = lab.index is not None and document not in lab.index
        text = f"{shorten(hit.document)} is returned, which {shorten(document)} replaces"
        return prove(case.share(replaced), text + (", and the index does not have that" if missing else ""))
    older = {document: old for document in case.lost if (old := _find_older(lab, document))}
    if older:
        document, old = next(iter(older.items()))
        return prove(case.share(older), f"the index has {shorten(old)}, and not {shorten(document)}, which replaces it")
    hashes = [hit for hit in case.hits if _has_other_hash(lab, hit)]
    if hashes:
        text = f"{len(hashes)} of {len(case.hits)} hits have another source hash than the golden set"
        return prove(len(hashes) / len(case.hits), f"{text}, such as {shorten(hashes[0].document)}")
    changed = [document for document in case.lost if _is_changed(lab, document)]
    if changed:
        text = f"the text of {shorten(changed[0])} in the index is not that of the golden set"
        return prove(case.share(changed), text)
    other = [hit for hit in case.hits if (own := lab.own_text(hit)) and _differs(lab, hit.document, own)]
    if len(other) >= _MANY * len(case.hits) > 0:
        text = f"the texts of {len(other)} of {len(case.hits)} hits are not in their documents"
        return prove(len(other) / len(case.hits), f"{text}, such as {shorten(other[0].document)}")
    return None


def _replaces(lab: Lab, old: str, new: str) -> bool:
    seen: set[str] = set()
    while old not in seen and (document := lab.corpus.document(old)) is not None and document.superseded_by:
        seen.add(old)
        old = document.superseded_by
        if old == new:
            return True
    return False


def _find_older(lab: Lab, document: str) -> str:
    """Return the predecessor of a document that the index lacks, if it has that; "" otherwise."""
    if lab.index is None or document in lab.index:
        return ""
    olds = (old.id for old in lab.golden.documents if old.superseded_by and old.id in lab.index)
    return next((old for old in olds if _replaces(lab, old, document)), "")


def _has_other_hash(lab: Lab, hit: Hit) -> bool:
    document = lab.corpus.document(hit.document)
    return bool(document and document.text and hit.source_hash and hit.source_hash != document.source_hash)


def _is_changed(lab: Lab, document: str) -> bool:
    """Whether the prose of a document in the index differs from the golden set; tables have a cause of their own."""
    chunks = [chunk for chunk in lab.chunks.get(document, ()) if chunk.type in ("", "prose")]
    if not chunks or lab.corpus.document(document) is None or _has_typed_loss(lab, document):
        return False
    return 2 * sum(_differs(lab, document, chunk.text) for chunk in chunks) >= len(chunks)


def _has_typed_loss(lab: Lab, document: str) -> bool:
    """Whether the document is mostly tables or code."""
    outline = lab.corpus.outline(document)
    if outline is None:
        return False
    sizes = {kind: sum(len(b.span) for b in outline.blocks if (b.type == "prose") is kind) for kind in (True, False)}
    return sizes[False] > sizes[True]


def _differs(lab: Lab, document: str, text: str) -> bool:
    if lab.corpus.document(document) is None:
        return False
    return lab.corpus.compare(document, text, None)[1] < _CHANGED and lab.corpus.strange_words(text) < _STRANGE


@cause("outside", "the query is outside the corpus")
def outside(case: Case, lab: Lab) -> Evidence | None:
    """What would answer the query is not in the index, or not in the collection.

    Why: no ranking finds what is not there.
    Evidence: relevant documents that the index or the collection does not have.
    Example: the loader skips text files, and the answer is in one.
    Fix: ingest what is missing, or remove the query, or mark it as unanswerable.
    """
    missing = [document for document in case.lost if lab.index is not None and document not in lab.index]
    if missing:
        return prove(case.share(missing), f"{_name(missing)} not in the index")
    absent = [document for document in case.lost if lab.golden.documents and lab.corpus.document(document) is None]
    if absent:
        return prove(case.share(absent), f"{_name(absent)} judged relevant, and not among the documents")
    return None


def _name(documents: Sequence[str]) -> str:
    others = f" and {len(documents) - 1} more are" if len(documents) > 1 else " is"
    return shorten(documents[0]) + others


@cause("offsets", "offset drift")
def offsets(case: Case, lab: Lab) -> Evidence | None:
    """The places of the hits are not where their texts are.

    Why: a hit holds what was judged if both have bytes in common. If offsets count in another text, or in another unit,
    they do not.
    Evidence: hits whose text is not where their span points in the document, or spans beyond its end; texts full of
    words that no document has, as after bad character recognition.
    Example: offsets count characters, or a text with other line ends.
    Fix: count bytes of the canonical text (karat golden outline shows it), and extract the texts again.
    """
    placed = [hit for hit in case.hits if lab.corpus.document(hit.document) is not None]
    drifted = [hit for hit in placed if _is_drifted(lab, hit)]
    if not drifted or len(drifted) < _MANY * len(placed):
        return None
    text = (
        f"the texts of {len(drifted)} of {len(placed)} hits are not at their places, such as {shorten(drifted[0].id)}"
    )
    if case.parts:
        return prove(len(drifted) / len(placed), text)
    return Evidence(strength=0.3, text=f"{text}; documents are judged, so that it costs nothing here")


def _is_drifted(lab: Lab, hit: Hit) -> bool:
    text = lab.own_text(hit)
    if text and lab.corpus.strange_words(text) >= _STRANGE:
        return True
    if hit.span is None:
        return False
    outline = lab.corpus.outline(hit.document)
    if outline is not None and hit.span.end > outline.size:
        return True
    if not text:
        return False
    here, anywhere = lab.corpus.compare(hit.document, text, hit.span)
    return here < _MANY <= anywhere


@cause("flips", "the order flips between repeats")
def flips(case: Case, lab: Lab) -> Evidence | None:
    """The same question gets another order, or other hits, when it is asked again.

    Why: a document that is found by luck is lost by luck, and no two runs can be compared.
    Evidence: repeats of the run that differ, or the system asked again.
    Example: a reranker that draws lots, replicas with different indexes, ties that are broken at random.
    Fix: set the seeds and break ties by id; ask all replicas; repeat the run until it is steady (--repeat).
    """
    answers = lab.repeats(case)
    orders = {tuple(hit.document for hit in hits[: case.cut]) for hits in answers}
    if len(orders) < 2:
        return None
    ever_found = frozenset().union(*(case.find((hit.document, hit.span) for hit in hits) for hits in answers))  # type: ignore[misc]
    text = f"{len(orders)} of {len(answers)} answers to the same question differ"
    return prove(case.share(ever_found - case.found), text)


@cause("copies", "copies crowd the list")
def copies(case: Case, lab: Lab) -> Evidence | None:
    """Hits that repeat each other take the places of others.

    Why: a list of ten has room for ten documents, and five copies leave six.
    Evidence: hits of the same document or class, or with nearly the same text; without them, the lost document is above
    the cut.
    Example: a document was ingested three times, or all chunks of one document come first.
    Fix: remove copies from the index, and limit the hits of one document (per_document of the pipeline).
    """
    marks = lab.copies.mark(case.trace.hits[: case.cut], lab.own_text, case.cut)
    count = sum(marks)
    if not count:
        return None
    net = lab.net("without copies", case)
    text = f"{count} of the first {len(marks)} hits repeat one above them"
    if net > 0:
        text += "; without them more of what was expected is among the hits"
    if count >= _CROWDED * len(marks):
        return prove(net, text)
    return Evidence(strength=0.9 * net, text=text) if net > 0 else None


@cause("gold", "the gold is doubtful")
def gold(case: Case, lab: Lab) -> Evidence | None:
    """The system found what nobody judged, and it looks right.

    Why: an unjudged document counts as not relevant, so a better system can look worse.
    Evidence: unjudged hits that share as many words with question and reference answer as the best relevant document,
    if neither the baseline nor the run that it is compared with had found that; hits for a query for which nothing is
    judged relevant, which counts as no loss.
    Example: a new document answers the question, and the judgments are older.
    Fix: judge these hits (karat golden pool), and look at the judgments of the query again.
    """
    if case.is_unjudged:
        return prove(1.0, "nothing is judged relevant, so that nothing that was found counts")
    if case.was_found:
        return None
    marks = lab.copies.mark(case.hits, lab.own_text, len(case.hits))
    unjudged = [
        hit for hit, is_copy in zip(case.hits, marks, strict=True) if _is_unjudged(case, lab, hit) and not is_copy
    ]
    wanted = lab.corpus.subject(f"{case.query.text}\n{case.query.answer}")
    if not unjudged or not lab.golden.documents:
        return None
    best = max(_coverage(lab, wanted, document) for document in case.expected)
    if not best:  # the relevant ones share no word with the question: then words cannot tell what is as good
        return None
    right = [hit for hit in unjudged if _coverage(lab, wanted, hit.document) >= _ANSWERS * best]
    if not right:
        return None
    share = min(1.0, len(right) / max(1, len(case.lost)))
    # Without a reference answer the words of the question are all that speaks for a hit. Where a set lists relevant
    # documents only, all others were meant not to be relevant.
    base, more = (0.5, 0.45) if case.query.answer else (0.2, 0.2)
    if lab.lists_relevant_only:
        base, more = base / 2, more / 2
    text = (
        f"{_name([hit.document for hit in right])} not judged, and as near to question and answer as the relevant ones"
    )
    return Evidence(strength=base + more * share, text=text)


def _is_unjudged(case: Case, lab: Lab, hit: Hit) -> bool:
    return hit.document not in case.grades and lab.corpus.document(hit.document) is not None


def _coverage(lab: Lab, wanted: frozenset[str], id: str) -> float:
    document = lab.corpus.document(id)
    return lab.corpus.coverage(wanted, f"{document.title}\n{document.text}") if document else 0.0
