"""The files that a verb writes because an option names them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.core import GoldenSet

STDOUT = ("-", "/dev/stdout")
"""Names of standard output, on which nothing else is printed then."""


def write_output(path: str, text: str, option: str = "--output", *, private: bool = False) -> None:
    """Write a file whole or not at all. A path that the verb has read, or would read again, is refused.

    A new file that is ``private`` is readable by its owner only.
    """
    from karat.files import refuse_input, write_file

    refuse_input(path, option)
    write_file(path, text, private=private)


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

    refuse_input(path, option, folder=True)
    return sets.write(golden, path, format)


def make_parents(path: str) -> None:
    """Make the folders above a file."""
    from karat.core import InputError

    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=path) from None
