"""Compiles karat and its tests before the workers of xdist start: in a new clone, each of them would compile all."""

from __future__ import annotations

import compileall
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.assertion import rewrite

import measuring

ROOT = Path(__file__).resolve().parents[1]
Task = Callable[[], object]


def find_tasks(config: pytest.Config) -> Iterator[Task]:
    """Yield what compiles each file that has not been compiled since it was written."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        if not measuring.is_on():
            yield partial(compileall.compile_file, path, quiet=2)
        elif _is_newer(path, measuring.find_kept(path)):
            yield partial(_mark, path)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if path.name.startswith("test_") and _is_newer(path, kept):
            yield partial(_rewrite, path, kept, config)


def _is_newer(path: Path, kept: Path) -> bool:
    """Whether a file is newer than what is kept of it; workers look at its contents, too, and see what this misses."""
    return not kept.exists() or kept.stat().st_mtime < path.stat().st_mtime


def _mark(path: Path) -> None:
    """Compile a module with marks, and keep its constants, which Hypothesis reads from all modules before it draws."""
    from hypothesis.internal.constants_ast import constants_from_module

    measuring.load_marked(str(path))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    constants_from_module(module)


def _rewrite(path: Path, kept: Path, config: pytest.Config) -> None:
    """Rewrite the asserts of a test, as pytest does when it imports it."""
    digest, code = rewrite._rewrite_test(path, config)
    kept.parent.mkdir(exist_ok=True)
    rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, kept)


def run_all(tasks: Sequence[Task], processes: int) -> None:
    """Run tasks in some processes; a mistake in a test is left to the workers, which say where it is."""
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            try:
                for task in tasks[number::processes]:
                    with suppress(SyntaxError, OSError):  # or a folder that cannot be written to
                        task()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[object]) -> None:
    """Compile what is new, a part in each of as many processes as there will be workers."""
    run_all(list(find_tasks(config)), len(specs))
