"""The protocol of a system under test, and adapters from what a team has.

A system is an object with ``retrieve(query, k)``, or a function with these parameters. It returns hits, best first:
``karat.Hit``, objects or mappings with ``id`` or ``document``, ``score`` and ``content``, pairs of id and score, or
ids. A system that answers, too, has ``answer(query, k)``, which is called instead and returns an :class:`karat.Answer`
with the text, what it cites, and the hits. Optional methods: ``retrieve_many(queries, k)`` for several questions in one
call, ``ingest(documents)`` before the first question, ``ready()``, which is called until it returns true,
``describe()`` for the fingerprint, ``document_ids()`` for what the index holds, and ``close()`` at the end. Any of them
may be async. With a tenant, ``retrieve``, ``retrieve_many`` and ``ingest`` are called with ``company_id``. An
``ingest`` with a parameter ``timestamp`` gets the time, in ISO 8601 and UTC. A document has ``source_id`` and
``source_hash``. A system whose answers were recorded says ``timed = False``, and has no latency.

A ``retrieve`` with a parameter ``context`` gets a :class:`karat.Context`, and a ``retrieve_many`` with ``contexts`` one
for each question. The questions of a session are then asked in the order of their turns. An agent memory has
``start_session(context)``, which forgets what an earlier run stored in the session, and
``remember(documents, context)``, which stores memories before a turn.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from karat.core import Context, Document, KaratError, SystemFailed, UsageError, check_id, shorten
from karat.net import describe_error, hide_secrets, resolve
from karat.systems._code import hash_code


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
    "start_session": "failed to start the session",
    "remember": "failed to store the memories",
}
_ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "ingest": {"documents": ()},
    "start_session": {"context": Context()},
    "remember": {"documents": (), "context": Context()},
}
"""The arguments of the methods that get any, by which their signatures are checked."""
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
    start_session: Callable[[Context], Any] | None = None
    """Forgets what is stored in a session."""
    remember: Callable[[Sequence[Document], Context], Any] | None = None
    """Stores memories in a session."""
    takes_context: bool = False
    """Whether ``retrieve`` has a parameter ``context``."""
    takes_contexts: bool = False
    """Whether ``retrieve_many`` has a parameter ``contexts``, with one for each question."""
    recalls: bool = False
    """Whether it keeps its answers, and a question that is asked again is another vote: see :func:`make_run`."""
    timed: bool = True
    """Whether its time is that of retrieval; recorded answers have no latency."""
    subject: object = None
    """The object itself, which may offer more than karat calls."""

    @property
    def has_sessions(self) -> bool:
        """Whether the questions of a session have to be asked one after the other."""
        return self.takes_context or self.takes_contexts or self.start_session is not None


def adapt(
    thing: object,
    *,
    name: str = "",
    tenant: str = "",
    module: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> System:
    """Return the system for an object with ``retrieve``, or for a function.

    ``tenant`` is passed to it as ``company_id``, and ``parameters`` by their names. ``module`` is the one that it was
    loaded from, if that is another than the one it is defined in; the code of both is part of the description.

    >>> def find(query, k):
    ...     return ["wifi", "pool"][:k]
    >>> adapt(find).name
    'find'
    """
    if isinstance(thing, System):
        return thing
    many = getattr(thing, "retrieve_many", None)
    wants_context = getattr(thing, "takes_context", True) is not False
    many_contexts = many is not None and wants_context and _has_parameter(many, "contexts")
    answer = getattr(thing, "answer", None)
    retrieve = answer if callable(answer) else getattr(thing, "retrieve", None)
    retrieve = retrieve or (thing if many is None else _retrieve_by(many, many_contexts))
    if not callable(retrieve):
        raise UsageError(
            f"{shorten(thing)} is not a system; pass an object with retrieve(query, k), or such a function"
        )
    takes_context = wants_context and _has_parameter(retrieve, "context")
    passed = {**(parameters or {}), **_name_tenant(retrieve, tenant, takes_context)}
    try:
        _check_signature(partial(retrieve, context=None) if takes_context else retrieve, {"query": "", "k": 10}, passed)
    except UsageError:
        if inspect.isclass(thing) and retrieve is not thing:
            raise UsageError(f"{describe_path(thing)} is a class; did you mean {thing.__name__}()?") from None
        raise
    own = str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__)
    label = name or hide_secrets(own)
    _require_session_start(thing, label)
    return System(
        name=label,
        retrieve=_pass(retrieve, passed),
        is_async=inspect.iscoroutinefunction(retrieve)
        # The code of a callable object is in its class.
        or inspect.iscoroutinefunction(vars(type(retrieve)).get("__call__")),
        retrieve_many=None if many is None or callable(answer) else _pass(many, passed),
        takes_context=takes_context,
        takes_contexts=many_contexts,
        description=_describe(thing, label, module) | ({"parameters": dict(parameters)} if parameters else {}),
        tenant=tenant,
        recalls=getattr(thing, "recalls", False) is True,
        timed=getattr(thing, "timed", True) is not False,
        subject=thing,
        **{hook: _hook(thing, hook, label, tenant) for hook in _HOOKS},
    )


def _retrieve_by(many: Callable[..., Any], takes_contexts: bool) -> Retrieve:
    """Return a ``retrieve`` that calls ``retrieve_many`` with one question."""

    def retrieve(query: str, k: int, **passed: Any) -> Any:
        lists = list(resolve(many([query], k, **passed)))
        return lists[0] if lists else ()

    def retrieve_in(query: str, k: int, context: Context, **passed: Any) -> Any:
        return retrieve(query, k, contexts=[context], **passed)

    return retrieve_in if takes_contexts else retrieve


def _name_tenant(retrieve: Retrieve, tenant: str, takes_context: bool) -> dict[str, str]:
    """Return the tenant as an argument, which a system may leave out that has it in the context."""
    known = not takes_context or _has_parameter(retrieve, "company_id") or _has_keywords(retrieve)
    return {"company_id": tenant} if tenant and known else {}


def _require_session_start(thing: object, label: str) -> None:
    """Refuse a memory that cannot forget: a second run would find what the first has stored."""
    if getattr(thing, "remember", None) is not None and getattr(thing, "start_session", None) is None:
        raise UsageError(
            f"{label} has remember(documents, context), but no start_session(context) that forgets what an earlier run "
            "has stored in the session; add it, so that no run finds the memories of another"
        )


def _describe(thing: object, label: str, module: str) -> dict[str, Any]:
    """Return what a system's ``describe`` returns, as plain JSON values without memory addresses, and its code's hash.

    A system without ``describe`` is described by its name and that hash: an interrupted run must not go on with changed
    code.
    """
    owner = thing if hasattr(thing, "__code__") or inspect.isclass(thing) else type(thing)
    digest = hash_code(dict.fromkeys((module, getattr(owner, "__module__", None) or "")), owner)
    source = {"source": digest} if digest else {}
    describe = getattr(thing, "describe", None)
    if not callable(describe):
        return {"callable": describe_path(thing), **source}
    with failing_as(f"{label} failed to describe itself"):
        description = dict(resolve(describe()))
        text = json.dumps(
            description, sort_keys=True, default=lambda value: _ADDRESS.sub("", str(value)), allow_nan=False
        )
        return source | dict(json.loads(text))


def _hook(thing: object, hook: str, label: str, tenant: str) -> Callable[..., Any] | None:
    """Return an optional method as a function that raises SystemFailed, with the system's message, if it fails."""
    function = getattr(thing, hook, None)
    if function is None:
        return None
    if not callable(function):
        raise UsageError(f"{label}: {hook} is {shorten(function)}, not a method")
    timed = hook in ("ingest", "remember") and _has_parameter(function, "timestamp")
    if hook in _ARGUMENTS:
        passed = {"company_id": tenant} if tenant and hook == "ingest" else {}
        _check_signature(partial(function, timestamp="") if timed else function, _ARGUMENTS[hook], passed)
        function = _pass(function, passed)

    def call(*arguments: Any) -> Any:
        now = {"timestamp": datetime.now(UTC).isoformat(timespec="seconds")} if timed else {}
        with failing_as(f"{label} {_HOOKS[hook]}"):
            result = resolve(function(*arguments, **now))
            return [check_id(document, "") for document in result] if hook == "document_ids" else result

    return call


def _has_parameter(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False


def _has_keywords(function: Callable[..., Any]) -> bool:
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


@contextmanager
def failing_as(message: str) -> Iterator[None]:
    """Turn whatever a system raises into SystemFailed; SystemExit too, which would end karat with its exit code.

    Only Ctrl-C stays what it is.
    """
    try:
        yield
    except (KaratError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise SystemFailed(f"{message}: {describe_error(error)}") from error


def describe_path(thing: object) -> str:
    owner = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{owner.__module__}:{owner.__qualname__}"


def _check_signature(
    function: Callable[..., Any], arguments: Mapping[str, object], passed: Mapping[str, object]
) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a signature
        return
    try:
        signature.bind(*arguments.values(), **passed)
    except TypeError as error:
        wanted = f"({', '.join((*arguments, *(f'{name}=...' for name in passed)))})"
        raise UsageError(f"{describe_path(function)}{signature} cannot be called as {wanted}: {error}") from None


def _pass(function: Callable[..., Any], passed: Mapping[str, object]) -> Callable[..., Any]:
    return partial(function, **passed) if passed else function
