"""The pages of live traffic, and what people can do there."""

from __future__ import annotations

from karat.pages import (
    CaseSent,
    LiveRequest,
    SessionRequest,
    find_desk,
    name_traffic,
    send_case,
    show_live,
    show_session,
    table_live,
    table_session,
)
from karat.server._live_charts import draw_latency, draw_timeline, draw_traffic
from karat.server._page import Action, Done, Page, Visit
from karat.server._people import require_person
from karat.server._trials import of_store


def _propose(visit: Visit, sent: CaseSent) -> Done:
    document, address = send_case(find_desk(visit.folder), require_person(visit, sent.who), sent)
    return Done(document=document, address=address, subject=sent.query)


LIVE_PAGES: tuple[Page, ...] = (
    Page(
        name="live",
        address="/live",
        request=LiveRequest,
        show=of_store(show_live),
        document="page-live",
        template="live.html",
        about="Live traffic: what people ask, what became of it, alerts, and sessions.",
        table=table_live,
        charts={"traffic": draw_traffic, "latency": draw_latency},
        label="Live",
        key="v",
        wants=lambda request: name_traffic(request.span),
    ),
    Page(
        name="session",
        address="/sessions/{session:path}",
        request=SessionRequest,
        show=of_store(show_session),
        document="page-session",
        template="session.html",
        about="One session as a timeline: what was asked, what came back, and what somebody did with it.",
        part_of="live",
        table=table_session,
        charts={"timeline": draw_timeline},
    ),
)
LIVE_ACTIONS: tuple[Action, ...] = (
    Action(
        name="propose case",
        address="/propose/case",
        request=CaseSent,
        act=_propose,
        document="label-proposal",
        about="Propose a query that somebody asked, with grades of documents.",
    ),
)
