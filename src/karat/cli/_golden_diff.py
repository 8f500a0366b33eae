"""``karat golden diff``: what changed between two golden sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karat.schema import GoldenChange, GoldenDiff, GradedPair, RegradedPair

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
@click.option("--format", metavar="FORMAT", help="Format of both, if karat should not guess it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every change.")
def command(before: str, after: str, format: str | None, as_json: bool) -> None:
    """Show added, removed and changed queries, documents and judgments, and which version bump that is.

    BEFORE and AFTER are golden sets or projects. Major: something that scores depend on was changed or removed. Minor:
    things were only added. Patch: only descriptions changed.

    Example: karat golden diff golden-v1 golden-v2 --json
    """
    from karat import golden
    from karat.schema import to_json

    document = golden.diff(golden.open_set(before, format), golden.open_set(after, format)).document()
    emit(to_json(document) if as_json else diff_text(document))


def diff_text(document: GoldenDiff, targets: Mapping[tuple[str, str], str] | None = None) -> str:
    """Return the changes in words, the first few of each kind.

    ``targets`` has what is shown in place of some targets, by query and target.
    """
    pairs, targets = document.pairs, targets or {}

    def name(pair: GradedPair | RegradedPair) -> str:
        return f"{printable(pair.query)} {printable(targets.get((pair.query, pair.target), pair.target))}"

    lists = [
        *_changes("documents", document.documents),
        *_changes("queries", document.queries),
        ("pairs added", [f"{name(pair)} grade {pair.grade}" for pair in pairs.added]),
        ("pairs removed", [f"{name(pair)} grade {pair.grade}" for pair in pairs.removed]),
        ("pairs regraded", [f"{name(pair)} {pair.before} -> {pair.after}" for pair in pairs.regraded]),
        ("settings changed", list(document.settings)),
    ]
    parts = [_list(title, lines) for title, lines in lists if lines]
    return "\n".join([*parts, f"bump: {document.bump} ({_MEANING[document.bump]})"])


def _changes(name: str, change: GoldenChange) -> list[tuple[str, list[str]]]:
    return [
        (f"{name} added", [printable(id_) for id_ in change.added]),
        (f"{name} removed", [printable(id_) for id_ in change.removed]),
        (f"{name} changed", [f"{printable(id_)} ({', '.join(fields)})" for id_, fields in change.changed.items()]),
        (f"{name} extended", [f"{printable(id_)} ({', '.join(fields)})" for id_, fields in change.extended.items()]),
        (f"{name} described differently", [printable(id_) for id_ in change.described]),
    ]


def _list(title: str, lines: list[str]) -> str:
    more = [f"and {len(lines) - _SHOWN:,} more (--json shows all)"] if len(lines) > _SHOWN else []
    return "\n  ".join([f"{title}: {len(lines):,}", *lines[:_SHOWN], *more])
