"""Tokens: who may look, judge or decide when the server is not for this machine alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from karat.core import InputError, UsageError
from karat.files import lock_folder, make_folder, read_bytes, write_file
from karat.labelling import check_namesake, list_people
from karat.schema.pages import TokenLine

Role = Literal["viewer", "annotator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""What a person may do, the least first: look, judge, and decide. Each may do what those before it may."""
_PREFIX = "karat"
_DAY = 86_400
_LONGEST = 366  # days
_SECRET = 32  # bytes of chance: there is nothing to guess, so that a quick hash is enough


class _Token(Struct, frozen=True, kw_only=True):
    """A token as the file has it: not the token itself, but its hash."""

    id: str
    name: str
    role: Role
    hash: str
    created: int
    expires: int
    revoked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks."""

    name: str
    role: Role
    token: str = ""
    """The id of the token; empty for people of this machine, who need none."""

    def may(self, role: Role) -> bool:
        """Return whether the user may do what needs a role."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Tokens:
    """The tokens of a project, in a file of its folder ``.karat`` that only its owner can read."""

    def __init__(self, folder: str | Path) -> None:
        self._path = Path(folder) / ".karat" / "tokens.json"
        self._stamp: tuple[int, int] | None = None
        self._tokens: dict[str, _Token] = {}

    def add(self, name: str, role: str, days: int = 90) -> str:
        """Return a new token, which is shown this once; ``days`` is how long it is good for."""
        if role not in ROLES:
            raise UsageError(f"there is no role {role!r}; choose from {', '.join(ROLES)}")
        if not 1 <= days <= _LONGEST:
            raise UsageError(f"a token is good for 1 to {_LONGEST} days, not {days}")
        if not name.strip() or len(name) > 100 or not name.isprintable():
            raise UsageError("name the person or program that gets the token, in 1 to 100 printable characters")
        others = (token.name for token in self._read().values())
        check_namesake(name.strip(), [*list_people(self._path.parents[1]), *others])
        secret, now = secrets.token_urlsafe(_SECRET), int(time.time())
        token = _Token(
            id=secrets.token_hex(4),
            name=name.strip(),
            role=role,
            hash=_hash(secret),
            created=now,
            expires=now + days * _DAY,
        )
        self._change(lambda tokens: {**tokens, token.id: token})
        return f"{_PREFIX}_{token.id}_{secret}"

    def revoke(self, id_: str) -> None:
        """Make a token worthless, by its id; whoever signed in with it is signed out."""
        if id_ not in (known := self._read()):
            own = [token.id for token in known.values() if token.name == id_ and not token.revoked]
            hint = f"{id_} has {' and '.join(own)}" if own else "'karat serve token list' shows their ids"
            raise InputError(f"there is no token {id_!r}", hint=hint)
        now = int(time.time())
        self._change(lambda tokens: {**tokens, id_: msgspec.structs.replace(tokens[id_], revoked=now)})

    def list(self) -> tuple[TokenLine, ...]:
        """Return all tokens, the newest first, without their secrets."""
        tokens = sorted(self._read().values(), key=lambda token: token.created, reverse=True)
        return tuple(
            TokenLine(
                id=token.id,
                name=token.name,
                role=token.role,
                created=_date(token.created),
                expires=_date(token.expires),
                state="revoked" if token.revoked else "expired" if token.expires <= time.time() else "good",
            )
            for token in tokens
        )

    def has_any(self) -> bool:
        """Return whether any token is good."""
        return any(_is_good(token) for token in self._read().values())

    def find(self, text: str) -> User | None:
        """Return whose token a text is; None if it is nobody's, or no longer good."""
        prefix, _, rest = text.strip().partition("_")
        id_, _, secret = rest.partition("_")
        token = self._read().get(id_)
        expected = token.hash if token else _hash("")  # as long for an unknown id
        is_equal = hmac.compare_digest(_hash(secret), expected)
        if prefix != _PREFIX or token is None or not is_equal or not _is_good(token):
            return None
        return User(name=token.name, role=token.role, token=token.id)

    def look_up(self, id_: str) -> User | None:
        """Return whose token an id is of, for somebody who signed in; None once it is revoked or has expired."""
        token = self._read().get(id_)
        return User(name=token.name, role=token.role, token=id_) if token is not None and _is_good(token) else None

    def _read(self) -> dict[str, _Token]:
        """Return the tokens by id; the file is read again if it has changed."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._stamp, self._tokens = None, {}
            return {}
        stamp = status.st_mtime_ns, status.st_ino
        if stamp != self._stamp:
            try:
                tokens = msgspec.json.decode(read_bytes(self._path), type=list[_Token])
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"is damaged: {error}", source=str(self._path), hint="remove it, and add tokens"
                ) from None
            self._stamp, self._tokens = stamp, {token.id: token for token in tokens}
        return self._tokens

    def _change(self, change: Callable[[dict[str, _Token]], dict[str, _Token]]) -> None:
        make_folder(self._path.parent)
        with lock_folder(self._path.parent):
            tokens = change(dict(self._read()))
            write_file(self._path, msgspec.json.encode(list(tokens.values())).decode() + "\n", private=True)
            self._stamp = None


def _is_good(token: _Token) -> bool:
    return token.revoked is None and token.expires > time.time()


def _hash(secret: str) -> str:
    return hashlib.blake2b(secret.encode(errors="surrogatepass"), digest_size=32, person=b"karat token").hexdigest()


def _date(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
