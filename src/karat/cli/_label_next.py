"""``karat label next``: the next pair that a person is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._options import project_option
from karat.cli._table import bold, emit, escaped

if TYPE_CHECKING:
    from karat.schema.labelling import LabelTask


@click.command("next", short_help="Show the next pair for a person.")
@click.argument("queue")
@click.option("--who", required=True, metavar="NAME", help="Who labels.")
@click.option("--whole", is_flag=True, help="Show all of a document of which a system returned a passage.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; null if nothing is left.")
def command(queue: str, who: str, whole: bool, folder: str, as_json: bool) -> None:
    """Show the next pair of QUEUE for NAME, with the texts to read, but without systems and ranks.

    If a system returned only a passage of the document, that passage is shown, and how long the rest is.

    Example: karat label next first --who ana --golden examples/hotel
    """
    from karat.labelling import next_task, open_desk
    from karat.schema import to_json

    task = next_task(open_desk(folder), queue, who)
    if as_json:
        emit("null" if task is None else to_json(task))
    else:
        emit(f"{escaped(queue)}: nothing is left for {escaped(who)}" if task is None else task_text(task, whole=whole))


def task_text(task: LabelTask, *, whole: bool = False) -> str:
    """Return a pair with what there is to read; its lines are indented, so that none looks like one of karat's."""
    text = task.text
    if task.passage is not None and not whole:
        text = task.text.encode()[slice(*task.passage)].decode(errors="replace")
    hidden = len(task.text) - len(text)
    lines = [
        f"{bold('query')} {escaped(task.query)}: {escaped(task.query_text)}",
        f"{bold('document')} {escaped(task.document)} {escaped(task.title)}".rstrip(),
        "",
        *(f"  {escaped(line)}" for line in text.splitlines()),
        "",
        *(
            [f"only the passage that a system returned is shown; --whole shows {hidden:,} characters more"]
            if hidden
            else []
        ),
        f"asked because {task.why}; {task.left:,} left",
    ]
    for other in task.others:
        grade = "cannot tell" if other.grade is None else str(other.grade)
        lines.append(f"somebody says {grade}{': ' + escaped(other.note) if other.note else ''}")
    lines += [f"{grade} {escaped(meaning)}" for grade, meaning in enumerate(task.grades)]
    return "\n".join(lines)
