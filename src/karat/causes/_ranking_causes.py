"""Causes in the system: limits, chunks, tables, vectors, and words."""

from __future__ import annotations

from karat.causes._case import Case
from karat.causes._cause import Evidence, cause, prove
from karat.causes._lab import DEEPER, Lab
from karat.core import Span, shorten
from karat.evaluation import LEXICAL
from karat.text import Block, words

_SAME_LENGTH = 0.8
"""If four of five lists have the same length below k, it is a limit and not what was found."""
_TRIED = 0.9
"""How far a change is believed that brings documents back, and could do so by chance."""
_PARAPHRASED = 0.8
"""The same for other words, which change more than one thing."""
_FEW_WORDS = 0.5
_UNSHARED = 0.55
"""How far words that the document lacks are believed: less than anything that was seen to bring it back."""
_ROWS = 3


@cause("cut", "cut by k or another limit")
def cut(case: Case, lab: Lab) -> Evidence | None:
    """The document was found, and a limit cut it off.

    Why: k, a channel's depth, a reranker's depth or a threshold leaves no room, although the order is right.
    Evidence: hits below the cut while most of those above are relevant; lists that all end at the same length before k;
    candidates that the last stage dropped.
    Example: nine documents answer the question, and k is 5.
    Fix: ask for more hits, or raise the depth or threshold that is named.
    """
    limit = _find_limit(lab)
    if limit is not None and len(case.trace.hits) <= limit:
        return prove(1.0, f"the lists end after {limit} hits, and {lab.k} were asked for")
    dropped = _dropped(case, lab)
    if dropped:
        text = f"{shorten(dropped[0])} is among the candidates of a channel, and a limit between drops it"
        return prove(case.share(dropped), text)
    ranks = {hit.document: rank for rank, hit in reversed([*enumerate(lab.deep(case), 1)])}
    near = [document for document in case.lost if case.cut < ranks.get(document, 0) <= DEEPER * case.cut]
    relevant = sum(document in case.expected for document in {hit.document for hit in case.hits})
    precision = relevant / max(1, min(case.cut, len({hit.document for hit in case.hits})))
    if not near or not precision:
        return None
    crowded = len(case.expected) > case.cut
    rank = min(ranks[document] for document in near)
    text = f"{len(near)} of {len(case.lost)} lost documents follow from rank {rank} on"
    text += f", and {precision:.0%} of those above are relevant"
    # Where everything above is relevant, nothing but room is missing.
    return Evidence(strength=case.share(near) * precision * (1.0 if crowded else _TRIED), text=text)


def _find_limit(lab: Lab) -> int | None:
    """Return the length at which nearly all lists end, if it is below k and the index has more."""
    lengths = lab.lengths
    if not lengths:
        return None
    length, times = lengths.most_common(1)[0]
    if not 0 < length < lab.k or times < _SAME_LENGTH * lengths.total() or lengths.total() < 2:
        return None
    return length if len(lab.golden.documents) > length or not lab.golden.documents else None


def _dropped(case: Case, lab: Lab) -> list[str]:
    """Return the lost documents that a channel has above the cut, and that the list of a later stage does not have."""
    inspection = lab.inspect(case)
    if inspection is None:
        return []
    result = inspection.documents("result")
    if len(result) >= lab.k:
        return []
    early = {document for channel in inspection.channels for document in inspection.documents(channel)[: case.cut]}
    return [document for document in case.lost if document in early and document not in result]


@cause("tables", "code or tables treated as prose")
def tables(case: Case, lab: Lab) -> Evidence | None:
    """The answer is in a table or in code that the index has as running text, in pieces, or not at all.

    Why: a row without its header says nothing, and a chunker for prose cuts tables anywhere.
    Evidence: tables or code whose lines are not in the chunks as they are in the document; chunks by type find it.
    Example: the loader strips the pipes of Markdown tables, or drops code blocks.
    Fix: keep tables and code as blocks of their own (chunk = { name = "blocks" }), with their heads.
    """
    damaged = {document: block for document in case.lost if (block := _damaged(case, lab, document)) is not None}
    if damaged:
        document, block = next(iter(damaged.items()))
        text = f"the {block.type} at {block.section} of {shorten(document)} is not in the index as it is written"
        return prove(case.share(damaged), text)
    weight = _TRIED * (lab.weight("typed chunks", case) - lab.weight("chunks by section", case))
    gained = lab.trials.get("typed chunks", {}).get(case.query.id)
    if weight <= 0 or gained is None:
        return None
    typed = [document for document in gained.gained if find_answering_block(case, lab, document) is not None]
    text = f"chunks that keep tables and code whole find {', '.join(map(shorten, sorted(typed)[:2]))}"
    return Evidence(strength=weight * case.share(typed), text=text) if typed else None


def find_answering_block(case: Case, lab: Lab, document: str) -> Block | None:
    """Return the table or code block of a document that has most of question and answer, if no prose has more."""
    outline = lab.corpus.outline(document)
    blocks = lab.corpus.typed_blocks(document)
    if outline is None or not blocks:
        return None
    wanted = lab.corpus.subject(f"{case.query.text}\n{case.query.answer}")
    spans = [
        anchor
        for target in case.query.anchors
        if target.document == document
        for anchor in _anchor(lab, target.section, document)
    ]

    def value(block: Block) -> float:
        inside = any(span.overlap(block.span) for span in spans)
        return lab.corpus.coverage(wanted, lab.corpus.text_at(document, block.span)) + inside

    best = max(outline.blocks, key=value)
    return best if best.type in ("table", "code") else None


def _anchor(lab: Lab, section: str, document: str) -> list[Span]:
    outline = lab.corpus.outline(document)
    return [part.whole for part in outline.sections if part.id == section] if outline else []


def _damaged(case: Case, lab: Lab, document: str) -> Block | None:
    """Return the table or code that the index should have, if its lines are not there as they are written."""
    chunks = lab.chunks.get(document)
    texts = [chunk.text for chunk in chunks] if chunks else []
    if not texts:
        return None
    block = find_answering_block(case, lab, document)
    if block is None:
        return None
    index = "\n".join(" ".join(line.split()) for text in texts for line in text.splitlines())
    lines = [" ".join(line.split()) for line in lab.corpus.text_at(document, block.span).splitlines()]
    lines = [line for line in lines if len(words(line)) >= _ROWS]
    missing = sum(line not in index for line in lines)
    return block if lines and 2 * missing > len(lines) else None


@cause("mixed", "mixed topics in a chunk")
def mixed(case: Case, lab: Lab) -> Evidence | None:
    """A chunk has several topics, or ends in the middle of one.

    Why: the vector of many topics is close to none of them, and a boundary separates the answer from its subject.
    Evidence: chunks that end where sections end, or larger ones, find what was lost; without the system, a hit that
    covers several sections.
    Example: chunks of 2,000 words, of a handbook whose sections have 100.
    Fix: cut at headings (chunk = { name = "heading" }), into chunks of another size.
    """
    smaller, larger = lab.weight("chunks by section", case), lab.weight("larger chunks", case)
    if max(smaller, larger) > 0:
        change = "end where sections end" if smaller >= larger else "are twice as large"
        counts = [count for document in case.lost if (count := _count_sections(lab, document))]
        text = f"chunks that {change} find more of it"
        if counts and smaller >= larger:
            text += f"; a chunk now has up to {max(counts)} sections"
        # Larger chunks help if they are too small, which is the rarer mistake.
        return Evidence(strength=_TRIED * max(smaller, _FEW_WORDS * larger), text=text)
    return None


def _count_sections(lab: Lab, document: str) -> int:
    """Return the largest number of sections in a chunk of a document."""
    outline = lab.corpus.outline(document)
    if outline is None:
        return 0
    return max((len({b.section for b in outline.at(chunk.span)}) for chunk in lab.chunks.get(document, ())), default=0)


@cause("embedding", "the embedding confuses")
def embedding(case: Case, lab: Lab) -> Evidence | None:
    """The vectors are near where the meaning is not: words alone find what was lost.

    Why: high similarity is not relevance. A model for another language or subject, or different models for documents
    and questions, give vectors that mean little.
    Evidence: the lexical channel alone has the lost document above the cut, and chunks by section do not help the
    vectors.
    Example: documents were embedded with a new model, and questions with the old one.
    Fix: check that documents and questions use the same model, try another, or give the lexical channel more weight.
    """
    weight = _TRIED * lab.weight("lexical alone", case)
    if weight <= 0:
        return None
    trial = lab.trials["lexical alone"][case.query.id]
    cut_better = lab.trials.get("chunks by section", {}).get(case.query.id)
    # What the same vectors find in better chunks they do not confuse.
    confused = trial.gained - (cut_better.gained if cut_better else frozenset())
    gain = sum(case.expected[document] for document in trial.gained)
    weight *= sum(case.expected[document] for document in confused) / gain if gain else 0.0
    ranks = _list_dense(case, lab)
    document = max(confused, key=lambda id_: case.expected[id_], default="")
    rank = f"at rank {ranks.index(document) + 1}" if document in ranks else "nowhere"
    text = f"words alone find {shorten(document)}, which the vectors have {rank}"
    return Evidence(strength=weight, text=text)


def _list_dense(case: Case, lab: Lab) -> list[str]:
    """Return the documents of the dense channel, or of the first other one that does not search words."""
    stages = lab.stages(case)
    others = [name for name in stages if name.startswith("candidate.") and name[10:].lower() not in LEXICAL]
    return list(stages.get("dense") or (stages[others[0]] if others else ()))


@cause("wording", "a gap in wording")
def wording(case: Case, lab: Lab) -> Evidence | None:
    """The question is in other words than the document.

    Why: words that the document does not have match nothing, and a question of two words says little.
    Evidence: paraphrases find what was lost, or, if none was asked, the document has few words of the question. If the
    baseline, or the run that it is compared with, had found it, the words are not to blame.
    Example: "call it off" where the policy says "cancel".
    Fix: expand queries or rewrite them, add synonyms, or use an embedding that knows the words of the field.
    """
    if case.was_found:
        return None
    net = lab.net("paraphrases", case)
    trial = lab.trials.get("paraphrases", {}).get(case.query.id)
    if trial is None:
        return _find_missing_words(case, lab)
    if net <= 0:
        return None
    subject = lab.corpus.subject(case.query.text)
    documents = [document for id_ in trial.gained if (document := lab.corpus.document(id_)) is not None]
    covered = [lab.corpus.coverage(subject, f"{d.title}\n{d.text}") for d in documents]
    gap = bool(covered) and max(covered) < _FEW_WORDS
    text = f"a paraphrase finds {', '.join(map(shorten, sorted(trial.gained)[:2]))}"
    if covered:
        text += f"; of the question's words the document has {max(covered):.0%}"
    trust = max(lab.trust("paraphrases"), 0.75 if gap else 0.0)
    return Evidence(strength=_PARAPHRASED * net * trust + (0.15 if gap else 0.0) * min(1.0, 2 * net), text=text)


def _find_missing_words(case: Case, lab: Lab) -> Evidence | None:
    """Return which words of the question its lost documents lack, if that is most of them."""
    documents = [document for document in case.lost if lab.corpus.document(document) is not None]
    total = lab.corpus.weigh(lab.corpus.subject(case.query.text))
    if not documents or not total:
        return None
    lacked = {document: lab.corpus.find_lacking(case.query.text, document) for document in documents}
    nearest = min(documents, key=lambda document: lab.corpus.weigh(lacked[document]))
    gap = lab.corpus.weigh(lacked[nearest]) / total
    if gap < _FEW_WORDS:
        return None
    missing = ", ".join(map(shorten, sorted(lacked[nearest].values())[:4]))
    return Evidence(strength=_UNSHARED * gap, text=f"of the question's words {shorten(nearest)} lacks {missing}")
