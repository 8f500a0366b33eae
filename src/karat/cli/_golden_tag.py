"""``karat golden tag``: the version that the next release of a set should have."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped

if TYPE_CHECKING:
    from karat.schema import GoldenTag


@click.command("tag", short_help="Propose the next version and git tag of a golden set.")
@click.argument("set_", metavar="SET")
@click.option("--since", metavar="PATH", help="The last release; by default the newest tag golden-dataset-v* in git.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(set_: str, since: str | None, as_json: bool) -> None:
    """Compare SET with its last release and propose a tag such as golden-dataset-v1.2.0.

    SET may be a project. karat changes nothing; it shows the commands that would tag the set.

    Example: karat golden tag examples/hotel
    """
    from karat.golden import propose_tag
    from karat.schema import to_json

    document = propose_tag(set_, since=since)
    emit(to_json(document) if as_json else _text(document, set_))


def _text(tag: GoldenTag, path: str) -> str:
    since = f"since {escaped(tag.since)}: {tag.bump}" if tag.since else "first release"
    lines = [f"{tag.tag} ({since})", f"fingerprint {tag.fingerprint}"]
    if tag.since and tag.bump == "none":
        return "\n".join([*lines, "nothing changed; no new tag is needed"])
    if tag.declared != tag.version:
        lines.append(f'set version = "{tag.version}" in golden.toml, and commit it')
    return "\n".join([*lines, f"git -C {shlex.quote(path)} tag {tag.tag}"])
