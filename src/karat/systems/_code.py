"""The code of a user's system: its module, and what that imports from the user's own files, directly or not.

Installed packages and the standard library are left out. Imports are read from the source, so that one inside of a
function counts before it happens. Unknown remain modules whose names are made at run time, and data files.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from karat.core import InputError
from karat.files import read_bytes

_MOST = 1000  # files that are read
_LARGEST = 5_000_000  # bytes of a file whose imports are read
_IMPORTERS = ("import_module", "__import__")
_KARAT = Path(__file__).resolve().parents[1]


def hash_code(modules: Iterable[str], owner: object = None) -> str:
    """Return the hash of the source of some modules and of all that they import from the user's files.

    ``owner`` is a function or class whose file counts even if its module cannot be found. The hash is "" if there is no
    source: built in, installed, or typed into a shell.
    """
    files = dict(_walk(modules))
    path = _source_of(owner)
    if path is not None and path not in files.values():
        files |= dict(_walk([], {getattr(owner, "__module__", "") or path.stem: path}))
    sources = {name: data for name, path in files.items() if (data := _read(path))}
    if len(sources) < 2:
        digest = hashlib.sha256(*sources.values())
    else:
        digest = hashlib.sha256()
        for name, data in sorted(sources.items()):
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}" if sources else ""


def _source_of(owner: object) -> Path | None:
    try:
        file = inspect.getsourcefile(owner)  # type: ignore[arg-type]
    except (TypeError, OSError):  # built in, or typed into a shell
        return None
    path = Path(file) if file else None
    return path if path is not None and path.is_file() and _is_own(path) else None


def _walk(modules: Iterable[str], files: dict[str, Path] | None = None) -> Iterator[tuple[str, Path]]:
    """Yield the names and files of modules and of what they import, each once, as long as they are the user's own."""
    queue: deque[tuple[str, Path | None]] = deque((name, None) for name in modules if name)
    queue.extend((files or {}).items())
    seen: set[str] = set()
    while queue and len(seen) < _MOST:
        name, path = queue.popleft()
        if name in seen:
            continue
        path = path or _find(name)
        if path is None:
            continue
        seen.add(name)
        yield name, path
        is_package = path.name == "__init__.py"
        for imported in _list_imports(_read(path), name if is_package else name.rpartition(".")[0]):
            queue.extend((part, None) for part in _with_parents(imported) if part not in seen)


def _with_parents(name: str) -> Iterator[str]:
    """Yield the packages that a module is in, which are imported before it, and the module.

    >>> list(_with_parents("search.words.split"))
    ['search', 'search.words', 'search.words.split']
    """
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


@lru_cache(maxsize=_MOST)
def _list_imports(data: bytes, package: str) -> tuple[str, ...]:
    """Return the absolute names that a source imports; a name that is not a module is not found later."""
    return tuple(dict.fromkeys(_read_imports(data, package)))


def _read_imports(data: bytes, package: str) -> Iterator[str]:
    if len(data) > _LARGEST:
        return
    try:
        nodes = list(ast.walk(ast.parse(data)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what imports it reports the error
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join(part for part in (*parts, base) if part)
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Call) and _is_importer(node.func) and node.args:
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if isinstance(name, str) and name and not name.startswith("."):
                yield name


def _is_importer(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in _IMPORTERS


def _find(name: str) -> Path | None:
    """Return the source of a module without importing it; None if it is not the user's own."""
    if name.split(".", 1)[0] in sys.stdlib_module_names or name.split(".", 1)[0] == "karat":
        return None
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) if module is not None else None
    if file is None and module is None:
        spec = _find_spec(name)
        file = spec.origin if spec is not None and spec.has_location else None
    path = Path(file) if isinstance(file, str) and file.endswith(".py") else None
    return path if path is not None and path.is_file() and _is_own(path) else None


def _find_spec(name: str) -> ModuleSpec | None:
    places: list[str] | None = None
    spec = None
    for part in _with_parents(name):
        try:
            spec = PathFinder.find_spec(part, places)
        except (ImportError, ValueError, OSError):
            return None
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return spec


@cache
def _installed() -> tuple[Path, ...]:
    """The folders of the standard library and of installed packages."""
    import sysconfig  # reads the settings that Python was built with

    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [path for name in names if (path := sysconfig.get_path(name))]
    return tuple(Path(folder).resolve() for folder in folders)


def _is_own(path: Path) -> bool:
    place = path.resolve()
    if any(part in ("site-packages", "dist-packages") for part in place.parts) or place.is_relative_to(_KARAT):
        return False
    return not any(place.is_relative_to(folder) for folder in _installed())


def _read(path: Path) -> bytes:
    """Return the content of a file with the line ends of Unix, which git may change at a checkout."""
    try:
        return read_bytes(path).replace(b"\r\n", b"\n")
    except InputError:
        return b""
