"""``karat store``: making, checking and copying the store of a log."""

from __future__ import annotations

from collections.abc import Mapping

import click

from karat.cli._table import emit, escaped
from karat.cli._verbs import HintingGroup


@click.group("store", cls=HintingGroup)
def command() -> None:
    """Create, check or copy the store of a log: a file, or an address such as postgresql://USER@HOST/DATABASE.

    Example: karat store check karat.db
    """


@command.command("migrate", short_help="Create a store, or upgrade it to this version of karat.")
@click.argument("store", metavar="STORE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def migrate(store: str, as_json: bool) -> None:
    """Create STORE if it is missing, or upgrade it to this version of karat.

    Example: karat store migrate postgresql://karat@db.example/logs
    """
    from karat.online import migrate_store
    from karat.schema import to_json

    done = migrate_store(store)
    emit(to_json(done) if as_json else f"{escaped(done.store)} is a store of version {done.version}")


@command.command("check", short_help="Look for damage in a store.")
@click.argument("store", metavar="STORE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(context: click.Context, /, store: str, as_json: bool) -> None:
    """Look for damage in STORE, for hours that are counted wrongly and for duplicate ids. The exit code is 1 if there
    is any.

    Example: karat store check karat.db
    """
    from karat.online import check_store
    from karat.schema import to_json

    done = check_store(store)
    if as_json:
        emit(to_json(done))
    else:
        for problem in done.problems:
            emit(f"problem: {escaped(problem)}")
        state = "is not in order" if done.problems else "is in order"
        emit(f"{escaped(done.store)}, of version {done.version}, {state}: {_list_rows(done.rows)}")
    context.exit(1 if done.problems else 0)


@command.command("copy", short_help="Copy a store into another one, of either database.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def copy(source: str, target: str, as_json: bool) -> None:
    """Copy everything in the store FROM into the store TO, which is new or empty, and compare the two.

    Example: karat store copy karat.db postgresql://karat@db.example/logs
    """
    from karat.online import copy_store
    from karat.schema import to_json

    done = copy_store(source, target)
    text = f"{escaped(done.target)} is a copy of {escaped(done.source)}: {_list_rows(done.rows)}"
    emit(to_json(done) if as_json else text)


def _list_rows(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{table} {count:,}" for table, count in rows.items() if count)
