"""What karat asks of a system, and how whatever a team has becomes one.

A system is an object with ``retrieve(query, k)``, or a plain function of the same kind. It gives hits, best first:
``karat.Hit``, mappings with ``id`` and ``score``, pairs of both, or ids alone. Optional methods:
``retrieve_many(queries, k)`` for several questions in one call, ``ingest(documents)`` before the questions, ``ready()``
that is asked until it says yes, ``describe()`` that tells what it is made of, ``document_ids()`` that tells what it
holds, ``close()`` at the end. Any of them may be async. With a tenant, those that retrieve and ``ingest`` are given it
as ``company_id``. An ``ingest`` with a parameter ``timestamp`` gets the time, in ISO 8601 and UTC. A document has
``source_id`` and ``source_hash`` for systems that keep such things.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from karat.core import Document, Hit, KaratError, Place, Span, SystemFailed, UsageError, check_id, shorten
from karat.net import finished, words


@runtime_checkable
class Retriever(Protocol):
    """Anything that can be asked."""

    def retrieve(self, query: str, k: int) -> Sequence[Hit]:
        """Give at most k hits, best first."""
        ...


Retrieve: TypeAlias = "Callable[..., Iterable[Any] | Awaitable[Iterable[Any]]]"

_HOOKS = {
    "ingest": "failed to take in the documents",
    "ready": "failed to tell whether it is ready",
    "document_ids": "failed to tell which documents it holds",
    "close": "failed to close",
}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_FIELDS = frozenset(f.name for f in fields(Hit))
_TEXTS = ("document", "section", "block", "type", "content", "source_hash", "tenant", "locator")
_SCORES = {"combined": "combined_score", "rerank": "rerank_score", "similarity": "similarity_score"}
"""The scores of a reranked hit by stage; the first that is there is its score."""
_TEXT = {str}
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
    retrieve_many: Callable[..., Any] | None = None
    """Takes several questions in one call, and gives a list of hits for each."""
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
    many = getattr(thing, "retrieve_many", None)
    retrieve = getattr(thing, "retrieve", None) or (thing if many is None else _one_of(many))
    if not callable(retrieve):
        raise UsageError(f"{shorten(thing)} is no system: give an object with retrieve(query, k), or such a function")
    _check_signature(retrieve, {"query": "", "k": 10}, tenant)
    called = name or str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__)
    return System(
        name=called,
        retrieve=_with_tenant(retrieve, tenant),
        is_async=inspect.iscoroutinefunction(retrieve)
        # An object that is called like a function has its code in its class.
        or inspect.iscoroutinefunction(vars(type(retrieve)).get("__call__")),
        retrieve_many=None if many is None else _with_tenant(many, tenant),
        description=_description(thing, called),
        tenant=tenant,
        **{hook: _hook(thing, hook, called, tenant) for hook in _HOOKS},
    )


def _one_of(many: Callable[..., Any]) -> Retrieve:
    """Ask one question of a system that takes several."""

    def retrieve(query: str, k: int, **tenant: str) -> Any:
        found = list(finished(many([query], k, **tenant)))
        return found[0] if found else ()

    return retrieve


def _description(thing: object, called: str) -> dict[str, Any]:
    """Give what a system tells of itself as JSON has it; where an object lies in memory is no part of what it is."""
    describe = getattr(thing, "describe", None)
    if not callable(describe):
        return {"callable": _path(thing), **_source(thing)}
    with _own_words(f"{called} failed to describe itself"):
        told = dict(finished(describe()))
        text = json.dumps(told, sort_keys=True, default=lambda value: _ADDRESS.sub("", str(value)), allow_nan=False)
        return dict(json.loads(text))


def _source(thing: object) -> dict[str, str]:
    """Give the hash of the file that a retriever is written in: a run that was begun must not go on with another."""
    named = thing if hasattr(thing, "__code__") or inspect.isclass(thing) else type(thing)
    try:
        file = inspect.getsourcefile(named)  # type: ignore[arg-type]
        data = Path(file).read_bytes() if file else b""
    except (TypeError, OSError):  # built in, or typed into a shell
        return {}
    return {"source": f"sha256:{hashlib.sha256(data).hexdigest()}"} if data else {}


def _hook(thing: object, hook: str, called: str, tenant: str) -> Callable[..., Any] | None:
    """Give an optional method as a plain function that, whatever goes wrong in it, fails in the system's own words."""
    function = getattr(thing, hook, None)
    if function is None:
        return None
    if not callable(function):
        raise UsageError(f"{called}: {hook} is {shorten(function)}, not a method")
    timed = hook == "ingest" and _has_parameter(function, "timestamp")
    if hook == "ingest":
        _check_signature(partial(function, timestamp="") if timed else function, {"documents": ()}, tenant)
        function = _with_tenant(function, tenant)

    def call(*arguments: Any) -> Any:
        now = {"timestamp": datetime.now(UTC).isoformat(timespec="seconds")} if timed else {}
        with _own_words(f"{called} {_HOOKS[hook]}"):
            found = finished(function(*arguments, **now))
            return [check_id(one, "") for one in found] if hook == "document_ids" else found

    return call


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False


@contextmanager
def _own_words(what: str) -> Iterator[None]:
    """Turn whatever a system raises into its failure; one that exits must not end karat as if all were well."""
    try:
        yield
    except KaratError:
        raise
    except (Exception, SystemExit) as error:
        raise SystemFailed(f"{what}: {words(error)}") from error


def _path(thing: object) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def _check_signature(function: Callable[..., Any], arguments: Mapping[str, object], tenant: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, and silent about itself
        return
    try:
        signature.bind(*arguments.values(), **({"company_id": tenant} if tenant else {}))
    except TypeError as error:
        wanted = f"({', '.join(arguments)}{', company_id=...' if tenant else ''})"
        raise UsageError(f"{_path(function)}{signature} cannot be called as {wanted}: {error}") from None


def _with_tenant(function: Callable[..., Any], tenant: str) -> Callable[..., Any]:
    return partial(function, company_id=tenant) if tenant else function


def load(path: str) -> object:
    """Import ``package.module:name``; a class or a factory without arguments is called.

    >>> load("karat.systems:load").__name__
    'load'
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"system {path}: write package.module:name")
    found = _imported(module, path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"system {path}: {module} has no {part!r}")
        found = getattr(found, part)
    if not _is_factory(found):
        return found
    with _own_words(f"system {path}: {name}() failed"):
        return finished(found())


def _imported(module: str, path: str) -> Any:
    with _own_words(f"system {path}: {module} cannot be imported"):
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            hint = "is it installed, or in the current folder?" if error.name in (module, module.split(".")[0]) else ""
            raise UsageError(f"system {path}: {error}{'; ' + hint if hint else ''}") from None


def _is_factory(found: Any) -> bool:
    """Tell what makes a system from what is one: a class, and a function that takes no question."""
    if not inspect.isclass(found) and (not inspect.isroutine(found) or _takes(found, "query", 10)):
        return False
    if not _takes(found):
        if inspect.isclass(found):
            raise UsageError(f"{_path(found)} needs arguments; name a function that makes it, or an object")
        return False
    return True


def _takes(function: Callable[..., Any], *arguments: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, and silent about itself
        return True
    return True


def hits_of(answer: object, k: int, tenant: str = "") -> tuple[Hit, ...]:
    """Check what a system gave, and take the first k as hits; raise SystemFailed where it is none.

    Order is the system's own, whatever the scores say; ids alone get scores that fall.
    """
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise SystemFailed(f"the system returned {shorten(answer)}, not a list of hits")
    if isinstance(answer, Set):
        raise SystemFailed(f"the system returned {shorten(answer)}; a set has no order, so which hit is the best?")
    items = list(islice(answer, k))
    if tenant:
        _refuse_others(items, tenant)
    return tuple(_hit(item, rank, len(items)) for rank, item in enumerate(items, 1))


class TenantMixed(SystemFailed):
    """A hit of another tenant: the whole run is void, whatever else it found."""


def _refuse_others(items: Sequence[object], tenant: str) -> None:
    """Look for hits of another tenant, before anything else can be wrong with them."""
    for item in items:
        whose = getattr(item, "tenant", "")
        if isinstance(item, Mapping):
            whose = _first(item, "tenant", "company_id") or ""
        if whose and str(whose) != tenant:
            known = _first(item, "id", "chunk_id", "doc_id") if isinstance(item, Mapping) else getattr(item, "id", item)
            raise TenantMixed(f"hit {shorten(known)} belongs to tenant {shorten(whose)}, not to {shorten(tenant)}")


def _hit(item: object, rank: int, count: int) -> Hit:
    try:
        if isinstance(item, Hit):
            return _checked(item)
        if isinstance(item, Mapping):
            return _checked(_from_mapping(item, count - rank + 1))
        if isinstance(item, tuple | list) and len(item) == 2:
            return Hit(check_id(item[0], ""), _number(item[1], "score"))
        return Hit(check_id(item, ""), float(count - rank + 1))
    except Exception as error:
        said = str(error) if isinstance(error, TypeError | ValueError | KaratError) else words(error)
        raise SystemFailed(f"hit {rank} is {shorten(item)}: {said}") from error


def _checked(hit: Hit) -> Hit:
    """Take a hit as a run can keep it: texts are text, and numbers plain and finite, from whatever library they are."""
    if _is_plain(hit):
        return hit
    for name in _TEXTS:
        if not isinstance(text := getattr(hit, name), str):
            raise TypeError(f"{name} {shorten(text)} is no text")
    if hit.span is not None and not isinstance(hit.span, Span):
        raise TypeError(f"span {shorten(hit.span)} is no Span")
    return replace(
        hit,
        id=check_id(hit.id, ""),
        score=_number(hit.score, "score"),
        span=None if hit.span is None else Span(index(hit.span.start), index(hit.span.end)),
        channels={str(name): _place(place, str(name)) for name, place in hit.channels.items()},
        stages={str(name): _number(value, f"stage {shorten(name)}: score") for name, value in hit.stages.items()},
    )


def _is_plain(hit: Hit) -> bool:
    """Tell whether a hit can stay as it is; nearly all can, and the rest of the checks takes three times as long."""
    texts = (
        hit.id,
        hit.document,
        hit.section,
        hit.block,
        hit.type,
        hit.content,
        hit.source_hash,
        hit.tenant,
        hit.locator,
    )
    return (
        set(map(type, (*texts, *hit.channels, *hit.stages))) == _TEXT
        and hit.id.isascii()
        and hit.id != ""
        and (hit.span is None or (type(hit.span) is Span and type(hit.span.start) is type(hit.span.end) is int))
        and all(type(place) is Place and type(place.rank) is int for place in hit.channels.values())
        and all(
            type(number) is float and math.isfinite(number)
            for number in (hit.score, *hit.stages.values(), *(place.score for place in hit.channels.values()))
        )
    )


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{what} {shorten(value)} is no number")
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{what} {number} is no finite number")
    return number


def _first(item: Mapping[str, Any], *names: str) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _from_mapping(item: Mapping[str, Any], fallback: float) -> Hit:
    """Read a record: karat's own names, and those that retrievers commonly use."""
    known = {name: item[name] for name in _FIELDS & item.keys() if item[name] is not None}
    known["id"] = check_id(_first(item, "id", "chunk_id", "doc_id"), "")
    scores = {stage: item[name] for stage, name in _SCORES.items() if item.get(name) is not None}
    known["score"] = item.get("score", next(iter(scores.values()), fallback))
    if scores.keys() - {"similarity"}:
        known["stages"] = {**scores, **known.get("stages", {})}
    if "locator" in known and not isinstance(known["locator"], str):
        known["locator"] = json.dumps(known["locator"], ensure_ascii=False, default=str)
    if (source := _first(item, "document", "source_entity_id", "document_id")) is not None:
        known["document"] = check_id(source, "")
    if (whose := _first(item, "tenant", "company_id")) is not None:
        known["tenant"] = str(whose)
    span = item.get("span", item.get("offsets"))
    known["span"] = None if span is None else span if isinstance(span, Span) else Span(*map(int, span))
    known["content"] = next((item[name] for name in _CONTENT if isinstance(item.get(name), str)), "")
    channels = item.get("channels") or {}
    if not isinstance(channels, Mapping):
        channels = {str(name): Place(0, 0.0) for name in channels}
    return Hit(**{**known, "channels": channels})


def _place(value: Any, channel: str) -> Place:
    """Take a place, a record of one, or a pair; what is none of them raises, and is told."""
    if isinstance(value, Mapping):
        value = value.get("rank", 0), value.get("score", 0.0)
    rank, score = (value.rank, value.score) if isinstance(value, Place) else value
    return Place(int(rank), _number(score, f"channel {shorten(channel)}: score"))
