"""Lines of a text, sorted into code, tables, headings, blanks and the rest.

The normaliser and the outline both use it, so that they never disagree about what is code. Canonical text is sorted as
the text that it was made of: the result does not depend on what the normaliser changes, which is trailing blanks, the
number of blank lines, tabs in code, blanks in tables, and words broken at a line's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

CODE_INDENT = 4
"""Columns; a tab counts as this many."""

# Possessive, like every pattern here that could be tried at each blank of a long line.
MARKER = re.compile(r"[ \t]*+(?:(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]++|$))+")
"""The bullets or numbers with which a list item begins."""

_FENCES = ("```", "~~~")
_MARKDOWN = re.compile(r"#{1,6}[ \t]+\S|```|~~~")
_NO_TSV = " \t#`~>"  # a row of tab-separated cells begins with none of these


class LineGroup(NamedTuple):
    """Lines ``start`` to ``stop``, which is excluded, that belong together."""

    kind: Literal["blank", "text", "heading", "code", "table"]
    start: int
    stop: int


def runs(lines: Sequence[str]) -> Iterator[LineGroup]:
    """Yield runs of lines of one kind, which together hold all lines.

    Code is front matter, fenced code, and indented code: four columns, after a blank line, outside of lists, and only
    in a text that has a fence or a ``#`` heading, because in other texts indented lines are seldom code. A fence that
    is never closed goes to the end, as in CommonMark. Tables have pipes and a delimiter row, or pipes at both ends of
    every row, or the same number of tabs in every row. A table whose columns are only aligned is text: the normaliser
    collapses blanks in tables, and would destroy the alignment.

    >>> [(run.kind, run.stop) for run in runs(["# Desk", "Open", "all day.", "", "|a|b|", "|-|-|", "|1|2|"])]
    [('heading', 1), ('text', 3), ('blank', 4), ('table', 7)]
    """
    scanner = _Scanner(lines)
    at = 0
    while at < len(lines):
        run = scanner.run(at)
        yield run
        at = run.stop


def indent(line: str) -> int:
    """Return the number of columns before the first character."""
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    return len(margin) + (CODE_INDENT - 1) * margin.count("\t")


def atx(line: str) -> tuple[int, str] | None:
    """Return level and title of a heading such as ``## Rooms ##``, or None if the line is not one or has no title.

    >>> atx("## Rooms ##"), atx("#hashtag"), atx("##")
    ((2, 'Rooms'), None, None)
    """
    body = line.lstrip(" ")
    if body[:1] != "#" or len(line) - len(body) >= CODE_INDENT:
        return None
    rest = body.lstrip("#")
    level, title = len(body) - len(rest), rest.strip()
    if level > 6 or rest[:1] not in (" ", "\t"):
        return None
    opened = title.rstrip("#")
    if not opened or opened[-1].isspace():
        title = opened.rstrip()
    return (level, title) if title else None


def is_rule(line: str) -> bool:
    """Return whether a line only separates the rows of a table: ``|---|---|`` or ``+---+---+``."""
    return is_delimiter(line) or _is_grid_rule(line.strip())


def is_delimiter(line: str) -> bool:
    """Return whether a line is the row between a table's head and its body, such as ``|:---|---:|``.

    >>> is_delimiter("a | b"), is_delimiter(":-- | --:"), is_delimiter("---")
    (False, True, False)
    """
    if "|" not in line or "-" not in line or line.strip("|:- \t"):
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    # Hyphens with at most one colon at either end: the characters of all cells were tested above.
    bare = [cell.strip().removeprefix(":").removesuffix(":") for cell in cells]
    return all(cell and not cell.strip("-") for cell in bare)


def _cells(line: str) -> int:
    row = line.strip().removeprefix("|")
    pipes = row.count("|") - row.count("\\|")
    return pipes + (not row.endswith("|") or row.endswith("\\|"))


def _is_boxed(line: str) -> bool:
    row = line.strip()
    return (len(row) > 1 and row[0] == "|" == row[-1]) or _is_grid_rule(row)


def _is_grid_rule(row: str) -> bool:
    return row[:1] == "+" == row[-1:] and ("-" in row or "=" in row) and not row.strip("+-=:")


def _tabs(line: str) -> int:
    """Return the number of tabs in a row of tab-separated cells, or 0 if the line looks like something else."""
    if "\t" not in line or line[0] in _NO_TSV or MARKER.match(line):
        return 0
    return line.count("\t")


def _is_plain(line: str) -> bool:
    """Return whether a line can only be text, as most are."""
    return line[0].isalpha() and "|" not in line and "\t" not in line


class _Fence(NamedTuple):
    mark: str
    length: int
    margin: int

    def closes(self, line: str) -> bool:
        body = line.strip()
        long_enough = len(body) >= self.length and not body.strip(self.mark)
        return long_enough and indent(line) < self.margin + CODE_INDENT


class _Scanner:
    """Goes through the lines once, and remembers only whether it is in a list."""

    def __init__(self, lines: Sequence[str]) -> None:
        # Stripped here, so that nothing can depend on trailing blanks.
        self.lines = [line.rstrip() for line in lines]
        self.in_list = False
        self._markdown: bool | None = None

    def run(self, at: int) -> LineGroup:
        """Return the run that begins at a line."""
        line = self.lines[at]
        if not line:
            return LineGroup("blank", at, self._skip_blank(at))
        if _is_plain(line):
            return LineGroup("text", at, self._text(at))
        if at == 0 and (stop := self._front_matter()):
            return LineGroup("code", at, stop)
        if stop := self._indented(at):
            return LineGroup("code", at, stop)
        if fence := self._fence(line):
            self.in_list = fence.margin > 0 and (self.in_list or MARKER.match(line) is not None)
            return LineGroup("code", at, self._fenced(at, fence))
        if self._is_heading(line):
            self.in_list = False
            return LineGroup("heading", at, at + 1)
        return self._table(at) or LineGroup("text", at, self._text(at))

    def _skip_blank(self, at: int) -> int:
        while at < len(self.lines) and not self.lines[at]:
            at += 1
        return at

    def _front_matter(self) -> int:
        """Return the line after the front matter, which is between ``---`` and ``---`` or ``...``; 0 without any."""
        if self.lines[0] != "---":
            return 0
        for at in range(1, len(self.lines)):
            line = self.lines[at]
            if not line:  # then the first line was a thematic break
                return 0
            if line in ("---", "..."):
                return at + 1 if at > 1 else 0
        return 0

    def _indented(self, at: int) -> int:
        lines = self.lines
        if self.in_list or lines[at][0] not in " \t" or indent(lines[at]) < CODE_INDENT:
            return 0
        if (at and lines[at - 1]) or not self._is_markdown():
            return 0
        stop = at + 1
        while (after := self._skip_blank(stop)) < len(lines) and indent(lines[after]) >= CODE_INDENT:
            stop = after + 1
        return stop

    def _is_markdown(self) -> bool:
        if self._markdown is None:
            self._markdown = any(map(_MARKDOWN.match, self.lines))
        return self._markdown

    def _fence(self, line: str) -> _Fence | None:
        """Return the fence that a line opens, or None; it may follow the marker of a list item."""
        if _FENCES[0] not in line and _FENCES[1] not in line:
            return None
        marker = MARKER.match(line)
        body = line[marker.end() :] if marker else line.lstrip(" \t")
        margin = indent(line[: len(line) - len(body)])
        if not body.startswith(_FENCES) or (margin >= CODE_INDENT and not marker and not self.in_list):
            return None
        info = body.lstrip(body[0])
        if body[0] == "`" and "`" in info:  # code within a line
            return None
        return _Fence(body[0], len(body) - len(info), margin)

    def _fenced(self, at: int, fence: _Fence) -> int:
        stop = at + 1
        for after in range(at + 1, len(self.lines)):
            if fence.closes(self.lines[after]):
                return after + 1
            if self.lines[after]:
                stop = after + 1
        return stop

    def _is_heading(self, line: str) -> bool:
        return "#" in line[:CODE_INDENT] and atx(line) is not None and not (self.in_list and line[0] == " ")

    def _table(self, at: int) -> LineGroup | None:
        lines, first = self.lines, self.lines[at]
        if not self._starts_table(at):
            return None
        tabs = _tabs(first)
        boxed, delimited = _is_boxed(first), is_delimiter(lines[at + 1])
        stop = at + 2
        while stop < len(lines):
            line = lines[stop]
            if delimited:
                row = "|" in line and not self._fence(line) and not self._is_heading(line)
            else:
                row = _is_boxed(line) if boxed else _tabs(line) == tabs
            if not row:
                break
            stop += 1
        self.in_list = self.in_list and indent(first) > 0
        return LineGroup("table", at, stop)

    def _starts_table(self, at: int) -> bool:
        """Return whether a line and the next are the first two of a table."""
        line = self.lines[at]
        if at + 1 == len(self.lines) or MARKER.match(line):
            return False
        after = self.lines[at + 1]
        if "|" in line and is_delimiter(after) and _cells(line) == _cells(after):
            return True
        if _is_boxed(line) and _is_boxed(after):
            return True
        tabs = _tabs(line)
        return tabs > 0 and tabs == _tabs(after)

    def _text(self, at: int) -> int:
        """Return the line after a paragraph or list, and remember whether a list goes on."""
        lines = self.lines
        if MARKER.match(lines[at]):
            self.in_list = True
        elif indent(lines[at]) < 2:  # what is indented may belong to the item above
            self.in_list = False
        stop = at + 1
        while stop < len(lines) and (line := lines[stop]):
            if not _is_plain(line):
                if self._interrupts(stop):
                    break
                self.in_list = self.in_list or MARKER.match(line) is not None
            stop += 1
        return stop

    def _interrupts(self, at: int) -> bool:
        line = self.lines[at]
        if self._fence(line) or self._is_heading(line):
            return True
        return ("|" in line or "\t" in line or line.lstrip()[0] == "+") and self._starts_table(at)
