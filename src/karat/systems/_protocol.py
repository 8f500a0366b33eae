"""What karat asks of a system, and how whatever a team has becomes one.

A system is an object with ``retrieve(query, k)``, or a plain function of the same kind; either may be async. It gives
hits, best first: ``karat.Hit``, mappings with ``id`` and ``score``, pairs of both, or ids alone. Optional methods:
``ingest(documents)`` before the questions, ``ready()`` that is asked until it says yes, ``describe()`` that tells what
it is made of, ``document_ids()`` that tells what it holds, ``close()`` at the end.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, Protocol, TypeAlias, runtime_checkable

from karat.core import Document, Hit, Place, Span, SystemFailed, UsageError, check_id, shorten


@runtime_checkable
class Retriever(Protocol):
    """Anything that can be asked."""

    def retrieve(self, query: str, k: int) -> Sequence[Hit]:
        """Give at most k hits, best first."""
        ...


Retrieve: TypeAlias = "Callable[..., Iterable[Any] | Awaitable[Iterable[Any]]]"

_FIELDS = frozenset(f.name for f in fields(Hit))
_CONTENT = ("content", "text", "page_content")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Hits together with the milliseconds that each stage took, for a system that knows them."""

    hits: Sequence[Hit]
    timings: Mapping[str, float]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, kw_only=True)
class System:
    """A system as karat sees it, whatever it was made from."""

    name: str
    retrieve: Retrieve
    is_async: bool
    description: Mapping[str, Any] = field(default_factory=dict)
    ingest: Callable[[Sequence[Document]], Any] | None = None
    ready: Callable[[], bool] | None = None
    document_ids: Callable[[], Iterable[str]] | None = None
    tenant: str = ""
    close: Callable[[], None] | None = None


def adapt(thing: object, *, name: str = "", tenant: str = "") -> System:
    """Take an object with ``retrieve``, or a function, as a system.

    >>> def find(query, k):
    ...     return ["wifi", "pool"][:k]
    >>> adapt(find).name
    'find'
    """
    if isinstance(thing, System):
        return thing
    retrieve = getattr(thing, "retrieve", None) or thing
    if not callable(retrieve):
        raise UsageError(f"{shorten(thing)} is no system: give an object with retrieve(query, k), or such a function")
    _check_signature(retrieve, tenant)
    called = getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__
    describe = getattr(thing, "describe", None)
    return System(
        name=name or str(called),
        retrieve=_with_tenant(retrieve, tenant),
        is_async=inspect.iscoroutinefunction(retrieve)
        # An object that is called like a function has its code in its class.
        or inspect.iscoroutinefunction(vars(type(retrieve)).get("__call__")),
        description=dict(describe()) if callable(describe) else {"callable": _path(thing)},
        ingest=getattr(thing, "ingest", None),
        ready=getattr(thing, "ready", None),
        document_ids=getattr(thing, "document_ids", None),
        tenant=tenant,
        close=getattr(thing, "close", None),
    )


def _path(thing: object) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def _check_signature(retrieve: Retrieve, tenant: str) -> None:
    try:
        signature = inspect.signature(retrieve)
    except (TypeError, ValueError):  # written in C, and silent about itself
        return
    try:
        signature.bind("query", 10, **({"company_id": tenant} if tenant else {}))
    except TypeError as error:
        wanted = "retrieve(query, k, company_id=...)" if tenant else "retrieve(query, k)"
        raise UsageError(f"{_path(retrieve)}{signature} cannot be called as {wanted}: {error}") from None


def _with_tenant(retrieve: Retrieve, tenant: str) -> Retrieve:
    if not tenant:
        return retrieve
    if inspect.iscoroutinefunction(retrieve):

        async def ask_later(query: str, k: int) -> Any:
            return await retrieve(query, k, company_id=tenant)

        return ask_later
    return lambda query, k: retrieve(query, k, company_id=tenant)


def load(path: str) -> object:
    """Import ``package.module:name``; a class or a factory without arguments is called.

    >>> load("karat.systems:load").__name__
    'load'
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"--system {path}: write package.module:name")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        hint = "is it installed, or in the current folder?" if error.name in (module, module.split(".")[0]) else ""
        raise UsageError(f"--system {path}: {error}{'; ' + hint if hint else ''}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"--system {path}: {module} has no {part!r}")
        found = getattr(found, part)
    return found() if inspect.isclass(found) else found


def hits_of(answer: object, k: int, tenant: str = "") -> tuple[Hit, ...]:
    """Check what a system gave, and take it as hits; raise SystemFailed where it is none.

    Order is the system's own. Scores that are all there must not rise; ids alone get scores that fall.
    """
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise SystemFailed(f"the system returned {shorten(answer)}, not a list of hits")
    items = list(answer)[:k]
    hits = tuple(_hit(item, rank, len(items)) for rank, item in enumerate(items, 1))
    for hit in hits:
        if not math.isfinite(hit.score):
            raise SystemFailed(f"hit {shorten(hit.id)} has the score {hit.score}")
        if tenant and hit.tenant and hit.tenant != tenant:
            raise TenantMixed(
                f"hit {shorten(hit.id)} belongs to tenant {shorten(hit.tenant)}, not to {shorten(tenant)}"
            )
    return hits


class TenantMixed(SystemFailed):
    """A hit of another tenant: the whole run is void, whatever else it found."""


def _hit(item: object, rank: int, count: int) -> Hit:
    if isinstance(item, Hit):
        return item
    try:
        if isinstance(item, Mapping):
            return _from_mapping(item, count - rank + 1)
        if isinstance(item, tuple | list) and len(item) == 2:
            return Hit(check_id(item[0], ""), _score(item[1]))
        return Hit(check_id(item, ""), float(count - rank + 1))
    except (TypeError, ValueError) as error:
        raise SystemFailed(f"hit {rank} is {shorten(item)}: {error}") from None
    except Exception as error:
        raise SystemFailed(f"hit {rank} is {shorten(item)}: {error}") from error


def _score(value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"score {shorten(value)} is no number")
    return float(value)


def _from_mapping(item: Mapping[str, Any], fallback: float) -> Hit:
    """Read a record: karat's own names, and those that retrievers commonly use."""
    known = {name: item[name] for name in _FIELDS & item.keys() if item[name] is not None}
    known["id"] = check_id(item.get("id", item.get("chunk_id", item.get("doc_id"))), "")
    known["score"] = _score(item.get("score", item.get("similarity_score", fallback)))
    if "document" not in known and (source := item.get("source_entity_id", item.get("document_id"))) is not None:
        known["document"] = check_id(source, "")
    span = item.get("span", item.get("offsets"))
    known["span"] = None if span is None else span if isinstance(span, Span) else Span(*map(int, span))
    content = next((item[name] for name in _CONTENT if isinstance(item.get(name), str)), "")
    channels = item.get("channels") or {}
    if isinstance(channels, Mapping):
        known["channels"] = {str(name): _place(place) for name, place in channels.items()}
    else:
        known["channels"] = {str(name): Place(0, 0.0) for name in channels}
    return Hit(**{**known, "content": content})


def _place(value: object) -> Place:
    if isinstance(value, Place):
        return value
    if isinstance(value, Mapping):
        return Place(int(value.get("rank", 0)), float(value.get("score", 0.0)))
    pair: Any = value  # what is none raises, and is told
    return Place(int(pair[0]), float(pair[1]))
