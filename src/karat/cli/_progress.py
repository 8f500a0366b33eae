"""Messages and progress on standard error, beside the results on standard output."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from karat.cli._table import escaped, tell
from karat.core import InputError

_VARIABLE = "KARAT_PROGRESS"
_PAUSE = 0.25  # seconds between two writes


def say(text: str) -> None:
    """Print a message on standard error."""
    tell(f"karat: {escaped(text)}")


def end_incomplete(left_out: Sequence[str]) -> None:
    """Raise an error that says what was left out of what was printed, if anything was: the exit code says it, too."""
    for problem in left_out[:-1]:
        say(problem)
    if left_out:
        raise InputError(left_out[-1])


class Progress:
    """Shows a bar for the stage that is under way, on a terminal only; as a context manager it ends the last bar."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._stage = ""
        self._done = 0
        self._file = os.environ.get(_VARIABLE, "")
        self._written = ("", -math.inf)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Show how much of a stage is done, with a note such as its cost; another stage begins another bar."""
        if self._file:
            self._write(stage, done, total)
        if not self._shown:
            return
        if self._bar is None or stage != self._stage:
            self._finish()
            self._bar = click.progressbar(length=total, label=f"{stage:<9}", file=sys.stderr)
            self._bar.__enter__()
            self._stage, self._done = stage, 0
        if note:
            self._bar.label = f"{stage:<9} {note}"
        self._bar.update(done - self._done)
        self._done = done

    def say(self, text: str) -> None:
        """Print a message on a line of its own; a bar that is shown ends before it."""
        self._finish()
        say(text)

    def _write(self, stage: str, done: int, total: int) -> None:
        """Write how far a stage is to the file that a page watches, a few times a second."""
        now = time.monotonic()
        if done < total and stage == self._written[0] and now - self._written[1] < _PAUSE:
            return
        from karat.work import write_progress

        self._written = stage, now
        write_progress(self._file, stage, done, total)

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
