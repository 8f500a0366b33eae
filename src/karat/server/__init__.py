"""``karat serve``: the pages of a project over HTTP, for a team. Needs the extra server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
    from karat.server._app import make_app
    from karat.server._audit import Audit
    from karat.server._guard import Gate
    from karat.server._page import Action, Page, Visit
    from karat.server._pages import PAGES
    from karat.server._serving import require_project, serve
    from karat.server._signing import add_token, list_tokens, revoke_token
    from karat.server._tokens import ROLES, Role, Tokens

__all__ = [
    "PAGES",
    "ROLES",
    "Action",
    "Audit",
    "Gate",
    "Page",
    "Role",
    "Tokens",
    "Visit",
    "add_token",
    "list_tokens",
    "make_app",
    "require_project",
    "revoke_token",
    "serve",
]

# Imported at first use: who adds a token needs no server.
_HOME = {
    "make_app": "_app",
    **dict.fromkeys(("Action", "Page", "Visit"), "_page"),
    "PAGES": "_pages",
    "Audit": "_audit",
    "Gate": "_guard",
    **dict.fromkeys(("require_project", "serve"), "_serving"),
    **dict.fromkeys(("add_token", "list_tokens", "revoke_token"), "_signing"),
    **dict.fromkeys(("ROLES", "Role", "Tokens"), "_tokens"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
