"""Reading the answer of a service by paths: its text, what it cites, whether it refused, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karat.core import Answer, SystemFailed, UsageError, shorten
from karat.net import find_message
from karat.systems.adapters._paths import MISSING, describe_missing, find, follow

ANSWER = ("answer", "citations", "refused", "tokens", "cost")
"""What a service may return beside hits; each is a key of ``[system]`` with a path into the response."""
CITATION = ("id", "document", "span", "section", "block")
"""The parts of a citation; the key of each begins with ``citation_``, and its path leads into the citation."""


class AnswerReader:
    """Reads answers by paths into a response, each by its name, and citations by paths into one.

    A path that leads nowhere raises UsageError, which lists the keys that are there. Once it has led somewhere it is
    right, and what is missing then was left out by the service: an answer that lacks its text fails, and anything else
    counts as nothing.

    >>> reader = AnswerReader({"answer": "text", "citations": "sources"}, {"id": "chunk"})
    >>> reader.read({"text": "It is free.", "sources": [{"chunk": "wifi:chunk:0"}, 2]}, hits=[]).citations
    [{'id': 'wifi:chunk:0'}, 2]
    """

    def __init__(
        self, paths: Mapping[str, str], citation: Mapping[str, str], *, redact: Callable[[str], str] = str
    ) -> None:
        self._paths = {name: path for name, path in paths.items() if path}
        self._citation = {name: path for name, path in citation.items() if path}
        self._redact = redact
        self._worked: set[str] = set()

    def read(self, response: Any, hits: Any) -> Answer:
        """Return the answer of a response, with the hits that were read from it."""
        refused = self._find(response, "refused") if "refused" in self._paths else None
        text = self._find(response, "answer", optional=refused is True)
        if text is None and refused is not True:
            if message := find_message(response):
                raise SystemFailed(self._redact(f"the service answered with an error: {message}"))
            raise SystemFailed("the service answered with nothing, and does not say that it refused")
        cited = self._find(response, "citations", optional=refused is True)
        if cited is not None and not isinstance(cited, list):
            raise SystemFailed(self._redact(f"the service cites {shorten(cited)}, not a list"))
        citations = [self._read_citation(item, number) for number, item in enumerate(cited or (), 1)]
        return Answer(
            "" if text is None else text,
            citations,
            hits,
            False if refused is None else refused,
            tokens=_read_tokens(self._find(response, "tokens")),
            cost=self._find(response, "cost"),
        )

    def _find(self, response: Any, name: str, *, optional: bool = False) -> Any:
        """Return what is at the path of a name; None without a path, and for what a service may leave out."""
        if name not in self._paths:
            return None
        value = find(response, self._paths[name])
        if value is not MISSING:
            self._worked.add(name)
            return value
        if not (optional or name in self._worked):
            raise self._mistake(f"the answer has nothing at {name}", response, self._paths[name])
        return None

    def _read_citation(self, item: Any, number: int) -> Any:
        """Return a citation as karat reads it: an id or a rank as it is, and an object by the paths into it."""
        if not isinstance(item, Mapping):
            return item
        record = {name: follow(item, path) for name, path in self._citation.items()}
        if record.get("id") is None and record.get("document") is None:
            message = f"citation {number} has nothing at citation_id"
            if "citation" in self._worked:
                raise SystemFailed(self._redact(message))
            raise self._mistake(message, item, self._citation.get("id", ""))
        self._worked.add("citation")
        return {name: value for name, value in record.items() if value is not None}

    def _mistake(self, message: str, value: Any, path: str) -> UsageError:
        there = describe_missing(value, path)
        return UsageError(self._redact(f"[system] {message} = {shorten(path)}: {there}; correct the path"))


def _read_tokens(value: Any) -> dict[str, int]:
    """Return numbers of tokens by what they are; one number is the total, and details within details are left out.

    >>> _read_tokens({"prompt_tokens": 812, "details": {"cached": 0}}), _read_tokens(12)
    ({'prompt_tokens': 812}, {'total': 12})
    """
    if value is None:
        return {}
    if _is_count(value):
        return {"total": value}
    if not isinstance(value, Mapping):
        raise SystemFailed(f"the service reports {shorten(value)} as its tokens")
    return {str(name): count for name, count in value.items() if _is_count(count)}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
