"""The pages of the golden set: its queries, one query, and what is proposed to change."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from karat.core import UsageError
from karat.index import Index, IndexedDocument, IndexedJudgment, IndexedQuery
from karat.labelling import (
    Desk,
    accept_proposal,
    describe_proposal,
    list_proposals,
    measure_status,
    propose_grade,
    propose_labels,
    propose_wording,
    refuse_proposal,
    show_proposal,
)
from karat.pages._addresses import fill_address
from karat.pages._errors import NotThere
from karat.pages._judging import Id, Name, QueueName
from karat.pages._run import sort_judgments, take_page
from karat.pages._tables import Table
from karat.schema import GoldenFinding
from karat.schema.labelling import LabelProposal
from karat.schema.pages import GoldenPage, GoldenQueryLine, GoldenQueryPage, JudgedTarget, ProposalsPage
from karat.text import canonical, find_quote

GOLDEN_QUERY, PROPOSAL = "/golden/{query:path}", "/proposals/{proposal}"
Reason = Annotated[str, Meta(max_length=2000)]
Words = Annotated[str, Meta(max_length=20_000)]
_Findings = list[tuple[GoldenFinding, NDArray[np.int64]]]


class GoldenRequest(Struct, frozen=True, kw_only=True):
    """Which queries of the golden set."""

    q: Annotated[str, Meta(max_length=200, description="Words of the query, of a paraphrase or of its id.")] = ""
    category: Annotated[str, Meta(max_length=500)] = ""
    rule: Annotated[str, Meta(max_length=100, description="A rule of the linter that names the query.")] = ""
    after: Annotated[str, Meta(max_length=10_000, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class GoldenQueryRequest(Struct, frozen=True, kw_only=True):
    """Which query."""

    query: Id


class ProposalsRequest(Struct, frozen=True, kw_only=True):
    """Which proposals."""

    state: Annotated[str, Meta(pattern="^(|open|accepted|refused)$")] = ""
    after: Annotated[str, Meta(max_length=20)] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class ProposalRequest(Struct, frozen=True, kw_only=True):
    """Which proposal."""

    proposal: Annotated[str, Meta(max_length=20)]


class WordingSent(Struct, frozen=True, kw_only=True):
    """Another wording of a query, a new text of it, or a new query."""

    query: Id
    text: Words = ""
    paraphrase: Words = ""
    reason: Reason = ""
    who: Name = ""


class GradeSent(Struct, frozen=True, kw_only=True):
    """A grade of a document, or of words of it, for a query."""

    query: Id
    document: Id
    grade: Annotated[int, Meta(ge=0, le=99)]
    quote: Words = ""
    reason: Reason = ""
    who: Name = ""


class LabelsSent(Struct, frozen=True, kw_only=True):
    """A queue whose labels are proposed."""

    queue: QueueName
    reason: Reason = ""
    unfinished: Annotated[str, Meta(pattern="^(|on)$")] = ""
    who: Name = ""


class DecisionSent(Struct, frozen=True, kw_only=True):
    """That a proposal is accepted or refused, and why."""

    proposal: Annotated[str, Meta(max_length=20)]
    answer: Literal["accept", "refuse"]
    reason: Reason
    who: Name = ""


def show_golden(index: Index, desk: Desk, request: GoldenRequest) -> GoldenPage:
    """Return the queries of the golden set that the filters keep, in their order, a page at a time."""
    findings = index.list_findings()
    positions = _choose(index, request, findings)
    shown, more = take_page(index, np.zeros(index.count_queries()), positions, request.after, request.limit)
    return GoldenPage(
        name=index.meta.get("golden", ""),
        version=index.meta.get("golden_version", ""),
        queries=tuple(_describe(query, findings) for query in shown),
        total=index.count_queries(),
        matching=len(positions),
        more=more,
        categories=index.list_categories(),
        documents=int(index.meta.get("documents", "0")),
        judgments=int(index.meta.get("judgments", "0")),
        findings=tuple(finding for finding, _ in findings),
        open_proposals=sum(own.state == "open" for own in list_proposals(desk).proposals),
        index=index.find_state(),
    )


def _choose(index: Index, request: GoldenRequest, findings: _Findings) -> NDArray[np.int64]:
    """Return the positions of the queries that the filters keep."""
    positions = index.search_queries(request.q, request.category)
    if positions is None:
        positions = np.arange(index.count_queries())
    if not request.rule:
        return positions
    named = [own for finding, own in findings if finding.rule == request.rule]
    return np.intersect1d(positions, np.concatenate(named)) if named else np.zeros(0, np.int64)


def _list_named(query: IndexedQuery, findings: _Findings) -> list[GoldenFinding]:
    """Return the findings that name a query, whose positions are in order."""
    own = query.position
    return [finding for finding, named in findings if own in named[(at := np.searchsorted(named, own)) : at + 1]]


def _describe(query: IndexedQuery, findings: _Findings) -> GoldenQueryLine:
    return GoldenQueryLine(
        id=query.id,
        text=query.text,
        category=query.category,
        paraphrases=len(query.paraphrases),
        answerable=query.answerable,
        judged=query.judged,
        relevant=query.relevant,
        findings=tuple(dict.fromkeys(finding.rule for finding in _list_named(query, findings))),
    )


def table_golden(page: GoldenPage) -> Table:
    """Return the queries as rows."""
    head = ("query", "text", "category", "paraphrases", "judged", "relevant", "findings")
    rows = tuple(
        (own.id, own.text, own.category, own.paraphrases, own.judged, own.relevant, " ".join(own.findings))
        for own in page.queries
    )
    return Table(head=head, rows=rows)


def show_golden_query(index: Index, request: GoldenQueryRequest) -> GoldenQueryPage:
    """Return one query of the golden set with every judgment of it, the best first."""
    query = index.find_query(request.query)
    if query is None:
        raise NotThere("the golden set has no such query")
    own = sort_judgments(query)
    documents = index.read_documents(judgment.document for judgment in own)
    return GoldenQueryPage(
        id=query.id,
        text=query.text,
        paraphrases=query.paraphrases,
        category=query.category,
        answer=query.answer,
        answerable=query.answerable,
        grades=msgspec.json.decode(index.meta.get("grades", "[]"), type=tuple[str, ...]),
        judgments=tuple(_describe_judgment(judgment, documents.get(judgment.document)) for judgment in own),
        findings=tuple(_list_named(query, index.list_findings())),
        index=index.find_state(),
    )


def _describe_judgment(judgment: IndexedJudgment, document: IndexedDocument | None) -> JudgedTarget:
    is_span = judgment.target.startswith(f"{judgment.document}@")  # one outside the text says nothing
    beginning = document.beginning if document and not is_span else ""
    return JudgedTarget(
        document=judgment.document,
        target=judgment.target,
        title=document.title if document else "",
        grade=judgment.grade,
        source=judgment.source,
        annotator=judgment.annotator,
        date=judgment.date,
        decided=judgment.decided,
        decides=judgment.decides,
        text=judgment.excerpt or beginning,
    )


def show_proposals(desk: Desk, request: ProposalsRequest) -> ProposalsPage:
    """Return the proposals, the latest first, a page at a time."""
    listed = list_proposals(desk)
    every = listed.proposals
    kept = [own for own in every if request.state in ("", own.state)]
    start = (
        next((place + 1 for place, own in enumerate(kept) if own.proposal == request.after), 0) if request.after else 0
    )
    shown = kept[start : start + request.limit]
    status = measure_status(desk)
    ready = [queue for queue in status.queues if queue.labels]
    # A queue of disputes has a few pairs of the others: whoever proposes it alone leaves out most of what is finished.
    queues = sorted(ready, key=lambda own: (own.kind == "disputes", -own.finished, own.queue))
    return ProposalsPage(
        state=request.state,
        proposals=tuple(shown),
        total=len(every),
        more=shown[-1].proposal if start + request.limit < len(kept) else None,
        ready={queue.queue: queue.labels for queue in queues},
        finished={queue.queue: queue.finished for queue in queues},
        left_out=(*listed.left_out, *status.left_out),
    )


def show_one_proposal(desk: Desk, request: ProposalRequest) -> LabelProposal:
    """Return a proposal, with what it would change in the golden set as it is now."""
    try:
        return show_proposal(desk, request.proposal)
    except UsageError as error:
        raise NotThere(str(error)) from None


def send_wording(desk: Desk, who: str, sent: WordingSent) -> tuple[LabelProposal, str]:
    """Propose a wording; return the proposal with its address."""
    text, paraphrase = sent.text.strip(), sent.paraphrase.strip()
    proposal = propose_wording(desk, sent.query.strip(), text=text, paraphrase=paraphrase, by=who, reason=sent.reason)
    return describe_proposal(desk, proposal), _link(proposal.head.name)


def send_grade(desk: Desk, who: str, sent: GradeSent) -> tuple[LabelProposal, str]:
    """Propose a grade; return the proposal with its address."""
    span = None
    if sent.quote.strip():
        document = desk.golden.document_by_id.get(sent.document)
        if document is None:
            raise UsageError("the golden set has no such document, in which words could stand")
        span = find_quote(canonical(document.text), sent.quote)
    proposal = propose_grade(desk, sent.query, sent.document.strip(), sent.grade, span=span, by=who, reason=sent.reason)
    return describe_proposal(desk, proposal), _link(proposal.head.name)


def send_labels(desk: Desk, who: str, sent: LabelsSent) -> tuple[LabelProposal, str]:
    """Propose the labels of a queue; return the proposal with its address."""
    proposal = propose_labels(desk, sent.queue, by=who, reason=sent.reason, unfinished=bool(sent.unfinished))
    return describe_proposal(desk, proposal), _link(proposal.head.name)


def decide_proposal(desk: Desk, who: str, sent: DecisionSent) -> tuple[LabelProposal, str]:
    """Accept or refuse a proposal; return what became of it with its address."""
    decide = accept_proposal if sent.answer == "accept" else refuse_proposal
    document = decide(desk, sent.proposal, by=who, reason=sent.reason)
    return document, _link(document.proposal)


def _link(proposal: str) -> str:
    return fill_address(PROPOSAL, {"proposal": proposal})
