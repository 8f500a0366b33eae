"""What the retrievers of all frameworks share, whatever stands behind them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from karat.core import Hit
from karat.net import find_version, require_package
from karat.systems._code import hash_code
from karat.systems._hits import read_hits
from karat.systems._loading import load
from karat.systems._protocol import describe_path
from karat.systems.adapters._paths import HitReader
from karat.systems.adapters._settings import Surroundings


class FrameworkRetriever(ABC):
    """A retriever of a framework as a system; ``id`` and ``document`` are fields of what it keeps with a text."""

    name: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, retriever: Any, *, id: str = "", document: str = "", path: str = "") -> None:
        """``path`` is the ``package.module:name`` that the retriever was loaded from, if it was."""
        self._retriever, self._path = retriever, path
        self._names = {"id": id, "document": document}
        paths = {"id": id or "_id", "document": document or "_document", "score": "_score"}
        self._reader = HitReader(paths, required=[name for name, field in self._names.items() if field])

    @abstractmethod
    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        """Return a record for each hit: the fields kept with it, ``_id``, and perhaps ``_document`` and ``_score``."""

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found, with the hash of your own code."""
        kind = type(self._retriever)
        source = hash_code(dict.fromkeys((self._path.partition(":")[0], kind.__module__)), kind)
        return {
            "kind": self.name,
            "retriever": self._path or describe_path(self._retriever),
            **self._names,
            "version": find_version(self.package),
            **({"source": source} if source else {}),
        }

    def retrieve(self, query: str, k: int) -> tuple[Hit, ...]:
        """Return the first k hits of the retriever."""
        return read_hits(self._reader.read(list(self.search(query, k))), k)


@dataclass(frozen=True, kw_only=True)
class RetrieverSettings:
    """The table ``[system]`` with the kind of a framework."""

    kind: ClassVar[type[FrameworkRetriever]]
    module: ClassVar[str]
    retriever: str
    """``package.module:name`` of the retriever, or of a class or function without parameters that makes it."""
    id: str = ""
    document: str = ""

    def connect(self, around: Surroundings) -> FrameworkRetriever:
        """Load the retriever."""
        require_package(self.module, purpose=f"the system {self.kind.name}", extra=self.kind.name)
        retriever = load(self.retriever)
        return self.make(retriever, around, id=self.id, document=self.document, path=self.retriever)

    def make(self, retriever: Any, around: Surroundings, **named: str) -> FrameworkRetriever:  # noqa: ARG002
        """Return the system of a retriever; the project around it matters to some frameworks only."""
        return self.kind(retriever, **named)


def takes(function: Any, name: str) -> bool:
    """Whether a function takes a parameter, by its name or among any others."""
    if function is None:
        return False
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
