"""Runs the Python blocks of a page, which standard input has as JSON, one after the other in one namespace.

What begins with ``>>>`` runs as doctests, all else as code, and then the doctests of the functions in it.
"""

from __future__ import annotations

import doctest
import json
import sys
import types
from typing import Any


def run(blocks: list[tuple[int, str]]) -> bool:
    """Run blocks, each with the line that it begins at; return whether all doctests passed, and there was one."""
    names: dict[str, Any] = {"__name__": "page"}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for line, block in blocks:
        tests = [block]
        if not block.startswith(">>>"):
            exec(compile("\n" * line + block, "page", "exec", dont_inherit=True), names)
            tests = [value.__doc__ or "" for value in names.values() if isinstance(value, types.FunctionType)]
        for text in tests:
            test = parser.get_doctest(text, {}, "page", "page", line)
            test.globs = names
            runner.run(test, clear_globs=False)
    return runner.tries > 0 and runner.failures == 0


if __name__ == "__main__":
    sys.path.insert(0, "src")
    sys.exit(not run(json.load(sys.stdin)))
