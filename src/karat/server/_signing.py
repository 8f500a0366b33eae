"""Who may sign in to a project: what ``karat serve token`` does, with a line of the audit log for each change."""

from __future__ import annotations

from pathlib import Path

from karat.schema.pages import TokenList
from karat.server._audit import Audit
from karat.server._serving import require_project
from karat.server._tokens import Tokens


def add_token(project: str | Path, name: str, role: str, days: int = 90) -> TokenList:
    """Return a new token, which is shown this once, and the line that lists it."""
    folder = require_project(project)
    tokens, audit = Tokens(folder), Audit(folder)
    audit.prepare()
    text = tokens.add(name, role, days)
    line = tokens.list()[0]
    audit.note("token added", token=line.id, subject=f"{role} {name}")
    return TokenList(tokens=(line,), token=text)


def list_tokens(project: str | Path) -> TokenList:
    """Return the tokens of a project, the newest first, without their secrets."""
    return TokenList(tokens=Tokens(require_project(project)).list())


def revoke_token(project: str | Path, id_: str) -> TokenList:
    """Make a token worthless at once, and return all of them; whoever signed in with it is signed out."""
    folder = require_project(project)
    tokens, audit = Tokens(folder), Audit(folder)
    audit.prepare()
    tokens.revoke(id_)
    audit.note("token revoked", token=id_)
    return TokenList(tokens=tokens.list())
