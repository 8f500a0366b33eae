"""What may leave karat when its input is wrong: one of its own errors, with a message for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from karat.core import KaratError

LONGEST = 3000
"""Characters of a line of a message: values are shortened, and a path or a list of names may be long."""


@contextmanager
def expect_karat_errors(longest: int = LONGEST) -> Iterator[None]:
    """Let karat refuse its input in lines that can be printed; every other exception is a finding."""
    try:
        yield
    except KaratError as error:
        assert error.lines, "an error without a message"
        for line in error.lines:
            assert line.strip(), f"an empty line in {error!r}"
            assert "\n" not in line, f"a line break in {line!r}"
            assert len(line) <= longest, f"a line of {len(line):,} characters: {line[:200]!r}"
