"""What is said while something is done: notes, and on a terminal one bar at a time."""

from __future__ import annotations

import sys
from typing import Any

import click

from karat.cli._table import escaped


def say(text: str) -> None:
    """Say something that is no result, on standard error."""
    click.echo(f"karat: {escaped(text)}", err=True)


class Progress:
    """Shows how far a stage is; as a context manager it leaves the cursor on a line of its own."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._stage = ""
        self._done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that so much of a stage is done; another stage begins another bar."""
        if not self._shown:
            return
        if self._bar is None or stage != self._stage:
            self._finish()
            self._bar = click.progressbar(length=total, label=f"{stage:<9}", file=sys.stderr)
            self._bar.__enter__()
            self._stage, self._done = stage, 0
        self._bar.update(done - self._done)
        self._done = done

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
