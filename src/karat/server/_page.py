"""What a page and a change are to the server: an address, a function of the library, its document, and how it looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from karat.index import Index
from karat.pages import Table, fill_address
from karat.server._svg import Picture
from karat.server._tokens import Role, User


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A request: who asks, and the project as the index has it."""

    folder: Path
    index: Index
    user: User
    store: str = ""
    """The store of live traffic that the server was started with; empty for that of the project."""


Show = Callable[[Visit, Any], Struct]
Job = tuple[str, ...]
"""Something that the process that indexes can do, such as ``("compare", "a", "b")``."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page. What is asked for is its path and query string as a typed value; the document is what it answers."""

    name: str
    address: str
    """Such as ``/runs/{run}``; the names in braces are fields of ``request``."""
    request: type[Struct]
    show: Show
    document: str
    """The name of its document among the published schemas."""
    template: str
    about: str
    """What it shows, in a sentence."""
    table: Callable[[Any], Table] | None = None
    """What it exports as CSV."""
    charts: Mapping[str, Callable[[Any, str], Picture]] = field(default_factory=dict)
    """What it exports as SVG, by name; the text after a colon, as in ``chart=trend:nDCG@5``, is passed on."""
    label: str = ""
    """Its name in the bar of all pages; empty for a page that others lead to."""
    key: str = ""
    """The letter that leads to it, after g."""
    part_of: str = ""
    """The page of the bar to which it belongs, which is marked there."""
    role: Role = "viewer"
    otherwise: str = ""
    """Where a browser is led that leaves out what has to be asked for."""
    wants: Callable[[Any], Job] | None = None
    """What the process that indexes keeps up to date while people look at the page."""
    lacks: Callable[[Any], Job | None] | None = None
    """What the process that indexes has to compute before a document is whole; None if it is."""

    def link(self, **parameters: Any) -> str:
        """Return its address for some fields of what is asked for."""
        return fill_address(self.address, parameters)


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a change answers: a document, and the address where a form goes on."""

    document: Struct
    address: str
    subject: str = ""
    """What was changed, for the audit log."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """A change: a form or JSON that is sent to an address. The server checks origin, form token and role."""

    name: str
    address: str
    request: type[Struct]
    act: Callable[[Visit, Any], Done]
    document: str
    about: str
    role: Role = "annotator"


def of_index(function: Callable[[Index, Any], Struct]) -> Show:
    """Return a function of the index as a page shows it, for pages that need nothing else."""
    return lambda visit, request: function(visit.index, request)
