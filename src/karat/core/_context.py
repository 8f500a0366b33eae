"""The context of a question: who asks it, when, and in which conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a system may know about a question besides its text. Systems get it if they ask for it.

    >>> Context(session="ana", turn=2).to_dict()
    {'session': 'ana', 'turn': 2}
    """

    session: str = ""
    """The id of the session; "" for a question of its own."""
    turn: int = 0
    """The turn of the session, from 1; 0 outside a session."""
    time: str = ""
    """When the question was asked, as the golden set writes it; "" if it does not say."""
    tenant: str = ""
    """Whose documents are searched; "" if there is only one owner."""
    documents: tuple[str, ...] = ()
    """The ids of the documents that the golden set has in the session's working memory."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The metadata of the query."""

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as plain values."""
        known = {name: value for name in self.__slots__ if (value := getattr(self, name))}
        lists = {"documents": list(self.documents)} if self.documents else {}
        return known | lists | ({"metadata": dict(self.metadata)} if self.metadata else {})
