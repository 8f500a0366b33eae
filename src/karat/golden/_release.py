"""The version and git tag that the next release of a golden set should have."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from karat.config import read_config
from karat.core import GoldenSet, InputError, UsageError
from karat.files import read_stream
from karat.golden._diff import Bump, diff, next_version
from karat.golden._fingerprint import fingerprint
from karat.golden._source import open_set

if TYPE_CHECKING:
    from karat.schema import GoldenTag

_PREFIX = "golden-dataset-v"
_TAG = re.compile(re.escape(_PREFIX) + r"(\d+)\.(\d+)\.(\d+)")


def propose_tag(path: str | Path, *, since: str | Path | None = None) -> GoldenTag:
    """Compare a set, or that of a project, with its last release, and return the tag that the next one should have.

    The last release is ``since``, or the newest tag ``golden-dataset-v*`` of the set's git repository. Without either
    it is the first release. Nothing is changed.
    """
    from karat.schema import GoldenTag

    golden = open_set(path)
    released, name = (open_set(since), str(since)) if since else _newest_release(Path(path))
    bump: Bump = "none"
    if released is None:
        version = next_version(golden.version or "1.0.0", "none")  # refuses a version unlike 1.2.0
    else:
        bump = diff(released, golden).bump
        version = next_version(released.version or "1.0.0", bump)
    return GoldenTag(
        tag=f"{_PREFIX}{version}",
        version=version,
        bump=bump,
        since=name,
        fingerprint=fingerprint(golden),
        declared=golden.version,
    )


def _newest_release(path: Path) -> tuple[GoldenSet | None, str | None]:
    """Read the set as it was at its newest tag, if it is in git and has one."""
    folder = path if path.is_dir() else path.parent
    listed = _git(folder, "tag", "--list", f"{_PREFIX}*")
    tags = [match for line in (listed or b"").decode().split() if (match := _TAG.fullmatch(line))]
    if not tags:
        return None, None
    newest = max(tags, key=lambda match: tuple(map(int, match.groups())))[0]
    archive = _git(folder, "archive", "--format=tar", newest, ".")
    if archive is None:
        return None, None  # the set is younger than the tag
    _check_inside(path)
    with tempfile.TemporaryDirectory(prefix="karat-") as temporary:
        _unpack(archive, temporary, newest)
        return open_set(Path(temporary) / ("" if path.is_dir() else path.name)), newest


def _unpack(archive: bytes, folder: str, name: str) -> None:
    """Unpack an archive into a folder; a link that leads out of it is an error, and so is a damaged archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, ValueError) as error:
        hint = "name the last release with --since"
        raise InputError(f"cannot be unpacked: {error}", source=name, hint=hint) from None


def _check_inside(path: Path) -> None:
    """Refuse a project whose set or documents are outside its folder: git's archive of the folder lacks them."""
    config = read_config(path)
    root = config.folder.resolve()
    for part in (config.golden, config.documents):
        if part is not None and not part.resolve().is_relative_to(root):
            raise UsageError(f"{part} is outside {path}, so git cannot show its last release; name it with --since")


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git prints, up to the limit of what karat reads, or None where it fails or is not installed."""
    try:
        command = ["git", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603
    except OSError:
        return None
    with process:
        assert process.stdout is not None
        try:
            output = read_stream(process.stdout, f"git {arguments[0]} of {folder}", unpacked=True)
        except BaseException:
            process.kill()
            raise
    return output if process.returncode == 0 else None
