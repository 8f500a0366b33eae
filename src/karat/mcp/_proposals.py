"""What an agent may propose for the golden set. A proposal changes nothing: a person decides."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from karat.core import Judgment, Target, UsageError, shorten
from karat.golden.formats import encode_judgment
from karat.labelling import (
    Desk,
    Proposal,
    describe_proposal,
    list_proposals,
    open_desk,
    propose,
    read_proposal,
    show_task,
)
from karat.mcp._arguments import JudgmentArguments, NextArguments, NoArguments, QueryArguments
from karat.mcp._place import Place
from karat.schema.labelling import LabelProposal, LabelTask, ProposalChange
from karat.text import folded

_MOST = 200
"""Open proposals of one agent: more than a person would look at."""


def next_pair(place: Place, arguments: NextArguments) -> LabelTask:
    """Return the next pair of a queue that people have not finished and this agent has not proposed a grade for."""
    desk = open_desk(place.folder)
    states = [desk.open_queue(arguments.queue)] if arguments.queue else desk.open_queues()[0]
    if not states:
        raise UsageError("there is no queue of pairs; a person makes one with 'karat label queue'")
    proposed = {
        (str(change.judgment.get("query")), str(change.judgment.get("document")))
        for proposal in _list_open(desk, place.agent)
        for change in proposal.changes
        if change.judgment is not None
    }
    for state in states:
        if state.queue.head.kind == "disputes":  # a person settles them
            continue
        for number in state.queue.order(place.agent).tolist():
            pair = state.queue.pair(number)
            if state.labels[number] < state.queue.needed[number] and pair not in proposed:
                return show_task(desk, state.queue.name, place.agent, pair)
    names = ", ".join(shorten(state.queue.name) for state in states)
    raise UsageError(f"nothing is left in {names} that has no label and no proposal of yours")


def propose_judgment(place: Place, arguments: JudgmentArguments) -> LabelProposal:
    """Propose a grade of a document for a query: a judgment of the source ``bootstrapped``, by the agent."""
    change = _judge(place, arguments.query, arguments.document, arguments.grade)
    return _propose(place, [change], arguments.reason)


def propose_query(place: Place, arguments: QueryArguments) -> LabelProposal:
    """Propose a query with a document that answers it, or another wording of a query that the set has."""
    desk = open_desk(place.folder)
    text = arguments.text.strip()
    if arguments.of:
        if arguments.document:
            raise UsageError("document is for a new query; the documents of a paraphrase are those of its query")
        return _propose(place, [ProposalChange(paraphrase=text, of=arguments.of)], arguments.reason)
    words = folded(text)
    if not words:
        raise UsageError("argument text: has no words")
    for query in desk.golden.queries:
        if words in map(folded, (query.text, *query.paraphrases)):
            raise UsageError(f"the set asks this already, as {shorten(query.id)}; propose judgments for it")
    if not arguments.document:
        raise UsageError("name a document that answers the query, or the query that it is another wording of")
    name = f"agent-{sha256(words.encode()).hexdigest()[:10]}"
    changes = [
        ProposalChange(query={"id": name, "text": text}),
        _judge(place, name, arguments.document, arguments.grade),
    ]
    return _propose(place, changes, arguments.reason)


def read_guidelines(place: Place, _: NoArguments) -> str:
    """Return what people who judge keep to."""
    return open_desk(place.folder).guidelines.text


def _judge(place: Place, query: str, document: str, grade: int) -> ProposalChange:
    judgment = Judgment(
        query=query,
        target=Target(document=document),
        grade=grade,
        source="bootstrapped",
        annotator=place.agent,
        date=f"{datetime.now(tz=UTC):%Y-%m-%d}",
    )
    return ProposalChange(judgment=encode_judgment(judgment))


def _propose(place: Place, changes: list[ProposalChange], reason: str) -> LabelProposal:
    desk = open_desk(place.folder)
    for count, proposal in enumerate(_list_open(desk, place.agent), 1):
        if proposal.changes == tuple(changes):  # called again, as after an answer that was lost
            return describe_proposal(desk, proposal)
        if count >= _MOST:
            raise UsageError(f"{_MOST} proposals of yours are open; a person has to decide on them first")
    return describe_proposal(desk, propose(desk, changes, by=place.agent, reason=reason))


def _list_open(desk: Desk, agent: str) -> Iterator[Proposal]:
    for row in list_proposals(desk).proposals:
        if row.state == "open" and row.by == agent:
            yield read_proposal(desk, row.proposal)
