"""How far queues are done, and who did how much."""

from __future__ import annotations

import numpy as np

from karat.labelling._book import settle
from karat.labelling._desk import Desk
from karat.labelling._journal import fold_name
from karat.labelling._queue import describe_queue
from karat.labelling._state import QueueState, Tally, list_disputes
from karat.schema.labelling import LabellerStatus, LabelQueue, LabelStatus


def measure_queue(desk: Desk, name: str) -> LabelQueue:
    """Return how far a queue is done, by whom, and what is known by now of what it decides.

    Labels of a file that cannot be read are left out, which it says.
    """
    return _measure(desk, desk.open_queue(name))


def _measure(desk: Desk, state: QueueState) -> LabelQueue:
    with desk.lock:
        head, needed = state.queue.head, state.queue.needed
        settled, disputed = _count_disputes(state) if head.kind == "disputes" else (0, 0)
        pairs = len(state.queue) + settled + disputed
        return LabelQueue(
            queue=state.queue.name,
            kind=head.kind,
            about=describe_queue(head, pairs),
            pairs=pairs,
            several=int((needed > 1).sum()),
            finished=int((state.labels >= needed).sum()) + settled,
            labels=int(np.minimum(state.labels, needed).sum()) + settled,
            needed=int(needed.sum()) + settled + disputed,
            people=_list_people(desk, state),
            decides=state.decide(),
            adjudicator=head.adjudicator,
            left_out=desk.left_out,
        )


def _count_disputes(state: QueueState) -> tuple[int, int]:
    """Return how many pairs were settled, and how many are left to settle."""
    settled = sum(settle(votes) is not None for _, votes in state.book.pairs())
    return settled, len(state.list_disputes())


def _list_people(desk: Desk, state: QueueState) -> tuple[LabellerStatus, ...]:
    settles = state.queue.head.kind == "disputes"
    tallies = _tally_settled(desk, state.queue.head.adjudicator) if settles else state.tallies
    return tuple(
        LabellerStatus(
            who=who,
            graded=tally.verdicts["grade"],
            skipped=tally.verdicts["skip"],
            cannot_tell=tally.verdicts["cannot_tell"],
            seconds=tally.seconds,
        )
        for who, tally in sorted(tallies.items())
        if tally.verdicts.total()
    )


def _tally_settled(desk: Desk, adjudicator: str) -> dict[str, Tally]:
    """Return what the person whose queue it is has settled; the pairs are those of all queues."""
    tallies: dict[str, Tally] = {}
    for who in desk.book.people:
        if fold_name(who) != fold_name(adjudicator):
            continue
        for _, line in desk.book.labels_of(who):
            if line.settles:
                tallies.setdefault(who, Tally()).count(line, 1)
    return tallies


def measure_status(desk: Desk) -> LabelStatus:
    """Return how far all queues of a project are done; what cannot be read is left out, and named."""
    states, problems = desk.open_queues()
    queues = tuple(_measure(desk, state) for state in states)
    with desk.lock:
        desk.book.refresh()
        return LabelStatus(
            queues=queues,
            people=desk.book.people,
            disputes=len(list_disputes(desk.book)),
            guideline=desk.guidelines.version,
            notes=desk.book.repairs,
            left_out=(*desk.left_out, *problems),
        )
