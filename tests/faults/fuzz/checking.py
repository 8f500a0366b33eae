"""What a case may do: take time in proportion to its size, and be refused with a message for people."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, ModuleType

from faults.fuzz.cases import Case
from karat.core import KaratError

SECONDS = 10.0
SECONDS_PER_BYTE = 2e-4
"""Of CPU time, more than ten times what is needed: a busy machine changes nothing."""
LONGEST = 3000
"""Characters of a line of a message: values are shortened, and a path or a list of names may be long."""


class TooSlow(BaseException):
    """A case takes too long. Not an Exception, so that nothing in karat catches it."""


def check(target: ModuleType, data: bytes) -> None:
    """Run a case of a target; fail if karat breaks a promise."""
    case = Case.decode(data)
    if case.kind in target.KINDS:
        with time_limit(len(data)), expect_karat_errors():
            target.run(case)


@contextmanager
def time_limit(size: int) -> Iterator[None]:
    """Raise TooSlow in the middle of whatever takes too long for an input of that many bytes."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"{size:,} bytes took more than {SECONDS + size * SECONDS_PER_BYTE:.1f} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS + size * SECONDS_PER_BYTE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def expect_karat_errors(longest: int = LONGEST) -> Iterator[None]:
    """Let karat refuse its input in lines that can be printed; every other exception is a finding."""
    try:
        yield
    except KaratError as error:
        check_message(error.lines, longest)


def check_message(lines: Sequence[str], longest: int) -> None:
    """Fail unless a message can be printed line by line."""
    assert lines, "an error without a message"
    for line in lines:
        assert line.strip(), "an empty line"
        assert "\n" not in line, f"a line break in {line!r}"
        assert len(line) <= longest, f"a line of {len(line):,} characters: {line[:200]!r}"
