"""The pages on which people label: the next pair, and how far they agree."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from karat.core import UsageError, shorten
from karat.labelling import (
    LONGEST_NOTE,
    Answer,
    Desk,
    QueuePlan,
    find_last,
    fold_name,
    list_people,
    make_queue,
    measure_labels,
    measure_queue,
    measure_status,
    next_task,
    open_desk,
    save_label,
    show_task,
    undo_label,
)
from karat.pages._addresses import fill_address
from karat.pages._tables import Table
from karat.schema.labelling import LabelQueue, LabelSaved, LabelTask
from karat.schema.pages import AgreementPage, JudgePage, ShownText

JUDGE, AGREEMENT = "/judge", "/judge/agreement"
_WINDOW = 12_000
"""Characters of a document that are shown on either side of a passage."""
_WORDS = {"skip": "skipped", "cannot_tell": "cannot tell"}
Name = Annotated[str, Meta(max_length=64, description="Who labels, where no token says it.")]
QueueName = Annotated[str, Meta(max_length=41, pattern="^([a-z0-9][a-z0-9-]*)?$")]
Id = Annotated[str, Meta(max_length=10_000)]


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """Which queue, and perhaps which pair of it."""

    queue: QueueName = ""
    who: Name = ""
    query: Id = ""
    document: Id = ""
    whole: Annotated[bool, Meta(description="Whether a long document is shown to its end.")] = False


class LabelSent(Struct, frozen=True, kw_only=True):
    """A person's answer about a pair."""

    queue: QueueName
    query: Id
    document: Id
    answer: Annotated[
        str, Meta(pattern=r"^([0-9]{1,2}|skip|cannot_tell)$(?!\n)", description="A grade, skip or cannot_tell.")
    ]
    who: Name = ""
    note: Annotated[str, Meta(max_length=LONGEST_NOTE)] = ""
    quote: Annotated[str, Meta(max_length=20_000, description="The words of the document that answer.")] = ""
    start: Annotated[str, Meta(pattern="^[0-9]{0,9}$", description="Where they begin, in UTF-16 units.")] = ""
    end: Annotated[str, Meta(pattern="^[0-9]{0,9}$")] = ""
    seconds: Annotated[str, Meta(pattern=r"^([0-9]{1,6}(\.[0-9]{1,6})?)?$", description="How long it took.")] = ""
    key: Annotated[str, Meta(max_length=100, description="A label that is sent twice with one key counts once.")] = ""


class UndoSent(Struct, frozen=True, kw_only=True):
    """That a person takes back the last label."""

    queue: QueueName = ""
    who: Name = ""
    key: Annotated[str, Meta(max_length=100)] = ""


def may_open(adjudicator: str, who: str) -> bool:
    """Return whether a person can open a queue: one of disputes is for its adjudicator alone."""
    return not adjudicator or fold_name(adjudicator) == fold_name(who)


class AgreementRequest(Struct, frozen=True, kw_only=True):
    """Which queue; by default all."""

    queue: QueueName = ""
    made: Annotated[QueueName, Meta(description="A queue that was just made, in which disputes are settled.")] = ""


class SettlingSent(Struct, frozen=True, kw_only=True):
    """Who settles what people disagree on."""

    adjudicator: Name


@lru_cache(maxsize=8)
def find_desk(folder: Path) -> Desk:
    """Return the desk of a project, which follows its files."""
    return open_desk(folder)


def show_judge(desk: Desk, who: str, request: JudgeRequest, *, is_local: bool) -> JudgePage:
    """Return the next pair that a person is asked; or the queues, if none is chosen or nobody says who they are."""
    queue = measure_queue(desk, request.queue) if request.queue and who else None
    task = _find_task(desk, who, request) if queue is not None else None
    last = find_last(desk, who) if who else None
    status = measure_status(desk) if queue is None else None
    return JudgePage(
        who=who,
        is_local=is_local,
        queues=() if status is None else status.queues,
        queue=queue,
        task=task,
        shown=None if task is None else _cut(task, whole=request.whole),
        key=secrets.token_hex(12),
        guidelines=desk.guidelines.text,
        can_undo=last is not None,
        last="" if last is None else f"{_WORDS.get(last.verdict, f'grade {last.grade}')}, {last.document}",
        left_out=queue.left_out if queue is not None else status.left_out if status is not None else (),
    )


def _find_task(desk: Desk, who: str, request: JudgeRequest) -> LabelTask | None:
    if request.query and request.document:
        return show_task(desk, request.queue, who, (request.query, request.document))
    return next_task(desk, request.queue, who)


def _cut(task: LabelTask, *, whole: bool) -> ShownText:
    """Return what a page shows of a text: all of a short one, and of a long one what is around the passage."""
    text, data = task.text, task.text.encode()
    start, end = (
        (0, 0) if task.passage is None else (len(data[:place].decode(errors="ignore")) for place in task.passage)
    )
    first = 0 if whole else max(0, start - _WINDOW)
    last = len(text) if whole else min(len(text), end + _WINDOW)
    return ShownText(
        before=text[first:start],
        passage=text[start:end],
        after=text[end:last],
        offset=len(text[:first].encode("utf-16-le")) // 2,
        hidden=len(text) - (last - first),
    )


def save_answer(desk: Desk, who: str, sent: LabelSent) -> tuple[LabelSaved, str]:
    """Save what a person says of a pair; return it with the address of the next pair."""
    verdict = sent.answer if sent.answer in _WORDS else "grade"
    is_grade = verdict == "grade"
    span = _find_span(desk, sent) if is_grade else None
    answer = Answer(
        query=sent.query,
        document=sent.document,
        verdict=verdict,
        grade=int(sent.answer) if is_grade else None,
        span=span,
        quote=sent.quote if is_grade and span is None else "",
        note=sent.note,
        seconds=float(sent.seconds) if sent.seconds else None,
        key=sent.key,
    )
    saved = save_label(desk, sent.queue, who, answer)
    return saved, fill_address(JUDGE, {"queue": sent.queue, "who": sent.who})


def _find_span(desk: Desk, sent: LabelSent) -> tuple[int, int] | None:
    """Return the bytes of what was selected, which a browser counts in UTF-16 units."""
    if not sent.start or not sent.end:
        return None
    from karat.text import canonical

    document = desk.golden.document_by_id.get(sent.document)
    units = canonical(document.text if document else "").encode("utf-16-le")
    ends = [len(units[: 2 * int(place)].decode("utf-16-le", "ignore").encode()) for place in (sent.start, sent.end)]
    return ends[0], ends[1]


def undo_answer(desk: Desk, who: str, sent: UndoSent) -> tuple[LabelSaved, str]:
    """Take back a person's last label; return it with the address at which its pair is asked again."""
    undone = undo_label(desk, who, key=sent.key)
    if undone is None:
        raise UsageError("there is no label to take back")
    parameters = {"queue": undone.queue, "who": sent.who, "query": undone.query, "document": undone.document}
    return undone, fill_address(JUDGE, parameters)


def show_agreement(
    desk: Desk, request: AgreementRequest, *, who: str = "", people: Sequence[str] = (), leads: bool = False
) -> AgreementPage:
    """Return how far people agree in one queue or in all, and what there is to settle.

    ``who`` asks, if a token says it; then ``people`` are those who have one, and may settle. Whoever can still be asked
    about a pair does not see what others say of it, unless that person ``leads``, or settles disputes.
    """
    states, problems = desk.open_queues()
    heads = [state.queue.head for state in states]
    agreement = measure_labels(desk, request.queue)
    queries = desk.golden.query_by_id
    settling = {head.adjudicator: head.name for head in heads if head.kind == "disputes"}  # the latest of each person
    sees_all = leads or (who != "" and any(may_open(own, who) for own in settling))
    disputes = tuple(
        own
        for own in agreement.disputes
        if sees_all or not any(state.awaits((own.query, own.document), who) for state in states)
    )
    later = len(agreement.disputes) - len(disputes)
    return AgreementPage(
        queues=tuple(head.name for head in heads if head.kind != "disputes"),
        queue=request.queue,
        settling=tuple((name, adjudicator) for adjudicator, name in settling.items()),
        mine=tuple((name, own) for own, name in settling.items() if not who or may_open(own, who)),
        people=tuple(people) or list_people(desk.config.folder),
        agreement=replace(agreement, disputes=disputes),
        later=later,
        texts={own.query: queries[own.query].text for own in disputes if own.query in queries},
        left_out=(*agreement.left_out, *problems),
    )


def make_settling(desk: Desk, sent: SettlingSent, people: Sequence[str] = ()) -> tuple[LabelQueue, str]:
    """Make a queue in which somebody settles disputes, unless that person has one; return it with its address.

    ``people`` are those who can sign in and judge; without any, it can be anybody.
    """
    adjudicator = sent.adjudicator.strip()
    if people and adjudicator not in people:
        raise UsageError(f"nobody called {shorten(adjudicator)} can judge here; there are {', '.join(people)}")
    for state in desk.open_queues()[0]:
        head = state.queue.head
        if head.kind == "disputes" and fold_name(head.adjudicator) == fold_name(adjudicator):
            return measure_queue(desk, head.name), fill_address(AGREEMENT, {"made": head.name})
    names = desk.list_queues()
    name = next(name for i in range(1, len(names) + 2) if (name := f"disputes-{i}") not in names)
    make_queue(desk, QueuePlan(name=name, kind="disputes", adjudicator=adjudicator))
    return measure_queue(desk, name), fill_address(AGREEMENT, {"made": name})


def table_agreement(page: AgreementPage) -> Table:
    """Return the disputes as rows: a column for each person."""
    people = sorted({who for own in page.agreement.disputes for who in own.grades})
    rows = tuple(
        (own.query, own.document, *(_show_grade(own.grades, who) for who in people)) for own in page.agreement.disputes
    )
    return Table(head=("query", "document", *people), rows=rows)


def _show_grade(grades: Mapping[str, int | None], who: str) -> int | str | None:
    if who not in grades:
        return None
    grade = grades[who]
    return "cannot tell" if grade is None else grade
