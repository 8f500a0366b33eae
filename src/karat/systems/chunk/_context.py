"""The line of context before the body of a chunk, so that a part is found by the name of the whole."""

from __future__ import annotations

import re
from functools import cached_property

from karat.systems.chunk._measured import Measured
from karat.systems.chunk._options import Context
from karat.systems.chunk._tokens import token_starts
from karat.text import canonical

_HASHES = re.compile(r"#{0,6}[ \t]*+")
_LONGEST = 300  # characters of a title or heading: a text of a single long line may be a heading


class Titles:
    """The lines of context for the chunks of a text, each of at most ``limit`` tokens."""

    def __init__(self, measured: Measured, context: Context, limit: int | None) -> None:
        self.measured = measured
        self.context = context
        self.limit = limit
        self.title = "" if context == "none" else _one_line(canonical(measured.document.title))
        self._paths: dict[str, tuple[str, ...]] = {"": ()}
        self._short: dict[str, str] = {"": ""}

    @cached_property
    def cost(self) -> int:
        """The largest number of tokens in the line of any chunk."""
        lines = {self._line(self.title, ())}
        if self.context == "headings":
            lines |= {self._line(self.title, self._path(section.id)) for section in self.measured.outline.sections}
        most = max((len(self._starts(line)) for line in lines if line), default=0)
        return most if self.limit is None else min(most, self.limit)

    def before(self, start: int) -> str:
        """Return the line for a chunk that begins at a character; empty without context."""
        if self.context == "none":
            return ""
        title = "" if self._opens_with_title(start) else self.title
        return self.shorten(self._line(title, self._above(start) if self.context == "headings" else ()))

    def shorten(self, line: str) -> str:
        """Return a line cut to the limit."""
        if self.limit is None:
            return line
        if line not in self._short:
            starts = self._starts(line)
            self._short[line] = line[: starts[self.limit]].rstrip() if len(starts) > self.limit else line
        return self._short[line]

    def _starts(self, line: str) -> list[int]:
        return token_starts(f"{line}\n", self.measured.tokens)  # the end of a line may be a token, too

    def _line(self, title: str, path: tuple[str, ...]) -> str:
        if path and path[0].casefold() == title.casefold():
            title = ""
        return " > ".join((title, *path) if title else path)

    def _opens_with_title(self, start: int) -> bool:
        text, title = self.measured.text, self.title
        hashes = _HASHES.match(text, start)
        at = hashes.end() if hashes else start
        after = at + len(title)
        return bool(title) and text.startswith(title, at) and text[after : after + 1] in ("", "\n")

    def _above(self, start: int) -> tuple[str, ...]:
        """Return the headings above a character, without a heading that begins there."""
        at = self.measured.offsets.byte(start)
        section = self.measured.outline.section_of(at)
        return self._path(section.parent if at <= section.heading.start else section.id)

    def _path(self, id: str) -> tuple[str, ...]:
        if id not in self._paths:
            section = self.measured.outline.section(id)
            own = (_one_line(section.title),) if section.title else ()
            self._paths[id] = (*self._path(section.parent), *own)
        return self._paths[id]


def _one_line(title: str) -> str:
    return " ".join(title.split())[:_LONGEST].rstrip()
