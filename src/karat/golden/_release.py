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
from karat.files import GitRepository, read_stream
from karat.golden._diff import Bump, diff, next_version
from karat.golden._fingerprint import fingerprint
from karat.golden._source import open_set

if TYPE_CHECKING:
    from karat.schema import GoldenTag

_PREFIX = "golden-dataset-v"
_TAG = re.compile(re.escape(_PREFIX) + r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


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
    repository, tags = _read_tags(folder)
    versions = [match for name in tags if (match := _TAG.fullmatch(name))]
    if repository is None or not versions:
        return None, None
    newest = max(versions, key=lambda match: tuple(map(int, match.groups())))[0]
    archive = _archive(repository, folder, tags[newest])
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


def _read_tags(folder: Path) -> tuple[GitRepository | None, dict[str, str]]:
    """Return the repository of a folder, and its tags with their hashes; none where it cannot be read."""
    try:
        repository = GitRepository.find(folder)
        if repository is None:
            return None, {}
        if (repository.shared / "reftable").exists():
            hint = "name the last release with --since"
            raise InputError("keeps its tags as a reftable, which karat does not read", source=str(folder), hint=hint)
        return repository, repository.read_tags()
    except (OSError, ValueError, RuntimeError):
        return None, {}


def _archive(repository: GitRepository, folder: Path, commit: str) -> bytes | None:
    """Return a folder of a commit as a tar archive, up to the limit of what karat reads; None where git has none.

    Filters, which may be any program, are not run: a file that Git LFS keeps is in the archive as its pointer.
    """
    program = repository.find_program()
    if program is None:
        return None
    with (
        repository.isolate(commit) as variables,
        subprocess.Popen(  # noqa: S603 (a fixed command, and no shell)
            [program, "--no-pager", "archive", "--format=tar", commit, "."],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            output = read_stream(process.stdout, f"git archive of {folder}", unpacked=True)
        except BaseException:
            process.kill()
            raise
    return output if process.returncode == 0 else None
