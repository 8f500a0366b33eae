"""The files that a verb writes because an option names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from karat.cli._table import emit_data

if TYPE_CHECKING:
    from karat.core import GoldenSet

STDOUT = ("-", "/dev/stdout")
"""Names of standard output, on which nothing else is printed then."""


def write_output(path: str, text: str, option: str = "--output", *, private: bool = False) -> None:
    """Write a file whole or not at all. A path that the verb has read, or would read again, is refused.

    A new file that is ``private`` is readable by its owner only.
    """
    from karat.core import UsageError
    from karat.files import refuse_input, write_file

    if path in STDOUT:
        raise UsageError(f"{option} {path}: standard output has the report; name a file")
    refuse_input(path, option)
    write_file(path, text, private=private)


@contextmanager
def take_output(path: str, *, as_json: bool = False) -> Iterator[Path]:
    """Yield the file that a verb is to write; what it writes for standard output is printed when it is complete."""
    if path not in STDOUT:
        yield Path(path)
        return
    from karat.core import UsageError
    from karat.files import read_bytes

    if as_json:
        raise UsageError("--json prints what was done; name a file with --output")
    with TemporaryDirectory(prefix="karat-") as folder:
        place = Path(folder, "output.jsonl")
        yield place
        emit_data(read_bytes(place).decode())


def refuse_stdout(path: str | None, option: str = "--output") -> None:
    """Refuse standard output in the place of a folder."""
    from karat.core import UsageError

    if path in STDOUT:
        raise UsageError(f"{option} {path}: this verb writes a folder; name one")


def refuse_log(store: str, path: str | None, option: str) -> None:
    """Refuse a path that belongs to a log, before anything of the log is changed."""
    from karat.store import is_address

    if not path or is_address(store) or not Path(store).exists():
        return
    from karat.core import KaratError
    from karat.files import refuse_input
    from karat.online import read_log

    with suppress(KaratError):  # the verb itself says what is wrong with the log
        read_log(store).close()  # notes what it reads
    refuse_input(path, option)


def write_set(
    golden: GoldenSet, path: str, format: str = "karat", *, option: str = "the destination"
) -> tuple[str, ...]:
    """Write a golden set, and return notes on what the format cannot hold. A place that the verb reads is refused."""
    from karat import golden as sets
    from karat.files import refuse_input

    refuse_stdout(path, option)
    refuse_input(path, option, folder=True)
    return sets.write(golden, path, format)


def make_parents(path: str) -> None:
    """Make the folders above a file."""
    from karat.core import InputError

    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=path) from None
