"""``karat online forget``: a session or a user, removed from all files of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, tell
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import OnlineForgetting


@click.command("forget", short_help="Remove a session or a user from all files of a log.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--session", metavar="ID", help="The session, as the host gave it.")
@click.option("--user", metavar="ID", help="The user, as the host gave it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, session: str | None, user: str | None, as_json: bool) -> None:
    """Remove all records of a session or a user: from STORE, its free pages, the journal and the archive.

    The id is hashed with the key of the log: the variable KARAT_ONLINE_KEY, or the file beside STORE. The exit code is
    2 if there is nothing to remove, or the key is not the host's. It is 3 if somebody still reads STORE, or the disk is
    full, so that old pages are left, or if a file cannot be searched. A golden set that was harvested earlier is not
    touched.

    Example: karat online forget karat.db --session 7f3a
    """
    from karat.online import forget
    from karat.schema import to_json

    document = forget(store, session=session, user=user)
    emit(to_json(document) if as_json else _text(document, store))
    if document.other_keys:
        tell(f"ids were hashed with {document.other_keys} other keys, too: forget with each (KARAT_ONLINE_KEY)")
    if document.unread:
        names = ", ".join(map(escaped, document.unread))
        tell(f"could not be looked through, and may still have records: {names}; repair or remove them")
    if not document.complete:
        why = "somebody still reads it, or the disk is full"
        tell(f"old pages of {escaped(store)} are left, because {why}; forget again when that is over")
    if document.unread or not document.complete:
        raise click.exceptions.Exit(3)
    if not document.rows and not document.frames and not document.archived:
        tell(f"nothing of them is in {escaped(store)}: is the id the one that the host gave, and the key the host's?")
        raise click.exceptions.Exit(2)


def _text(document: OnlineForgetting, store: str) -> str:
    lines = [f"{count_things(document.rows, 'row')} removed from {escaped(store)}"]
    if document.frames:
        lines.append(f"{count_things(document.frames, 'record')} overwritten in the journal")
    if document.archived:
        lines.append(f"{count_things(document.archived, 'query', 'queries')} removed from the archive")
    if document.damages:
        lines.append(
            f"{count_things(document.damages, 'file')} that could not "
            "be read removed: nobody knows whose records they held"
        )
    return "\n".join(lines)
