"""The pages of long work, and how an admin starts and stops it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from karat.index import Index
from karat.pages import (
    EvaluateSent,
    JudgeRunSent,
    QueueSent,
    StopSent,
    SweepSent,
    WorkItemRequest,
    WorkRequest,
    show_work,
    show_work_item,
    start_evaluation,
    start_judging,
    start_queue,
    start_sweep,
    stop_running,
    table_work,
)
from karat.server._page import Action, Done, Page, Visit, of_index
from karat.server._people import require_person


def _by_admin(start: Callable[[Index, str, Any], tuple[Struct, str]]) -> Callable[[Visit, Any], Done]:
    def run(visit: Visit, sent: Any) -> Done:
        line, address = start(visit.index, require_person(visit, sent.who), sent)
        return Done(document=line, address=address, subject=address)

    return run


def _stop(visit: Visit, sent: StopSent) -> Done:
    line, address = stop_running(visit.index, sent)
    return Done(document=line, address=address, subject=address)


WORK_PAGES: tuple[Page, ...] = (
    Page(
        name="work",
        address="/jobs",
        request=WorkRequest,
        show=of_index(show_work),
        document="page-work",
        template="work.html",
        about="Jobs, which are long work: what runs and how far it is, what was started, and what can be.",
        table=table_work,
        label="Jobs",
        key="w",
    ),
    Page(
        name="work-item",
        address="/jobs/{work}",
        request=WorkItemRequest,
        show=of_index(show_work_item),
        document="page-work-item",
        template="work-item.html",
        about="One job with what it printed.",
        part_of="work",
        role="admin",
    ),
)
WORK_ACTIONS: tuple[Action, ...] = (
    Action(
        name="evaluate",
        address="/jobs/evaluate",
        request=EvaluateSent,
        act=_by_admin(start_evaluation),
        document="work",
        about="Ask the system of the project every question, as karat eval does; it goes on when the page is closed.",
        role="admin",
    ),
    Action(
        name="judge run",
        address="/jobs/judge",
        request=JudgeRunSent,
        act=_by_admin(start_judging),
        document="work",
        about="Let the project's judges judge every answer of a run, as karat judge does.",
        role="admin",
    ),
    Action(
        name="sweep",
        address="/jobs/sweep",
        request=SweepSent,
        act=_by_admin(start_sweep),
        document="work",
        about="Try the variants of a sweep file of the project, as karat sweep does.",
        role="admin",
    ),
    Action(
        name="make queue",
        address="/jobs/queue",
        request=QueueSent,
        act=_by_admin(start_queue),
        document="work",
        about="Make a queue of what two runs returned, for people to judge, as karat label queue does.",
        role="admin",
    ),
    Action(
        name="stop work",
        address="/jobs/stop",
        request=StopSent,
        act=_stop,
        document="work",
        about="Stop a job, as Ctrl-C does.",
        role="admin",
    ),
)
