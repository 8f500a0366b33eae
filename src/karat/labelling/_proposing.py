"""From labels to a proposal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from karat.core import (
    NORMALISER,
    GoldenSet,
    Judgment,
    Source,
    Span,
    Target,
    UsageError,
    count_things,
    did_you_mean,
    shorten,
)
from karat.golden.formats import encode_judgment
from karat.labelling._asking import read_words
from karat.labelling._book import Pair, Votes, is_disputed, list_labels, settle
from karat.labelling._desk import Desk
from karat.labelling._proposal import Proposal, propose
from karat.labelling._state import QueueState
from karat.schema.labelling import LabelLine, ProposalChange
from karat.text import canonical, find_quote_again, folded

DISPUTED, UNFINISHED = "people disagree, and nobody has settled it", "it has fewer labels than it needs"
MOVED = "the document was edited, and the words that somebody selected are not there any more"
KEPT = "somebody no longer gives it the grade that the set has: take that row out of judgments.jsonl, or grade it again"
UNKNOWN_QUERY, UNKNOWN_DOCUMENT = "the set does not have the query", "the set does not have the document"


def propose_labels(desk: Desk, queue: str, *, by: str, reason: str = "", unfinished: bool = False) -> Proposal:
    """Propose the labels of a queue as judgments of the golden set, with the queries that it does not have yet.

    Each person's grade is a judgment of the source ``manual``, and what was settled one of ``validated``, which
    decides. A span is a judgment of its own where its grade is above 0: words that do not answer are no evidence. It
    never has a better grade than the pair: what is better than the settled grade is left out, and if the set has it
    already, the proposal lowers it.
    Pairs that are disputed, and those that lack labels unless ``unfinished`` is set, are left out and counted. Nothing
    is proposed while a file of labels cannot be read: what it says may dispute what the others say.
    """
    state = desk.open_queue(queue)
    with desk.lock:
        desk.book.require_all()
        golden = desk.golden
        known = {_key(own): own.grade for own in golden.judgments}
        spans = _list_spans(golden)
        fresh = {row.query: row.new.row for row in state.queue.rows if row.new and row.new.row}
        settling = state.queue.head.kind == "disputes"
        left_out: Counter[str] = Counter({KEPT: len(_list_kept(desk, golden, state))})
        queries: dict[str, ProposalChange] = {}
        judgments: list[ProposalChange] = []
        for pair, votes in sorted(desk.book.pairs()):
            number = state.queue.find(pair)
            if number is None and not (settling and settle(votes)):
                continue
            is_short = number is not None and state.labels[number] < state.queue.needed[number]
            refusal = _refuse(golden, pair, votes, fresh, is_short=is_short and not unfinished)
            if refusal:
                left_out[refusal] += bool(list_labels(votes))
                continue
            said = {_key(row): row for row in (*_lower(spans.get(pair, ()), votes), *_judge(golden, pair, votes))}
            own = [row for key, row in said.items() if known.get(key) != row.grade]
            if own and pair[0] not in golden.query_by_id:
                queries.setdefault(pair[0], ProposalChange(query=fresh[pair[0]]))
            judgments += [ProposalChange(judgment=encode_judgment(row)) for row in own]
    if not judgments:
        raise UsageError(f"there is nothing to propose: {_say_why(state, left_out)}")
    reason = reason or f"the labels of the queue {queue}"
    return propose(desk, [*queries.values(), *judgments], by=by, reason=reason, left_out=left_out)


def _list_kept(desk: Desk, golden: GoldenSet, state: QueueState) -> set[Pair]:
    """Return the pairs of a queue with a grade in the set that its person took back, or cannot tell any more."""
    settling = state.queue.head.kind == "disputes"
    kept, graded = set(), desk.book.list_graded()
    for own in golden.judgments:
        pair, voter = (own.query, own.target.document), (own.annotator, own.source == "validated")
        if own.source not in ("manual", "validated") or not (settling or state.queue.find(pair) is not None):
            continue
        line = desk.book.votes(pair).get(voter)
        if (line is None or line.grade is None) and (pair, voter) in graded:
            kept.add(pair)
    return kept


def _say_why(state: QueueState, left_out: Mapping[str, int]) -> str:
    """Return why a queue has no labels to propose."""
    counts = [f"{count_things(number, 'pair')}, since {why}" for why, number in left_out.items() if number]
    if counts:
        return f"left out are {'; '.join(counts)}"
    is_begun = bool(state.labels.any()) or bool(state.tallies)
    return "the set has all of its labels already" if is_begun else "nobody has labelled a pair of it yet"


def propose_wording(
    desk: Desk, query: str, *, text: str = "", paraphrase: str = "", by: str, reason: str = ""
) -> Proposal:
    """Propose another wording of a query, a new text of it, or a new query with that text."""
    if bool(text) == bool(paraphrase):
        raise UsageError("name either a new text of the query, or a paraphrase")
    known = desk.golden.query_by_id.get(query)
    if known is None and paraphrase:
        raise UsageError(f"the set has no query {shorten(query)}{did_you_mean(query, desk.golden.query_by_id)}")
    if paraphrase:
        change = ProposalChange(paraphrase=paraphrase, of=query)
    elif known is None:
        change = ProposalChange(query={"id": query, "text": text})
    else:
        change = ProposalChange(wording=text, of=query, before=known.text)
    return propose(desk, [change], by=by, reason=reason)


def propose_grade(
    desk: Desk, query: str, document: str, grade: int, *, span: tuple[int, int] | None = None, by: str, reason: str = ""
) -> Proposal:
    """Propose a grade of a document, or of a span of it, for a query: a judgment of the source ``manual``."""
    if span is not None and grade <= 0:
        raise UsageError("words that answer have a grade above 0; without them the document gets the grade")
    target = Target(document=document, span=None if span is None else Span(*span))
    judgment = Judgment(
        query=query,
        target=target,
        grade=grade,
        annotator=by,
        date=f"{datetime.now(tz=UTC):%Y-%m-%d}",
        quote=read_words(desk.golden, document, span),
    )
    return propose(desk, [ProposalChange(judgment=encode_judgment(judgment))], by=by, reason=reason)


def propose_case(
    desk: Desk, query: str, *, text: str, grades: Mapping[str, int], by: str, reason: str = ""
) -> Proposal:
    """Propose a query that somebody asked, with grades of documents; one that the set has gets the grades alone."""
    today = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    known = desk.golden.query_by_id.get(query)
    if known is not None and folded(text) not in map(folded, (known.text, *known.paraphrases)):
        raise UsageError(f"the set has a query {shorten(query)} with other words; choose another id")
    changes = [] if known is not None else [ProposalChange(query={"id": query, "text": text})]
    for document, grade in grades.items():
        judgment = Judgment(query=query, target=Target(document=document), grade=grade, annotator=by, date=today)
        changes.append(ProposalChange(judgment=encode_judgment(judgment)))
    return propose(desk, changes, by=by, reason=reason or "asked by people")


def _refuse(golden: GoldenSet, pair: Pair, votes: Votes, fresh: dict[str, dict[str, object]], *, is_short: bool) -> str:
    """Return why a pair is not proposed; empty if it is."""
    if is_disputed(votes):
        return DISPUTED
    if is_short:
        return UNFINISHED
    if pair[0] not in golden.query_by_id and pair[0] not in fresh:
        return UNKNOWN_QUERY
    if golden.documents and pair[1] not in golden.document_by_id:
        return UNKNOWN_DOCUMENT
    spans = [line for line in votes.values() if line.span is not None and line.grade]
    return MOVED if any(_find_place(golden, pair[1], line) is None for line in spans) else ""


def _find_place(golden: GoldenSet, document: str, line: LabelLine) -> Span | None:
    """Return where the words of a label's span stand now; None if nobody can tell.

    A label of an earlier version has no words, and is taken as it is.
    """
    if line.span is None:
        return None
    known = golden.document_by_id.get(document)
    if not line.quote or known is None or golden.normaliser != NORMALISER:
        return Span(*line.span)
    return find_quote_again(canonical(known.text), Span(*line.span), line.quote)


def _judge(golden: GoldenSet, pair: Pair, votes: Votes) -> Iterator[Judgment]:
    """Yield the judgments that the labels of a pair are, those of each person in order."""
    settled = settle(votes)
    best = settled[1].grade if settled else None
    for who, line in sorted(list_labels(votes).items()):
        for own in _make(golden, pair, who, line, "manual"):
            if own.target.whole or best is None or own.grade <= best:
                yield own
    if settled:
        yield from _make(golden, pair, *settled, "validated")


def _list_spans(golden: GoldenSet) -> Mapping[Pair, Sequence[Judgment]]:
    """Return the spans that people judged in a golden set, by query and document."""
    spans: dict[Pair, list[Judgment]] = {}
    for own in golden.judgments:
        if own.target.span is not None and own.source == "manual" and own.annotator:
            spans.setdefault((own.query, own.target.document), []).append(own)
    return spans


def _lower(spans: Iterable[Judgment], votes: Votes) -> Iterator[Judgment]:
    """Yield what takes spans of a golden set down to what their people say now, or to what was settled."""
    labels, settled = list_labels(votes), settle(votes)
    for own in spans:
        line = labels.get(own.annotator)
        if line is None:
            continue
        if line.grade is not None and own.grade > line.grade:
            yield replace(own, grade=line.grade, date=line.at[:10])
        if settled and (grade := settled[1].grade) is not None and own.grade > grade:
            yield replace(own, grade=grade, source="validated", annotator=settled[0], date=settled[1].at[:10])


def _make(golden: GoldenSet, pair: Pair, who: str, line: LabelLine, source: Source) -> Iterator[Judgment]:
    if line.grade is None:
        return
    whole = Judgment(
        query=pair[0], target=Target(document=pair[1]), grade=line.grade, source=source, annotator=who,
        date=line.at[:10],
    )  # fmt: skip
    yield whole
    if line.grade > 0 and (span := _find_place(golden, pair[1], line)) is not None:
        yield replace(whole, target=Target(document=pair[1], span=span), quote=line.quote)


def _key(judgment: Judgment) -> tuple[str, Target, Source, str]:
    return judgment.query, judgment.target, judgment.source, judgment.annotator
