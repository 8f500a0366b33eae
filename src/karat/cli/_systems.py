"""``karat systems``: the kinds of systems that karat.toml can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, render
from karat.cli._verbs import HintingGroup

if TYPE_CHECKING:
    from karat.schema import SystemKind


@click.group("systems", cls=HintingGroup)
def command() -> None:
    """The vector stores, search engines and retrievers that [system] in karat.toml can name.

    Example: karat systems list
    """


@command.command("list", short_help="List the kinds of systems, and what is installed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the kinds of systems, and how to install what is missing.

    Example: karat systems list
    """
    from karat.schema import to_json
    from karat.systems.adapters import list_systems

    listing = list_systems()
    if as_json:
        emit(to_json(listing))
        return
    rows = [["kind", "system", "installed"]]
    rows += [[system.kind, system.summary, _installed(system)] for system in listing.systems]
    emit(render(rows, left=3))
    missing = [system for system in listing.systems if system.install]
    if missing:
        emit("\nTo install what one of the others needs:")
        emit(render([[system.kind, system.install] for system in missing], left=2))


def _installed(system: SystemKind) -> str:
    if not system.versions:
        return "yes"
    if not system.installed:
        return "no"
    return ", ".join(f"{package} {version}" for package, version in system.versions.items())
