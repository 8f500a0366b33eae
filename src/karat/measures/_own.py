"""Measures of a module of one's own, named as ``my_measures:Miss@5``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import ModuleType

from karat.core import MEASURES, Definition, KaratError, MeasureError, did_you_mean
from karat.files import shorten_path

_KARAT = Path(__file__).parents[1]
_OWN = re.compile(r"\s*(?P<module>[A-Za-z_][A-Za-z0-9_.]*):(?P<name>[A-Za-z0-9_]+)(?P<rest>.*)", re.DOTALL)


def load_measures(measures: Iterable[str], *folders: Path) -> tuple[str, ...]:
    """Return measures without the names of modules, which are imported: ``my_measures:Miss@5`` becomes ``Miss@5``.

    The name after the colon is that of a measure or of its function. A module may be in one of the folders. Only call
    this with what the user wrote, since importing a module runs its code.
    """
    return tuple(_load(measure, folders) for measure in measures)


def _load(text: str, folders: tuple[Path, ...]) -> str:
    match = _OWN.fullmatch(text)
    if match is None:
        return text
    with _look_in(folders):
        module = _import(match["module"], text)
    return f"{_find(module, match['name'], text).name}{match['rest']}"


@contextmanager
def _look_in(folders: tuple[Path, ...]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = dict.fromkeys(str(folder.resolve()) for folder in folders)
    try:
        yield
    finally:
        sys.path[:] = before


def _import(name: str, text: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.split(".")[0], name.removesuffix(".py")):
            raise MeasureError(f"measure {text}: {name} imports {error.name}, which is not installed") from None
        hint = f"write {name.removesuffix('.py')}, without .py" if name.endswith(".py") else "is it installed, or here?"
        raise MeasureError(f"measure {text}: there is no module {name}; {hint}") from None
    except KaratError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise MeasureError(f"measure {text}: {name} cannot be imported: {describe_exception(error)}") from error


def describe_exception(error: Exception, file: str = "") -> str:
    """Return what the user's code raised, and on which line; that of a file, if one is named and it ran."""
    last = _find_line(error, file)
    where = "" if isinstance(error, SyntaxError) else f" ({shorten_path(Path(last.filename))}, line {last.lineno})"
    return f"{type(error).__name__}: {' '.join(str(error).split())}{where}"


def _find_line(error: Exception, file: str) -> FrameSummary:
    """Return the last line that ran in the user's code: what it called of karat says nothing about it."""
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_KARAT)]
    named = [frame for frame in own if frame.filename == file]
    return (named or own or frames)[-1]


def _find(module: ModuleType, name: str, text: str) -> Definition:
    """Return the measure that a module has under a name: the measure's own, an alias, or that of its function."""
    own = {d.name: d for d in MEASURES if not d.kernel.__module__.startswith("karat.")}
    function = getattr(module, name, None)
    for definition in own.values():
        names = {word.lower() for word in (definition.name, *definition.aliases)}
        if definition.kernel is function or name.lower() in names:
            return definition
    if inspect.isfunction(function) and not function.__module__.startswith("karat."):
        raise MeasureError(f"measure {text}: {name} is a function, but no measure; write @measure(...) above it")
    near = did_you_mean(name, own) or (
        f"; it has {', '.join(sorted(own))}" if own else "; write one with @measure(...)"
    )
    raise MeasureError(f"measure {text}: {module.__name__} has no measure {name!r}{near}")
