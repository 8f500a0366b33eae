"""Measures which lines and branches of karat run, in the processes of the tests and in those that they start.

The variable ``KARAT_REACHED`` names a folder, in which each process leaves what it reached. This is a plugin of pytest
that has to come before all that imports karat: see plugins.py. ``python measuring.py FOLDER`` writes
what all of them reached to the file of coverage.py, which reports it.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import sys
from importlib.abc import FileLoader, SourceLoader
from importlib.machinery import FileFinder
from importlib.util import cache_from_source
from itertools import chain, compress
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, NamedTuple

import marks

if TYPE_CHECKING:
    from coverage import CoverageData

SOURCE = str(Path(__file__).resolve().parents[1] / "src") + "/"
_VERSION = b"".join(hashlib.sha256(Path(file).read_bytes()).digest() for file in (__file__, marks.__file__))
_folder = os.environ.get("KARAT_REACHED") or None
_reached: dict[str, list[int]] = {}


class _Loader(FileLoader, SourceLoader):
    """Runs a module with marks in it. It is none of those loaders in whose place pytest puts its own."""

    def exec_module(self, module: ModuleType) -> None:
        marked = load_marked(self.path)
        module.__dict__[marks.NAME] = _reached.setdefault(self.path, [0] * marked.count)
        exec(marked.code, module.__dict__)


def _find_karat(folder: str) -> FileFinder:
    """Return what finds the modules in a folder of karat's."""
    if not f"{folder}/".startswith(SOURCE):
        raise ImportError
    return FileFinder(folder, (_Loader, [".py"]))


class Marked(NamedTuple):
    """The code of a module with marks, and for each mark the lines and jumps that it notes, packed by marshal."""

    code: CodeType
    count: int
    notes: bytes


def load_marked(path: str) -> Marked:
    """Return a module with marks; it is kept where Python keeps byte code."""
    source = Path(path).read_bytes()
    key = hashlib.sha256(_VERSION + source).digest()
    kept = find_kept(path)
    try:
        old, *fields = marshal.loads(kept.read_bytes())
        if old == key:
            return Marked(*fields)
    except (OSError, EOFError, ValueError, TypeError):
        pass  # there is none, or it is damaged
    marker = marks.Marker()
    code = compile(marker.mark_module(ast.parse(source)), path, "exec", dont_inherit=True)
    notes = marshal.dumps([(mark.lines, mark.arcs) for mark in marker.marks])
    marked = Marked(code, len(marker.marks), notes)
    if not sys.dont_write_bytecode:
        kept.parent.mkdir(exist_ok=True)
        new = kept.with_name(f"{kept.name}.{os.getpid()}")
        new.write_bytes(marshal.dumps((key, *marked)))
        new.replace(kept)
    return marked


def find_kept(path: str | Path) -> Path:
    """Return where a module with marks is kept."""
    return Path(cache_from_source(path)).with_suffix(".marked")


def is_on() -> bool:
    """Whether what this process and its workers import is marked."""
    return _folder is not None


def start() -> None:
    """Mark what is imported from now on."""
    sys.path_hooks.insert(0, _find_karat)
    sys.path_importer_cache.clear()


def save() -> None:
    """Leave what this process reached since the last time in a file of its own, if the environment asked for it."""
    if _folder is None:
        return
    reached = {path: bytes(hits) for path, hits in _reached.items() if any(hits)}
    for hits in _reached.values():
        hits[:] = [0] * len(hits)
    number = 0
    while (file := Path(_folder, f"{os.getpid()}-{number}")).exists():
        number += 1
    file.write_bytes(marshal.dumps(reached))


def read(folder: str) -> dict[str, bytes]:
    """Return the marks of each file that any process has set."""
    total: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for file in Path(folder).iterdir():
        for path, hits in marshal.loads(file.read_bytes()).items():
            lengths[path] = len(hits)
            total[path] = total.get(path, 0) | int.from_bytes(hits)
    return {path: hits.to_bytes(lengths[path]) for path, hits in total.items()}


def add_reached(data: CoverageData, path: str, hits: bytes) -> None:
    """Add what marks of a file note to the data of coverage.py, to which a line is reached if a jump leads to it."""
    reached = list(compress(marshal.loads(load_marked(path).notes), hits))
    lines = set(chain.from_iterable(lines for lines, _ in reached))
    arcs = chain.from_iterable(arcs for _, arcs in reached)
    data.add_arcs({path: {*((-1, line) for line in lines), *(arc for arc in arcs if arc[1] < 0 or arc[1] in lines)}})


def write_data(folder: str) -> None:
    """Write what all processes reached to the file of coverage.py."""
    from coverage import Coverage

    data = Coverage().get_data()
    data.erase()
    for path, hits in read(folder).items():
        add_reached(data, path, hits)
    data.touch_files(map(str, Path(SOURCE).rglob("*.py")))
    data.write()


def pytest_sessionfinish() -> None:
    """Save what the process reached; karat's modules stay marked."""
    save()


if __name__ == "__main__":
    write_data(sys.argv[1])
elif _folder is not None:
    start()
