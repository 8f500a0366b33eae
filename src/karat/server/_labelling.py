"""The pages on which people label and change the golden set, and what they can do there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from karat.labelling import Desk
from karat.pages import (
    AgreementRequest,
    DecisionSent,
    GoldenQueryRequest,
    GoldenRequest,
    GradeSent,
    JudgeRequest,
    LabelSent,
    LabelsSent,
    ProposalRequest,
    ProposalsRequest,
    SettlingSent,
    UndoSent,
    WordingSent,
    decide_proposal,
    find_desk,
    make_settling,
    save_answer,
    send_grade,
    send_labels,
    send_wording,
    show_agreement,
    show_golden,
    show_golden_query,
    show_judge,
    show_one_proposal,
    show_proposals,
    table_agreement,
    table_golden,
    table_golden_query,
    table_proposals,
    undo_answer,
)
from karat.schema.pages import AgreementPage, JudgePage
from karat.server._page import Action, Done, Page, Show, Visit, of_index
from karat.server._people import require_person
from karat.server._tokens import Tokens


def _judge(visit: Visit, request: JudgeRequest) -> JudgePage:
    who = visit.user.name if visit.user.token else request.who.strip()
    if not visit.user.may("annotator"):
        who = ""  # sees the queues, and is asked about no pair
    return show_judge(find_desk(visit.folder), who, request, is_local=not visit.user.token)


def _of_desk(show: Callable[[Desk, Any], Struct]) -> Show:
    return lambda visit, request: show(find_desk(visit.folder), request)


def _by_person(act: Callable[[Desk, str, Any], tuple[Struct, str]]) -> Callable[[Visit, Any], Done]:
    """Return a change that a person makes as an action does it."""

    def run(visit: Visit, sent: Any) -> Done:
        document, address = act(find_desk(visit.folder), require_person(visit, sent.who), sent)
        return Done(document=document, address=address)

    return run


def _list_judges(visit: Visit) -> tuple[str, ...]:
    """Return who can sign in and judge; nobody where no token is asked for."""
    if not visit.user.token:
        return ()
    tokens = Tokens(visit.folder).list()
    return tuple(sorted({token.name for token in tokens if token.state == "good" and token.role != "viewer"}))


def _agreement(visit: Visit, request: AgreementRequest) -> AgreementPage:
    who = visit.user.name if visit.user.token else ""
    leads = who != "" and visit.user.may("admin")
    return show_agreement(find_desk(visit.folder), request, who=who, people=_list_judges(visit), leads=leads)


def _settle(visit: Visit, sent: SettlingSent) -> Done:
    document, address = make_settling(find_desk(visit.folder), sent, _list_judges(visit))
    return Done(document=document, address=address)


LABEL_PAGES: tuple[Page, ...] = (
    Page(
        name="golden",
        address="/golden",
        request=GoldenRequest,
        show=lambda visit, request: show_golden(visit.index, find_desk(visit.folder), request),
        document="page-golden",
        template="golden.html",
        about="The golden set: its queries, and what the linter says of them.",
        table=table_golden,
        label="Golden set",
        key="s",
    ),
    Page(
        name="judge",
        address="/judge",
        request=JudgeRequest,
        show=_judge,
        document="page-judge",
        template="judge.html",
        about="The queues of pairs to label, and the next pair that a person who may label is asked about.",
        label="Judge",
        key="l",
    ),
    Page(
        name="agreement",
        address="/judge/agreement",
        request=AgreementRequest,
        show=_agreement,
        document="page-agreement",
        template="agreement.html",
        about="How far people agree, and what they disagree on.",
        part_of="judge",
        table=table_agreement,
    ),
    Page(
        name="golden-query",
        address="/golden/{query:path}",
        request=GoldenQueryRequest,
        show=of_index(show_golden_query),
        document="page-golden-query",
        template="golden-query.html",
        about="One query of the golden set with its judgments.",
        part_of="golden",
        table=table_golden_query,
    ),
    Page(
        name="proposals",
        address="/proposals",
        request=ProposalsRequest,
        show=_of_desk(show_proposals),
        document="page-proposals",
        template="proposals.html",
        about="What is proposed to change in the golden set, and what became of it.",
        part_of="golden",
        table=table_proposals,
    ),
    Page(
        name="proposal",
        address="/proposals/{proposal}",
        request=ProposalRequest,
        show=_of_desk(show_one_proposal),
        document="label-proposal",
        template="proposal.html",
        about="One proposal as a diff of the golden set.",
        part_of="golden",
    ),
)
LABEL_ACTIONS: tuple[Action, ...] = (
    Action(
        name="label",
        address="/judge/save",
        request=LabelSent,
        act=_by_person(save_answer),
        document="label-saved",
        about="Save what a person says of a pair; it is on the disk when this answers.",
    ),
    Action(
        name="undo label",
        address="/judge/undo",
        request=UndoSent,
        act=_by_person(undo_answer),
        document="label-saved",
        about="Take back a person's last label.",
    ),
    Action(
        name="settle disputes",
        address="/judge/settling",
        request=SettlingSent,
        act=_settle,
        document="label-queue",
        about="Make a queue in which somebody settles what people disagree on.",
        role="admin",
    ),
    Action(
        name="propose wording",
        address="/propose/wording",
        request=WordingSent,
        act=_by_person(send_wording),
        document="label-proposal",
        about="Propose a query, a new text of one, or another wording.",
    ),
    Action(
        name="propose grade",
        address="/propose/grade",
        request=GradeSent,
        act=_by_person(send_grade),
        document="label-proposal",
        about="Propose a grade of a document, or of words of it.",
    ),
    Action(
        name="propose labels",
        address="/propose/labels",
        request=LabelsSent,
        act=_by_person(send_labels),
        document="label-proposal",
        about="Propose the labels of a queue as judgments.",
    ),
    Action(
        name="decide proposal",
        address="/proposals/{proposal}/decide",
        request=DecisionSent,
        act=_by_person(decide_proposal),
        document="label-proposal",
        about="Accept a proposal, which changes the golden set, or refuse it.",
        role="admin",
    ),
)
