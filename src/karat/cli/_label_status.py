"""``karat label status``: how far queues are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._options import project_option
from karat.cli._progress import end_incomplete, say
from karat.cli._table import emit, escaped, render

if TYPE_CHECKING:
    from karat.schema.labelling import LabelQueue, LabelStatus

_EVEN = 0.5


@click.command("status", short_help="Show how far queues are done, and their results so far.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, as_json: bool) -> None:
    """Show how far each queue of the project is done, by whom, and what its labels show so far.

    Example: karat label status --golden examples/hotel
    """
    from karat.labelling import measure_status, open_desk
    from karat.schema import to_json

    status = measure_status(open_desk(folder))
    for note in status.notes:
        say(note)
    emit(to_json(status) if as_json else _text(status))
    end_incomplete(status.left_out)


def _text(status: LabelStatus) -> str:
    if not status.queues:
        return "there are no queues yet; 'karat label queue' makes them"
    rows = [["queue", "finished", "pairs", "labels", "needed"]]
    rows += [
        [queue.queue, f"{queue.finished:,}", f"{queue.pairs:,}", f"{queue.labels:,}", f"{queue.needed:,}"]
        for queue in status.queues
    ]
    lines = [render(rows)]
    for queue in status.queues:
        lines += ["", f"{queue.queue}: {escaped(queue.about)}", *_describe(queue)]
    return "\n".join([*lines, "", f"disputes to settle: {status.disputes:,}"])


def _describe(queue: LabelQueue) -> list[str]:
    lines = []
    if queue.decides is not None:
        lines.append(f"  {_show_confidence(queue.decides.confidence)}")
    for person in queue.people:
        took = f", {person.seconds:g} s each" if person.seconds is not None else ""
        aside = f", {person.skipped:,} skipped, {person.cannot_tell:,} that they cannot tell"
        lines.append(f"  {escaped(person.who)}: {person.graded:,} graded{aside}{took}")
    return lines


def _show_confidence(confidence: float) -> str:
    if confidence <= _EVEN:
        return "it is not known yet which run is better"
    return f"confidence that the run that looks better is better: {confidence:.1%}"
