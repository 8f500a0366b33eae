"""Measures of answers by what they cite, without a model: coverage, accuracy, anchors, refusals, hard negatives.

A question is answered if its trace has an answer or a citation, and is not marked as refused. A measure of answers has
no value where a system only retrieves; a question that failed counts as one that was not answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from karat.core import Parameter, Span, Target
from karat.measures._cited import (
    CITES_NOTHING,
    ELSEWHERE,
    NO_ANSWER,
    NO_GOLD,
    WINDOW,
    explain_silence,
    is_answered,
    is_in_anchor,
    lacks_answers,
    list_citations,
    list_relevant,
    meets,
    part_of,
    share_section,
    supports,
)
from karat.measures._evidence import NOTHING, Case, trace_measure
from karat.measures._measure import REL

NO_ANCHORS = "no anchor in the golden set"
NO_NEGATIVES = "no hard negatives in the golden set"
NO_TOP_CHUNK = "no top chunk in the golden set"
_WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+")
FIRST = Parameter(name="first", kind="bool", default=False, help="whether only the first citation counts")


@trace_measure(
    "CiteCoverage", REL, FIRST, aliases=("citation_coverage",), cutoff="none", undefined=NO_ANSWER, independent=False
)
def cite_coverage(case: Case, k: None, *, rel: int, first: bool) -> float | str:
    """Citation coverage: whether the answer cites something relevant, or a part of the section that has the answer.

    Formula: CiteCoverage = 1 if a citation has bytes in common with a relevant part, or is in an anchor, else 0
    Range: 0 or 1
    Convention: over all questions that have an answer: one that was refused, failed, or was answered without a
        citation counts 0; ``first`` counts the first citation only, as the code of blocks does, against its own text;
        a citation that names a hit is where that hit is; undefined where the system answers no question at all
    Citation: blocks, coverage

    >>> from karat.core import Citation, GoldenSet, Judgment, Query, Span, Target, Trace
    >>> from karat import score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(10, 40)), grade=3)
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> trace = Trace(query="q", text="?", answer="Free.", citations=(Citation("wifi", span=Span(30, 60)),))
    >>> score_hits(golden, {"q": ()}, ["CiteCoverage"], traces={"q": trace}).mean()
    {'CiteCoverage': 1.0}
    """
    relevant = list_relevant(case, rel)
    if not relevant and not case.gold.anchors:
        return NO_GOLD
    if lacks_answers(case):
        return NO_ANSWER
    citations = list_citations(case, first=first) if is_answered(case) else ()
    return float(
        any(is_in_anchor(case, cited) or any(supports(case, cited, gold) for gold in relevant) for cited in citations)
    )


@trace_measure(
    "CiteAccuracy", REL, WINDOW, FIRST, aliases=("citation_accuracy",), cutoff="none", undefined=NO_ANSWER,
    independent=False,
)  # fmt: skip
def cite_accuracy(case: Case, k: None, *, rel: int, window: int, first: bool) -> float | str:
    """Citation accuracy: whether the answer cites the right section, and bytes of it that overlap the relevant ones.

    Formula: CiteAccuracy = 1 if a citation is in the section of a relevant part, and begins less than ``window``
        bytes after its end and ends less than ``window`` bytes after its beginning, else 0
    Range: 0 or 1
    Convention: over the questions that were answered: a refusal is no citation that is wrong, and has its own
        measures, and without that rule accuracy could never exceed coverage; a rule of the gate counts it as 0; an
        answer without a citation counts 0, and so does a citation of a whole document where the gold is a part of
        it; undefined where the system does not answer
    Citation: blocks, citation accuracy

    >>> from karat.core import Citation, GoldenSet, Judgment, Query, Span, Target, Trace
    >>> from karat import score_hits
    >>> gold = Judgment(query="q", target=Target(document="wifi", span=Span(10, 40)), grade=3)
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"),), judgments=(gold,))
    >>> trace = Trace(query="q", text="?", answer="Free.", citations=(Citation("wifi", span=Span(60, 90)),))
    >>> score_hits(golden, {"q": ()}, ["CiteAccuracy", "CiteAccuracy(window=10)"], traces={"q": trace}).mean()
    {'CiteAccuracy': 1.0, 'CiteAccuracy(window=10)': 0.0}
    """
    relevant = list_relevant(case, rel)
    if not relevant:
        return NO_GOLD
    if not is_answered(case):
        return explain_silence(case)
    citations = list_citations(case, first=first)
    return float(
        any(
            supports(case, cited, gold, window) and share_section(case, cited, gold)
            for cited in citations
            for gold in relevant
        )
    )


@trace_measure("CiteFirst", aliases=("cite_first",), cutoff="none", undefined=NO_ANSWER)
def cite_first(case: Case, k: None) -> float | str:
    """The cite-first contract: whether an answer cites anything at all.

    Formula: CiteFirst = 1 if the answer has a citation, else 0
    Range: 0 or 1
    Convention: over the questions that were answered; without it coverage cannot be measured
    Citation: blocks, cite-first answers

    >>> from karat.core import Citation, GoldenSet, Query, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?"), Query(id="r", text="?")))
    >>> traces = {"q": Trace(query="q", text="?", answer="Free.", citations=(Citation("wifi"),)),
    ...           "r": Trace(query="r", text="?", answer="Yes.")}
    >>> score_hits(golden, {"q": (), "r": ()}, ["CiteFirst"], traces=traces).mean()
    {'CiteFirst': 0.5}
    """
    if not is_answered(case):
        return explain_silence(case)
    return float(bool(case.trace.citations))


@trace_measure(
    "AnchorDistance", aliases=("anchor_proximity",), cutoff="none", undefined=NO_ANSWER, higher_is_better=False,
    high=float("inf"),
)  # fmt: skip
def anchor_distance(case: Case, k: None) -> float | str:
    """Anchor proximity: how many steps in the tree of sections lie between what was cited and the nearest anchor.

    Formula: AnchorDistance = mean over citations of the least depth(c) + depth(a) - 2 depth(lowest common ancestor)
    Range: 0 and up, lower is better; 0 is the same section, 1 its parent, 2 a sibling
    Convention: over the citations in a document that has an anchor, since no distance is defined between documents;
        undefined where there is none, which CiteCoverage counts as 0
    Citation: blocks, anchor proximity

    >>> from karat.core import Citation, GoldenSet, Query, Target, Trace
    >>> from karat import score_hits
    >>> query = Query(id="q", text="?", anchors=(Target(document="wifi", section="S.4.2"),))
    >>> cited = (Citation("wifi", section="S.4.2"), Citation("wifi", section="S.4.3"))
    >>> trace = Trace(query="q", text="?", answer="Free.", citations=cited)
    >>> score_hits(GoldenSet(queries=(query,)), {"q": ()}, ["AnchorDistance"], traces={"q": trace}).mean()
    {'AnchorDistance': 1.0}
    """
    if not case.gold.anchors:
        return NO_ANCHORS
    if not is_answered(case):
        return explain_silence(case)
    steps = [_measure_distance(case, cited) for cited in list_citations(case)]
    known = [step for step in steps if step is not None]
    return sum(known) / len(known) if known else ELSEWHERE


def _measure_distance(case: Case, cited: Target) -> int | None:
    """Return the steps from a citation to the nearest anchor of its document; None if there is none."""
    from karat.text import distance

    section = case.evidence.section(cited)
    anchors = [case.evidence.section(anchor) for anchor in case.gold.anchors if anchor.document == cited.document]
    return min((distance(section, anchor) for anchor in anchors if section and anchor), default=None)


@trace_measure("AnchorHit", aliases=("anchor_hit",), undefined=NO_ANCHORS)
def anchor_hit(case: Case, k: int) -> float | str:
    """Anchor hit: whether a result in the top k is in the section that has the answer.

    Formula: AnchorHit@k = 1 if a result in the top k is a part of an anchor section, else 0
    Range: 0 or 1
    Convention: a section below the anchor belongs to it; a result that is a whole document is in no section; a
        question that failed counts 0
    Citation: blocks, anchor hit

    >>> from karat.core import GoldenSet, Hit, Query, Target, Trace
    >>> from karat import score_hits
    >>> query = Query(id="q", text="?", anchors=(Target(document="wifi", section="S.4"),))
    >>> hits = (Hit("a", 2.0, document="wifi", section="S.3"), Hit("b", 1.0, document="wifi", section="S.4.2"))
    >>> trace = Trace(query="q", text="?", hits=hits)
    >>> score_hits(GoldenSet(queries=(query,)), {"q": hits}, ["AnchorHit@1", "AnchorHit@5"], traces={"q": trace}).mean()
    {'AnchorHit@1': 0.0, 'AnchorHit@5': 1.0}
    """
    if not case.gold.anchors:
        return NO_ANCHORS
    return float(any(is_in_anchor(case, part_of(hit)) for hit in case.hits(k)))


@trace_measure("SectionTokens", aliases=("section_token_coverage",), undefined=NO_ANCHORS)
def section_tokens(case: Case, k: int) -> float | str:
    """Section-token coverage: the share of the words of the anchor sections that the top k results hold.

    Formula: SectionTokens@k = |words of the anchors in the text of the top k| / |words of the anchors|
    Range: 0 to 1
    Convention: a word counts once, if a result has its first byte; undefined where the golden set does not have the
        text of the anchors; a question that failed counts 0
    Citation: blocks, chunking checklist, target section coverage

    >>> from karat.core import Document, GoldenSet, Hit, Query, Span, Target, Trace
    >>> from karat import score_hits
    >>> wifi = Document(id="wifi", text="Join the guest network.")
    >>> query = Query(id="q", text="?", anchors=(Target(document="wifi", span=Span(0, 23)),))
    >>> hits = (Hit("wifi:chunk:0", 1.0, span=Span(0, 8)),)
    >>> golden, trace = GoldenSet(documents=(wifi,), queries=(query,)), Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["SectionTokens@5"], traces={"q": trace}).mean()
    {'SectionTokens@5': 0.5}
    """
    if not case.gold.anchors:
        return NO_ANCHORS
    from karat.text import canonical

    parts = [part_of(hit) for hit in case.hits(k)]
    held = total = 0
    for anchor in dict.fromkeys(case.gold.anchors):
        span, text = case.evidence.place(anchor), canonical(case.document(anchor.document).text).encode()
        if span is None or not text:
            return "the text of an anchor is not in the golden set"
        places = [case.evidence.place(part) for part in parts if part.document == anchor.document]
        starts = _list_word_starts(text, span)
        held += sum(any(place.start <= start < place.end for place in places if place) for start in starts)
        total += len(starts)
    return held / total if total else NO_ANCHORS


def _list_word_starts(text: bytes, span: Span) -> list[int]:
    """Return the first byte of each word in a part of a text; letters that are not ASCII make one word."""
    return [match.start() for match in _WORD.finditer(text, span.start, span.end)]


@trace_measure("TopChunk", aliases=("top1_chunk", "top_1_chunk_match"), cutoff="none", undefined=NO_TOP_CHUNK)
def top_chunk(case: Case, k: None) -> float | str:
    """Top-1 chunk match: whether the first result is the chunk that the golden set names.

    Formula: TopChunk = 1 if the id of the first result is the top chunk of the query, else 0
    Range: 0 or 1
    Convention: ids are compared as they are; a question that failed counts 0
    Citation: fit, top_1_chunk

    >>> from karat.core import GoldenSet, Hit, Query, Trace
    >>> from karat import score_hits
    >>> golden, hits = GoldenSet(queries=(Query(id="q", text="?", top_chunk="wifi:3"),)), (Hit("wifi:3", 1.0),)
    >>> trace = Trace(query="q", text="?", hits=hits)
    >>> score_hits(golden, {"q": hits}, ["TopChunk"], traces={"q": trace}).mean()
    {'TopChunk': 1.0}
    """
    if not case.gold.top_chunk:
        return NO_TOP_CHUNK
    return float([hit.id for hit in case.hits(1)] == [case.gold.top_chunk])


@trace_measure(
    "Confusion", REL, aliases=("hard_negative_confusion",), undefined=NO_NEGATIVES, higher_is_better=False,
    independent=False,
)  # fmt: skip
def confusion(case: Case, k: int, *, rel: int) -> float | str:
    """Hard-negative confusion: whether a hard negative stands above everything relevant in the top k.

    Formula: Confusion@k = 1 if the first result in the top k that is relevant or a hard negative is a hard negative,
        else 0
    Range: 0 or 1, lower is better
    Convention: undefined for a query without hard negatives, and where nothing was retrieved
    Citation: blocks, hard negatives

    >>> from karat.core import GoldenSet, Hit, Judgment, Query, Target, Trace
    >>> from karat import score_hits
    >>> query = Query(id="q", text="?", negatives=(Target(document="spa"),))
    >>> golden = GoldenSet(queries=(query,), judgments=(Judgment(query="q", target=Target(document="wifi"), grade=3),))
    >>> hits = (Hit("pool", 3.0), Hit("spa", 2.0), Hit("wifi", 1.0))
    >>> score_hits(golden, {"q": hits}, ["Confusion@5"], traces={"q": Trace(query="q", text="?", hits=hits)}).mean()
    {'Confusion@5': 1.0}
    """
    if not case.gold.negatives:
        return NO_NEGATIVES
    hits = case.hits(k)
    if not hits:
        return NOTHING
    relevant = list_relevant(case, rel)
    for part in map(part_of, hits):
        if _meets_any(case, part, relevant):
            return 0.0
        if _meets_any(case, part, case.gold.negatives):
            return 1.0
    return 0.0


def _meets_any(case: Case, part: Target, targets: Iterable[Target]) -> bool:
    return any(meets(case, part, target) for target in targets)


@trace_measure(
    "CiteConfusion", REL, aliases=("cited_negatives",), cutoff="none", undefined=NO_NEGATIVES, higher_is_better=False,
    independent=False,
)  # fmt: skip
def cite_confusion(case: Case, k: None, *, rel: int) -> float | str:
    """Cited hard negatives: the share of the citations that are hard negatives, and not relevant.

    Formula: CiteConfusion = |citations that meet a hard negative, and nothing relevant| / |citations|
    Range: 0 to 1, lower is better
    Convention: undefined without hard negatives, and for an answer without citations
    Citation: blocks, hard negatives

    >>> from karat.core import Citation, GoldenSet, Query, Target, Trace
    >>> from karat import score_hits
    >>> golden = GoldenSet(queries=(Query(id="q", text="?", negatives=(Target(document="spa"),)),))
    >>> trace = Trace(query="q", text="?", answer="Yes.", citations=(Citation("spa"), Citation("pool")))
    >>> score_hits(golden, {"q": ()}, ["CiteConfusion"], traces={"q": trace}).mean()
    {'CiteConfusion': 0.5}
    """
    if not case.gold.negatives:
        return NO_NEGATIVES
    if not is_answered(case):
        return explain_silence(case)
    relevant, citations = list_relevant(case, rel), list_citations(case)
    wrong = [
        _meets_any(case, cited, case.gold.negatives) and not any(supports(case, cited, gold) for gold in relevant)
        for cited in citations
    ]  # fmt: skip
    return sum(wrong) / len(wrong) if wrong else CITES_NOTHING
