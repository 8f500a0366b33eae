"""Who does something: the name that histories and proposals get."""

from __future__ import annotations

from karat.core import UsageError
from karat.server._page import Visit


def name_person(visit: Visit, who: str) -> str:
    """Return who asks: the name of the token; people of this machine, who need none, may say it."""
    return visit.user.name if visit.user.token else who.strip() or visit.user.name


def require_person(visit: Visit, who: str) -> str:
    """Return the same where others have to know who it was: on this machine somebody has to say it."""
    if not visit.user.token and not who.strip():
        raise UsageError("say who you are, so that others know whose it is: the field who")
    return name_person(visit, who)
