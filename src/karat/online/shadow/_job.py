"""A sampled call on its way to the treatment, and what became of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

from karat.core import Answer, Hit
from karat.online._hit_rows import NotHits, to_hit, to_text
from karat.online._records import LoggedHit
from karat.online._shadow_records import ANSWERED, FAILED, ShadowDraft

DEPTH = 100
"""The documents of a list that are kept."""

_PAIRS, _TEXTS = frozenset((tuple,)), frozenset((str,))
_ATOMS = frozenset((str, int, float, bool, bytes, type(None)))


@dataclass(slots=True)
class Job:
    """A call that the treatment is asked, too: its record, and arguments of its own."""

    draft: ShadowDraft
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    context: Context | None = None
    trial: bool = False
    """Whether it decides about a half-open breaker."""
    done: bool = False
    """Whether what became of it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a job."""

    status: str
    ids: tuple[str, ...] = ()
    """Those of the hits, best first."""
    latency: float | None = None
    """Milliseconds."""
    error: str = ""


def copy_arguments(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that may be changed without the control noticing; texts and numbers need no copy."""
    if _ATOMS.issuperset(map(type, arguments)) and _ATOMS.issuperset(map(type, options.values())):
        return arguments, dict(options)
    own: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy((arguments, options))
    return own


def find_text(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Return the query of a call: what is called query, text, q or question, or the first text.

    >>> find_text((7, "wifi"), {}), find_text((), {"query": "pool", "k": 3}), find_text((), {})
    ('wifi', 'pool', '')
    """
    for name in ("query", "text", "q", "question"):
        if type(value := options.get(name)) is str:
            return value
    for value in arguments:
        if type(value) is str:
            return value
    return ""


def list_ids(result: Any, *, consume: bool = False) -> tuple[str, ...]:
    """Return the ids of what a system returned, best first: of documents, or of chunks, which are read as theirs later.

    Raise :class:`NotHits` for what is not a list of hits. Only with ``consume`` an iterator is read.

    >>> list_ids(["wifi:chunk:2", "pool"]), list_ids(Answer("Free.", hits=[("spa", 0.5)]))
    (('wifi:chunk:2', 'pool'), ('spa',))
    """
    if isinstance(result, Answer):
        result = result.hits
    elif isinstance(result, Mapping):
        if "hits" not in result:
            raise NotHits("a mapping without hits")
        result = result["hits"]
    if type(result) is not list:
        if isinstance(result, str | bytes) or not isinstance(result, Iterable if consume else Sequence):
            raise NotHits(f"{type(result).__name__} is not a list of hits")
        result = list(islice(result, DEPTH))
    items = result[:DEPTH]
    if _PAIRS.issuperset(map(type, items)):
        items = [item[0] if len(item) == 2 else item for item in items]
    return tuple(items) if _TEXTS.issuperset(map(type, items)) else tuple([_name_document(item) for item in items])


def _name_document(item: Any) -> str:
    kind = type(item)
    if kind is str or kind is Hit or kind is LoggedHit:
        return item if kind is str else item.document  # type: ignore[no-any-return]
    if not isinstance(item, str | int | list | tuple | Mapping):
        name = getattr(item, "document", None) or getattr(item, "id", None)
        if isinstance(name, str | int):
            return to_text(name)
    return to_hit(item, 1).document


def describe(error: BaseException) -> str:
    """Return the type and the text of an error without secrets."""
    from karat.net import describe_error  # only here: most treatments never fail

    return describe_error(error)[:2000]


def ask(treatment: Callable[..., Any], job: Job, timeout: float) -> Outcome:
    """Ask a treatment; never raise. An awaitable is awaited in the loop that karat has for it."""
    start = perf_counter()
    try:
        result = treatment(*job.arguments, **job.options)
        if hasattr(result, "__await__"):
            from karat.net import resolve

            result = resolve(result, timeout)
        return read_outcome(result, start)
    except BaseException as error:  # SystemExit, too: it would end the worker
        return Outcome(status=FAILED, latency=(perf_counter() - start) * 1000, error=describe(error))


def read_outcome(result: Any, start: float) -> Outcome:
    """Return the outcome of a treatment that has returned something."""
    latency = (perf_counter() - start) * 1000
    try:
        return Outcome(status=ANSWERED, ids=list_ids(result, consume=True), latency=latency)
    except Exception as error:
        return Outcome(status=FAILED, latency=latency, error=describe(error))
