"""What marks note is what a tracer sees: coverage.py runs the same code beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import pytest
from coverage import Coverage

import measuring

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = dedent('''\
    """Docstring."""

    from __future__ import annotations

    import asyncio
    import contextlib
    import functools


    class Odd(Exception):
        """Docstring."""

        kind: str
        size = 3

        @property
        def half(self):
            """Docstring."""
            return self.size / 2


    @functools.cache
    @functools.wraps(len)
    def decorated(value):
        if value > 2:
            return value
        nothing: int
        return -value


    def choose(value):
        if value == 0:
            value = -1
        global CHOSEN
        CHOSEN = value
        if value == 1:
            found = "one"
        elif value == 2:
            found = "two"
        elif (
            value == 3
            or value == 4
        ):
            found = "more"
        else:
            pass
        for item in range(value):
            if item == 3:
                break
            if item == 1:
                continue
            found = item
        else:
            found = "all"
        while value > 3:
            value -= 1
            if value == 4:
                return found
        if value:
            found = lambda: (
                1 if value else
                2
            )
        return [
            item
            for item in range(value)
            if item
        ]


    def attempt(value):
        with contextlib.suppress(KeyError):
            if value == 1:
                raise KeyError
            for _ in range(value):
                value += 1
        try:
            if value == 2:
                raise Odd
            value += 1
        except (KeyError, ValueError):  # never fits
            value = 0
        except Odd as odd:
            if odd.half:
                value = 5
        else:
            if value > 3:
                value = 2
        finally:
            value += 1
        try:
            return value
        finally:
            if value:
                value = 7


    def match(value):
        match value:
            case 1 | 2:
                found = 1
            case [first, *_] if first:
                found = first
            case str():
                return 3
        match value:
            case 3:
                return found
            case _:
                pass
        return 1


    async def stream(count):
        for number in range(count):
            yield number


    async def wait(count):
        async for number in stream(count):
            if number:
                break
        else:
            return None
        async with contextlib.AsyncExitStack():
            return number


    def unused():
        return 1

    if __name__ == "__main__":
        unused()
''')


CALLS = [
    ["None"],
    ["decorated(1)", "Odd().half"],
    ["decorated(3)", "decorated(2)"],
    *([f"choose({value})"] for value in range(7)),
    *([f"attempt({value})"] for value in range(4)),
    *([f"match({value})"] for value in (1, 3, 4, "[5]", "[0, 1]", "'text'")),
    *([f"asyncio.run(wait({value}))"] for value in range(3)),
    ["choose(0)", "choose(3)", "choose(5)", "attempt(0)", "attempt(1)", "match(2)"],
]


def run(code: CodeType, calls: list[str], space: dict[str, Any]) -> None:
    """Run the program, and then the calls; some raise an error."""
    exec(code, space)
    for call in calls:
        with suppress(UnboundLocalError):
            eval(call, space)


def report(coverage: Coverage, path: Path) -> tuple[set[int], dict[int, tuple[int, int]]]:
    """Return the lines that are missing, and how many branches each line has and how many of them were taken."""
    analysis = coverage._analyze(str(path))  # that of the report; its public functions parse the program once each
    return set(analysis.missing), analysis.branch_stats()


@pytest.mark.parametrize("calls", CALLS, ids=" ".join)
def test_marks_note_what_a_tracer_sees(calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All kinds of statements, taken one way or another: the same lines and branches, but for ``except`` lines.

    To a tracer such a line is reached if it is tried, to marks if it fits.
    """
    monkeypatch.setattr("coverage.collector.short_stack", str)  # only for debugging, and it looks into every module
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    traced, marked = (Coverage(data_file=None, branch=True, config_file=False) for _ in range(2))
    with traced.collect():
        run(compile(PROGRAM, str(path), "exec", dont_inherit=True), calls, {"__name__": "program"})
    program = measuring.load_marked(str(path))
    hits = [0] * program.count
    run(program.code, calls, {"__name__": "program", "__reached__": hits})
    measuring.add_reached(marked.get_data(), str(path), bytes(hits))
    (missing, branches), (ours, our_branches) = report(traced, path), report(marked, path)
    never = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if "never fits" in line}
    assert (ours - never, our_branches) == (missing - never, branches)
    assert never <= ours
    assert branches


def test_marked_code_is_kept_until_the_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again, made anew if the source is another or the file is damaged, and has the lines of the source."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "program.py"
    path.write_text("x = 1\n")
    assert measuring.load_marked(str(path)).count == 1
    (kept,) = (tmp_path / "__pycache__").iterdir()
    assert kept.suffix == ".marked"
    before = kept.stat().st_ino
    measuring.load_marked(str(path))
    assert kept.stat().st_ino == before
    path.write_text("x = 1\nif x:\n    y = 2\n")
    marked = measuring.load_marked(str(path))
    assert (marked.count, marked.code.co_filename) == (4, str(path))
    kept.write_bytes(b"damaged")
    assert measuring.load_marked(str(path)) == marked


def test_a_process_leaves_what_it_reached(tmp_path: Path) -> None:
    """Modules of karat are marked when they are imported, and a fork leaves only what it reached itself."""
    program = (
        "import measuring, os\nfrom karat.core import did_you_mean\nmeasuring.save()\n"
        "if os.fork() == 0:\n    did_you_mean('ab', ['abc'])\n    measuring.save()\n    os._exit(0)\nos.wait()"
    )
    variables = {"KARAT_REACHED": str(tmp_path), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"}
    subprocess.run([sys.executable, "-c", program], env=os.environ | variables, check=True, timeout=600)
    _, second = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    errors = str(ROOT / "src" / "karat" / "core" / "_errors.py")
    both = measuring.read(str(tmp_path))
    second.unlink()
    imported = measuring.read(str(tmp_path))
    assert both.keys() == imported.keys() > {errors}
    assert {path for path in both if both[path] != imported[path]} == {errors}
