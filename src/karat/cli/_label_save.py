"""``karat label save``: save what a person says of a pair."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._options import project_option
from karat.cli._progress import say
from karat.cli._table import emit, escaped

_WORDS = {"skip": "skip", "cannot-tell": "cannot_tell"}


@click.command("save", short_help="Save a person's label of a pair.")
@click.argument("queue")
@click.argument("query")
@click.argument("document")
@click.argument("grade")
@click.option("--who", required=True, metavar="NAME", help="Who labels.")
@click.option("--note", default="", metavar="TEXT", help="A note, such as the reason.")
@click.option("--quote", default="", metavar="TEXT", help="The words of the document that answer, as a span.")
@click.option("--span", nargs=2, type=int, metavar="START END", help="The span in bytes of the canonical text.")
@click.option("--seconds", type=float, metavar="N", help="How long it took.")
@click.option("--key", default="", metavar="KEY", help="A label saved twice with the same key counts once.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(queue: str, grade: str, who: str, folder: str, as_json: bool, **answer: Any) -> None:
    """Save the GRADE that NAME gives DOCUMENT for QUERY: a number of the set's scale, skip, or cannot-tell.

    When the command ends, the label is on the disk, as a line in labels/people of the project.

    Example: karat label save first q001 deposit-faq 2 --who ana --golden examples/hotel
    """
    from karat.core import UsageError
    from karat.labelling import Answer, open_desk, save_label
    from karat.schema import to_json

    if grade not in _WORDS and not (grade.isascii() and grade.isdigit() and len(grade) < 4):
        raise UsageError(f"grade {escaped(grade)}: name a number, skip or cannot-tell")
    verdict = _WORDS.get(grade, "grade")
    number = int(grade) if verdict == "grade" else None
    saved = save_label(open_desk(folder), queue, who, Answer(verdict=verdict, grade=number, **answer))
    for note in saved.notes:
        say(note)
    done = "was saved before" if saved.repeated else "saved"
    text = f"{done}: {escaped(saved.query)} {escaped(saved.document)} {escaped(grade)}, by {escaped(who)}"
    emit(to_json(saved) if as_json else text)
