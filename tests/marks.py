"""Marks in Python code that note which lines and branches run: what coverage is measured with.

A tracer (``sys.settrace``) is called for every line and every call of all packages, and doubles the time of the tests.
Here each statement is preceded by ``__reached__[7] = 1``, which takes some nanoseconds, and what is not marked costs
nothing. A statement counts as reached when it begins, and an ``except`` or ``case`` when it is the one that fits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

NAME = "__reached__"
"""The list in which the code of a module sets its marks; two underscores on each side, or classes would mangle it."""

Lines = tuple[int, ...]
Arcs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Mark:
    """What has run where a mark is set: lines, and jumps from a line to another (below 0: out of what begins there)."""

    lines: Lines
    arcs: Arcs


@dataclass
class Marker:
    """Marks a module, and keeps the marks in the order of their numbers."""

    marks: list[Mark] = field(default_factory=list)

    def mark_module(self, tree: ast.Module) -> ast.Module:
        """Return the tree with marks in it."""
        tree.body = self._mark_body(tree.body, (-1,))
        return tree

    def _mark_body(self, body: list[ast.stmt], after: Lines) -> list[ast.stmt]:
        """Mark a body that may begin with a docstring and imports of the future, which have to stay in front."""
        front = 1 if body and _is_docstring(body[0]) else 0
        while front < len(body) and _is_future(body[front]):
            front += 1
        start = Mark(tuple(statement.lineno for statement in body[:front]), ())
        if front == len(body):
            return [*body, *(self._set(start, statement) for statement in body[-1:])]
        return [*body[:front], *self._mark_block(body[front:], after, start)]

    def _mark_block(self, block: Sequence[ast.stmt], after: Lines, start: Mark) -> list[ast.stmt]:
        """Mark each statement; the first mark also notes what has run when the block starts.

        ``after`` has the lines where it may go on after the block. Too many do no harm: impossible jumps are ignored.
        """
        marked: list[ast.stmt] = []
        for place, statement in enumerate(block):
            following = next((_begin(other) for other in block[place + 1 :] if _has_code(other)), after)
            lines = (*start.lines, *_begin(statement))
            marked.append(self._set(Mark(lines, start.arcs), statement))
            marked.append(self._mark_inside(statement, following))
            start = Mark((), ())
        return marked

    def _set(self, mark: Mark, where: ast.stmt) -> ast.stmt:
        """Return the statement that sets a mark."""
        self.marks.append(mark)
        line, column = where.lineno, where.col_offset
        at = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}
        number = ast.Constant(len(self.marks) - 1, **at)
        target = ast.Subscript(ast.Name(NAME, ast.Load(), **at), number, ast.Store(), **at)
        return ast.Assign([target], ast.Constant(1, **at), **at)

    def _mark_branch(self, block: list[ast.stmt], start: Lines, after: Lines, where: ast.stmt) -> list[ast.stmt]:
        """Mark a block to which there is a jump from the lines; without any, what comes after is jumped to."""
        if block:
            return self._mark_block(block, after, Mark((), _jump(start, _begin(block[0]))))
        return [self._set(Mark((), _jump(start, after)), where)]

    def _mark_inside(self, statement: ast.stmt, after: Lines) -> ast.stmt:
        """Mark the blocks of a statement."""
        match statement:
            case ast.If(lineno=line):
                statement.body = self._mark_branch(statement.body, (line,), after, statement)
                statement.orelse = self._mark_branch(statement.orelse, (line,), after, statement)
            case ast.For(lineno=line) | ast.AsyncFor(lineno=line) | ast.While(lineno=line):
                statement.body = self._mark_branch(statement.body, (line,), (line,), statement)
                statement.orelse = self._mark_branch(statement.orelse, (line,), after, statement)
            case ast.With(lineno=line) | ast.AsyncWith(lineno=line):
                statement.body = self._mark_block(statement.body, (line, *after), Mark((), ()))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                statement.body = self._mark_body(statement.body, tuple(-line for line in _begin(statement)))
            case ast.Try() | ast.TryStar():
                self._mark_try(statement, after)
            case ast.Match():
                self._mark_match(statement, after)
        return statement

    def _mark_try(self, statement: ast.Try | ast.TryStar, after: Lines) -> None:
        last = (*_first(statement.finalbody), *after)
        statement.body = self._mark_block(statement.body, (*_first(statement.orelse), *last), Mark((), ()))
        for handler in statement.handlers:
            handler.body = self._mark_block(handler.body, last, Mark((handler.lineno,), ()))
        statement.orelse = self._mark_block(statement.orelse, last, Mark((), ()))
        statement.finalbody = self._mark_block(statement.finalbody, after, Mark((), ()))

    def _mark_match(self, statement: ast.Match, after: Lines) -> None:
        """Each case is a line, from which there is a jump to its body or to the next one."""
        lines: Lines = ()
        for case in statement.cases:
            lines = (*lines, case.pattern.lineno)
            tried = tuple(pairwise(lines))
            start = Mark(lines, (*tried, *_jump(lines[-1:], _begin(case.body[0]))))
            case.body = self._mark_block(case.body, after, start)
        last = statement.cases[-1]
        if last.guard is not None or not _fits_all(last.pattern):
            none = Mark(lines, (*pairwise(lines), *_jump(lines[-1:], after)))
            rest = ast.copy_location(ast.MatchAs(), last.pattern)
            statement.cases.append(ast.match_case(rest, None, [self._set(none, statement)]))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _has_code(statement: ast.stmt) -> bool:
    """Whether Python makes code of a statement; an annotation in a class, where it does, is left out as well."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    return not isinstance(statement, ast.Global | ast.Nonlocal)


def _fits_all(pattern: ast.pattern) -> bool:
    while isinstance(pattern, ast.MatchOr):
        pattern = pattern.patterns[-1]
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _begin(statement: ast.stmt) -> Lines:
    """Return the line with which a statement begins, for one with decorators also that of its first decorator."""
    decorators: Iterable[ast.expr] = getattr(statement, "decorator_list", ())
    return (*(decorator.lineno for decorator in decorators), statement.lineno)


def _first(block: list[ast.stmt]) -> Lines:
    return _begin(block[0]) if block else ()


def _jump(start: Lines, targets: Lines) -> Arcs:
    return tuple((line, target) for line in start for target in targets)
