"""``karat label undo``: take back a person's last label."""

from __future__ import annotations

import click

from karat.cli._options import project_option
from karat.cli._progress import say
from karat.cli._table import emit, escaped


@click.command("undo", short_help="Take back a person's last label.")
@click.option("--who", required=True, metavar="NAME", help="Who labels.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; null if there is nothing to take back.")
def command(who: str, folder: str, as_json: bool) -> None:
    """Take back NAME's last label. It stays in the file, but no longer counts.

    Example: karat label undo --who ana --golden examples/hotel
    """
    from karat.labelling import open_desk, undo_label
    from karat.schema import to_json

    undone = undo_label(open_desk(folder), who)
    for note in undone.notes if undone else ():
        say(note)
    if as_json:
        emit("null" if undone is None else to_json(undone))
    elif undone is None:
        emit(f"{escaped(who)} has no label to take back")
    else:
        emit(f"taken back: {escaped(undone.query)} {escaped(undone.document)}, by {escaped(who)}")
