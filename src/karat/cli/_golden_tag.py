"""``karat golden tag``: the version that the next release of a set should have."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped

if TYPE_CHECKING:
    from karat.core import GoldenSet

_PREFIX = "golden-dataset-v"
_TAG = re.compile(re.escape(_PREFIX) + r"(\d+)\.(\d+)\.(\d+)")


@click.command("tag", short_help="Propose the next version and git tag of a golden set.")
@click.argument("set_", metavar="SET")
@click.option("--since", metavar="PATH", help="The last release; without it the newest tag golden-dataset-v* in git.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(set_: str, since: str | None, as_json: bool) -> None:
    """Compare SET with its last release and propose a tag such as golden-dataset-v1.2.0.

    Nothing is changed: the commands that would tag it are shown.

    Example: karat golden tag examples/hotel
    """
    from karat import golden

    new = golden.read(set_)
    old, last = (golden.read(since), since) if since else _released(Path(set_))
    if old is None:
        version, bump = new.version or "1.0.0", "none"
        golden.next_version(version, "none")  # refuses what is no version
    else:
        bump = golden.diff(old, new).bump
        version = golden.next_version(old.version or "1.0.0", bump)
    tag = f"{_PREFIX}{version}"
    found = {
        "tag": tag,
        "version": version,
        "bump": bump,
        "since": last,
        "fingerprint": golden.fingerprint(new),
        "declared": new.version,
    }
    emit(json.dumps(found) if as_json else _text(found, set_))


def _text(found: dict[str, str | None], path: str) -> str:
    since = f"since {escaped(found['since'])}: {found['bump']}" if found["since"] else "first release"
    lines = [f"{found['tag']} ({since})", f"fingerprint {found['fingerprint']}"]
    if found["since"] and found["bump"] == "none":
        return "\n".join([*lines, "nothing changed; no new tag is needed"])
    if found["declared"] != found["version"]:
        lines.append(f'set version = "{found["version"]}" in golden.toml, and commit it')
    return "\n".join([*lines, f"git -C {shlex.quote(path)} tag {found['tag']}"])


def _released(folder: Path) -> tuple[GoldenSet | None, str | None]:
    """Read the set as it was at its newest tag, if it is in git and has one."""
    from karat import golden

    where = folder if folder.is_dir() else folder.parent
    listed = _git(where, "tag", "--list", f"{_PREFIX}*")
    tags = [found for line in (listed or b"").decode().split() if (found := _TAG.fullmatch(line))]
    if not tags:
        return None, None
    newest = max(tags, key=lambda found: tuple(map(int, found.groups())))[0]
    archive = _git(where, "archive", "--format=tar", newest, ".")
    if archive is None:
        return None, None  # the set is younger than the tag
    with tempfile.TemporaryDirectory(prefix="karat-") as temporary:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(temporary, filter="data")
        return golden.read(Path(temporary) / ("" if folder.is_dir() else folder.name)), newest


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Ask git, or give None where it has no answer."""
    try:
        asked = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)  # noqa: S603, S607
    except OSError:  # git is not installed
        return None
    return asked.stdout if asked.returncode == 0 else None
