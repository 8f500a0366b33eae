"""Embedders by the names that a configuration uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karat.core import UsageError, did_you_mean, shorten
from karat.net import show_setting
from karat.systems.embed._embedder import Embedder

DEFAULT = "granite"


def make_embedder(choice: str | Mapping[str, Any] = DEFAULT) -> Embedder:
    """Return an embedder: ``granite``, ``openai:<model>``, ``sentence-transformers:<model>``, or one from a table.

    A table has ``kind`` (granite, openai, sentence-transformers) and the kind's options: granite ``runtime``; openai
    ``model``, ``url``, ``key_variable``, ``dimensions``, ``batch``, ``timeout``, ``retries``; sentence-transformers
    ``model``, ``batch``. ModelMissing is raised if granite is not installed.

    >>> make_embedder({"kind": "openai", "model": "nomic-embed-text", "url": "http://localhost:11434/v1"}).name
    'openai:nomic-embed-text@http://localhost:11434/v1'
    >>> make_embedder("granit")
    Traceback (most recent call last):
    karat.core._errors.UsageError: unknown embedder 'granit', did you mean 'granite'?
    """
    if isinstance(choice, str):
        kind, _, model = choice.partition(":")
        options = {"model": model} if model else {}
    else:
        options = dict(choice)
        kind = str(options.pop("kind", DEFAULT))
    if kind not in _KINDS:
        hint = did_you_mean(kind, _KINDS) or f"; known: {', '.join(_KINDS)}"
        raise UsageError(f"unknown embedder {shorten(kind)}{hint}")
    make, types = _KINDS[kind]
    for option, value in options.items():
        _check(kind, option, value, types)
    if "model" in types and "model" not in options:
        raise UsageError(f"the embedder {kind} needs a model, as in {kind}:<model>")
    return make(**options)


def _check(kind: str, option: str, value: object, types: Mapping[str, type]) -> None:
    if option not in types:
        hint = did_you_mean(option, types) or f"; known: {', '.join(types)}"
        raise UsageError(f"the embedder {kind} has no option {option!r}{hint}")
    expected = types[option]
    fits = isinstance(value, int | float) if expected is float else isinstance(value, expected)
    if not fits or isinstance(value, bool):
        raise UsageError(f"{option}={show_setting(option, value)} of the embedder {kind} is not {_NAMES[expected]}")


def _granite(**options: Any) -> Embedder:
    from karat.systems.embed._granite import Granite

    return Granite(**options)


def _endpoint(**options: Any) -> Embedder:
    from karat.systems.embed._endpoint import Endpoint

    return Endpoint(**options)


def _sentence_transformers(**options: Any) -> Embedder:
    from karat.systems.embed._sentence_transformers import SentenceTransformers

    return SentenceTransformers(**options)


_NAMES = {str: "text", int: "a whole number", float: "a number"}
_KINDS: dict[str, tuple[Callable[..., Embedder], Mapping[str, type]]] = {
    "granite": (_granite, {"runtime": str}),
    "openai": (
        _endpoint,
        {
            "model": str,
            "url": str,
            "key_variable": str,
            "dimensions": int,
            "batch": int,
            "timeout": float,
            "retries": int,
        },
    ),
    "sentence-transformers": (_sentence_transformers, {"model": str, "batch": int}),
}
