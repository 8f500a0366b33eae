"""Rerankers by the names that a configuration uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from karat.core import UsageError, did_you_mean, shorten
from karat.net import Endpoint, show_setting
from karat.systems.rerank._cross_encoder import CrossEncoder
from karat.systems.rerank._http import HttpReranker
from karat.systems.rerank._mix import Mix
from karat.systems.rerank._reranker import Reranker


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """A reranker, the number of candidates that it reads, and how its scores are used."""

    reranker: Reranker
    mix: Mix
    depth: int = 20
    """The number of candidates that are read, or of requested hits, if that is more."""

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError(f"depth={self.depth} of the reranker; choose 1 or more")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {**self.reranker.describe(), "mix": self.mix.describe(), "depth": self.depth}


def make_reranking(table: Mapping[str, Any], *, best_per_document: bool) -> Reranking:
    """Return the reranking of a table with ``kind``, the kind's options, and ``depth``, ``weight``, ``threshold``.

    Kinds are http (``url``, ``model``, ``field``, ``batch``, ``key_variable``, ``timeout``, ``retries``) and
    cross-encoder (``model``, ``batch``, ``device``). With ``threshold = false`` nothing is dropped.

    >>> how = make_reranking({"kind": "http", "url": "http://localhost/rerank", "depth": 50}, best_per_document=True)
    >>> how.depth, how.mix.weight, how.mix.threshold
    (50, 0.5, 0.5)
    """
    options = dict(table)
    kind = options.pop("kind", None)
    if kind not in _KINDS:
        hint = did_you_mean(str(kind), _KINDS) or f"; known: {', '.join(_KINDS)}"
        raise UsageError(f"[pipeline.rerank] kind = {shorten(kind)} is not a reranker{hint}")
    make, types = _KINDS[kind]
    for name, value in options.items():
        _check(kind, name, value, {**types, **_AFTERWARDS})
    depth = options.pop("depth", 20)
    weight, threshold = options.pop("weight", 0.5), options.pop("threshold", 0.5)
    mix = Mix(weight=weight, threshold=None if threshold is False else threshold, best_per_document=best_per_document)
    return Reranking(reranker=make(**options), mix=mix, depth=depth)


def _check(kind: str, name: str, value: object, types: Mapping[str, Any]) -> None:
    if name not in types:
        hint = did_you_mean(name, types) or f"; it has {', '.join(types)}"
        raise UsageError(f"[pipeline.rerank] {kind} has no key {shorten(name)}{hint}")
    off = name == "threshold" and value is False
    if not off and (isinstance(value, bool) or not isinstance(value, types[name])):
        raise UsageError(f"[pipeline.rerank] {name} = {show_setting(name, value)} is of the wrong type")


def _http(*, model: str = "", field: Any = "documents", batch: int = 100, **endpoint: Any) -> Reranker:
    if "url" not in endpoint:
        raise UsageError("[pipeline.rerank] http needs a url, such as http://localhost:8080/rerank")
    return HttpReranker(Endpoint(**endpoint), model=model, field=field, batch=batch)


def _cross_encoder(*, model: str = "", **options: Any) -> Reranker:
    return CrossEncoder(model, **options)


_NUMBER = (int, float)
_AFTERWARDS: Mapping[str, Any] = {"depth": int, "weight": _NUMBER, "threshold": _NUMBER}
_KINDS: Mapping[str, tuple[Callable[..., Reranker], Mapping[str, Any]]] = {
    "http": (
        _http,
        {
            **dict.fromkeys(("url", "model", "field", "key_variable"), str),
            "batch": int,
            "timeout": _NUMBER,
            "retries": int,
        },
    ),
    "cross-encoder": (_cross_encoder, {"model": str, "batch": int, "device": str}),
}
