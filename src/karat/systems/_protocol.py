"""The protocol of a system under test, and adapters from what a team has.

A system is an object with ``retrieve(query, k)``, or a function with these parameters. It returns hits, best first:
``karat.Hit``, objects or mappings with ``id`` or ``document``, ``score`` and ``content``, pairs of id and score, or
ids. Optional methods: ``retrieve_many(queries, k)`` for several questions in one call, ``ingest(documents)`` before the
first question, ``ready()``, which is called until it returns true, ``describe()`` for the fingerprint,
``document_ids()`` for what the index holds, and ``close()`` at the end. Any of them may be async. With a tenant,
``retrieve``, ``retrieve_many`` and ``ingest`` are called with ``company_id``. An ``ingest`` with a parameter
``timestamp`` gets the time, in ISO 8601 and UTC. A document has ``source_id`` and ``source_hash``.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from karat.core import Document, KaratError, SystemFailed, UsageError, check_id, did_you_mean, shorten
from karat.net import describe_error, resolve


@runtime_checkable
class Retriever(Protocol):
    """Anything with a method ``retrieve``."""

    def retrieve(self, query: str, k: int) -> Iterable[Any]:
        """Return at most k hits, best first: ``Hit`` or anything else that :func:`read_hits` reads."""
        ...


Retrieve: TypeAlias = "Callable[..., Iterable[Any] | Awaitable[Iterable[Any]]]"

_HOOKS = {
    "ingest": "failed to ingest the documents",
    "ready": "failed in ready()",
    "document_ids": "failed in document_ids()",
    "close": "failed to close",
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, kw_only=True)
class System:
    """A system under test as karat calls it; made by :func:`adapt`."""

    name: str
    retrieve: Retrieve
    is_async: bool
    retrieve_many: Callable[..., Any] | None = None
    """Takes several questions in one call, and returns a list of hits for each."""
    description: Mapping[str, Any] = field(default_factory=dict)
    ingest: Callable[[Sequence[Document]], Any] | None = None
    ready: Callable[[], bool] | None = None
    document_ids: Callable[[], Iterable[str]] | None = None
    tenant: str = ""
    close: Callable[[], None] | None = None


def adapt(thing: object, *, name: str = "", tenant: str = "") -> System:
    """Return the system for an object with ``retrieve``, or for a function.

    >>> def find(query, k):
    ...     return ["wifi", "pool"][:k]
    >>> adapt(find).name
    'find'
    """
    if isinstance(thing, System):
        return thing
    many = getattr(thing, "retrieve_many", None)
    retrieve = getattr(thing, "retrieve", None) or (thing if many is None else _retrieve_by(many))
    if not callable(retrieve):
        raise UsageError(
            f"{shorten(thing)} is not a system; pass an object with retrieve(query, k), or such a function"
        )
    _check_signature(retrieve, {"query": "", "k": 10}, tenant)
    label = name or str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__)
    return System(
        name=label,
        retrieve=_with_tenant(retrieve, tenant),
        is_async=inspect.iscoroutinefunction(retrieve)
        # The code of a callable object is in its class.
        or inspect.iscoroutinefunction(vars(type(retrieve)).get("__call__")),
        retrieve_many=None if many is None else _with_tenant(many, tenant),
        description=_describe(thing, label),
        tenant=tenant,
        **{hook: _hook(thing, hook, label, tenant) for hook in _HOOKS},
    )


def _retrieve_by(many: Callable[..., Any]) -> Retrieve:
    """Return a ``retrieve`` that calls ``retrieve_many`` with one question."""

    def retrieve(query: str, k: int, **tenant: str) -> Any:
        lists = list(resolve(many([query], k, **tenant)))
        return lists[0] if lists else ()

    return retrieve


def _describe(thing: object, label: str) -> dict[str, Any]:
    """Return what a system's ``describe`` returns, as plain JSON values without memory addresses.

    A system without ``describe`` is described by its name and the hash of its source file.
    """
    describe = getattr(thing, "describe", None)
    if not callable(describe):
        return {"callable": _path(thing), **_hash_source(thing)}
    with _failing_as(f"{label} failed to describe itself"):
        description = dict(resolve(describe()))
        text = json.dumps(
            description, sort_keys=True, default=lambda value: _ADDRESS.sub("", str(value)), allow_nan=False
        )
        return dict(json.loads(text))


def _hash_source(thing: object) -> dict[str, str]:
    """Return the hash of a retriever's source file: an interrupted run must not go on with changed code."""
    owner = thing if hasattr(thing, "__code__") or inspect.isclass(thing) else type(thing)
    try:
        file = inspect.getsourcefile(owner)  # type: ignore[arg-type]
        data = Path(file).read_bytes() if file else b""
    except (TypeError, OSError):  # built in, or typed into a shell
        return {}
    return {"source": f"sha256:{hashlib.sha256(data).hexdigest()}"} if data else {}


def _hook(thing: object, hook: str, label: str, tenant: str) -> Callable[..., Any] | None:
    """Return an optional method as a function that raises SystemFailed, with the system's message, if it fails."""
    function = getattr(thing, hook, None)
    if function is None:
        return None
    if not callable(function):
        raise UsageError(f"{label}: {hook} is {shorten(function)}, not a method")
    timed = hook == "ingest" and _has_parameter(function, "timestamp")
    if hook == "ingest":
        _check_signature(partial(function, timestamp="") if timed else function, {"documents": ()}, tenant)
        function = _with_tenant(function, tenant)

    def call(*arguments: Any) -> Any:
        now = {"timestamp": datetime.now(UTC).isoformat(timespec="seconds")} if timed else {}
        with _failing_as(f"{label} {_HOOKS[hook]}"):
            result = resolve(function(*arguments, **now))
            return [check_id(document, "") for document in result] if hook == "document_ids" else result

    return call


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False


@contextmanager
def _failing_as(message: str) -> Iterator[None]:
    """Turn whatever a system raises into SystemFailed; SystemExit too, which would end karat with its exit code."""
    try:
        yield
    except KaratError:
        raise
    except (Exception, SystemExit) as error:
        raise SystemFailed(f"{message}: {describe_error(error)}") from error


def _path(thing: object) -> str:
    owner = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{owner.__module__}:{owner.__qualname__}"


def _check_signature(function: Callable[..., Any], arguments: Mapping[str, object], tenant: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a signature
        return
    try:
        signature.bind(*arguments.values(), **({"company_id": tenant} if tenant else {}))
    except TypeError as error:
        wanted = f"({', '.join(arguments)}{', company_id=...' if tenant else ''})"
        raise UsageError(f"{_path(function)}{signature} cannot be called as {wanted}: {error}") from None


def _with_tenant(function: Callable[..., Any], tenant: str) -> Callable[..., Any]:
    return partial(function, company_id=tenant) if tenant else function


def load(path: str) -> object:
    """Return what ``package.module:name`` names; a class, or a function without parameters, is called.

    >>> load("karat.systems:load").__name__
    'load'
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"system {path}: write package.module:name")
    value = _import(module, path)
    for part in name.split("."):
        if not hasattr(value, part):
            near = did_you_mean(part, [each for each in dir(value) if not each.startswith("_")])
            raise UsageError(f"system {path}: {module} has no {part!r}{near}")
        value = getattr(value, part)
    if not _is_factory(value):
        return value
    with _failing_as(f"system {path}: {name}() failed"):
        return resolve(value())


def _import(module: str, path: str) -> Any:
    with _failing_as(f"system {path}: {module} cannot be imported"):
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            hint = "is it installed, or in the current folder?" if error.name in (module, module.split(".")[0]) else ""
            raise UsageError(f"system {path}: {error}{'; ' + hint if hint else ''}") from None


def _is_factory(value: Any) -> bool:
    """Whether a value makes a system: a class, or a function that takes no question."""
    if not inspect.isclass(value) and (not inspect.isroutine(value) or _takes(value, "query", 10)):
        return False
    if not _takes(value):
        if inspect.isclass(value):
            raise UsageError(f"{_path(value)} needs arguments; name a function that makes it, or an object")
        return False
    return True


def _takes(function: Callable[..., Any], *arguments: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True
