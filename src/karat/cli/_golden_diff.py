"""``karat golden diff``: what changed between two golden sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, printable

if TYPE_CHECKING:
    from karat.golden import Change, Diff

_SHOWN = 10
_MEANING = {
    "major": "something that scores depend on was changed or removed; numbers from before cannot be compared",
    "minor": "things were only added",
    "patch": "only descriptions changed",
    "none": "nothing changed",
}


@click.command("diff", short_help="Show what changed between two golden sets.")
@click.argument("before")
@click.argument("after")
@click.option("--format", metavar="FORMAT", help="Format of both, when it should not be recognised.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every change.")
def command(before: str, after: str, format: str | None, as_json: bool) -> None:
    """Show added, removed and changed queries, documents and judgments, and which version bump that is.

    Major: something that scores depend on was changed or removed. Minor: things were only added. Patch: only
    descriptions changed.

    Example: karat golden diff golden-v1 golden-v2 --json
    """
    from karat import golden

    found = golden.diff(golden.read(before, format), golden.read(after, format))
    emit(json.dumps(found.to_dict()) if as_json else describe(found))


def describe(found: Diff) -> str:
    """Say what changed, the first few of each kind."""
    parts = []
    for name, change in (("documents", found.documents), ("queries", found.queries)):
        parts += _things(name, change)
    pairs = [
        ("pairs added", [f"{_pair(q, t)} grade {grade}" for (q, t), grade in found.added.items()]),
        ("pairs removed", [f"{_pair(q, t)} grade {grade}" for (q, t), grade in found.removed.items()]),
        ("pairs regraded", [f"{_pair(q, t)} {old} -> {new}" for (q, t), (old, new) in found.regraded.items()]),
        ("settings changed", list(found.settings)),
    ]
    parts += [_list(title, lines) for title, lines in pairs if lines]
    return "\n".join([*parts, f"bump: {found.bump} ({_MEANING[found.bump]})"])


def _things(name: str, change: Change) -> list[str]:
    lists = [
        (f"{name} added", [printable(i) for i in change.added]),
        (f"{name} removed", [printable(i) for i in change.removed]),
        (f"{name} changed", [f"{printable(i)} ({', '.join(fields)})" for i, fields in change.changed.items()]),
        (f"{name} extended", [f"{printable(i)} ({', '.join(fields)})" for i, fields in change.extended.items()]),
        (f"{name} described differently", [printable(i) for i in change.described]),
    ]
    return [_list(title, lines) for title, lines in lists if lines]


def _list(title: str, lines: list[str]) -> str:
    more = [f"and {len(lines) - _SHOWN:,} more (--json shows all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{title}: {len(lines):,}", *lines[:_SHOWN], *more])


def _pair(query: str, target: object) -> str:
    return f"{printable(query)} {printable(str(target))}"
