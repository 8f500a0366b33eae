"""Who has signed in, and who has tried too often."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable

from karat.server._tokens import Tokens, User

LASTING = 12 * 3600
"""Seconds until somebody has to sign in again."""
_IDLE = 4 * 3600  # seconds without a request
_WINDOW = 60.0  # seconds
_EACH, _ALL = 5, 30  # failed tries in a window, from one address and from all
_MOST = 10_000  # sessions


class Sessions:
    """The people who have signed in, in memory: after a restart they sign in again."""

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens, self._clock = tokens, clock
        self._key = secrets.token_bytes(32)
        self._sessions: dict[str, tuple[str, float, float]] = {}

    def begin(self, user: User) -> str:
        """Return the secret of a new session."""
        now = self._clock()
        self._sessions = {key: session for key, session in self._sessions.items() if not self._is_over(session, now)}
        while len(self._sessions) >= _MOST:
            self._sessions.pop(next(iter(self._sessions)))
        secret = secrets.token_urlsafe(32)
        self._sessions[_hash(secret)] = (user.token, now, now)
        return secret

    def find(self, secret: str) -> User | None:
        """Return who has a session; None if it is over, or its token is no longer good."""
        key, now = _hash(secret), self._clock()
        session = self._sessions.get(key)
        if session is None or self._is_over(session, now):
            return None
        self._sessions[key] = (session[0], session[1], now)
        return self._tokens.look_up(session[0])

    def is_good(self, secret: str) -> bool:
        """Return whether a session is not over; to ask this is not a request that prolongs it."""
        session = self._sessions.get(_hash(secret))
        is_over = session is None or self._is_over(session, self._clock())
        return session is not None and not is_over and self._tokens.look_up(session[0]) is not None

    def end(self, secret: str) -> None:
        """End a session."""
        self._sessions.pop(_hash(secret), None)

    def sign_forms(self, secret: str) -> str:
        """Return the token that every form of a session has to carry, which no other page can know."""
        return hmac.new(self._key, f"form {secret}".encode(), hashlib.sha256).hexdigest()

    def is_own_form(self, secret: str, token: str) -> bool:
        """Return whether a form carries the token of a session."""
        return hmac.compare_digest(self.sign_forms(secret), token.encode("ascii", "replace").decode())

    @staticmethod
    def _is_over(session: tuple[str, float, float], now: float) -> bool:
        _, begun, last = session
        return now - begun > LASTING or now - last > _IDLE


class Attempts:
    """Counts failed tries to sign in, from each address and from all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tries: deque[tuple[float, str]] = deque()

    def note(self, peer: str) -> None:
        """Count a failed try."""
        self._tries.append((self._clock(), peer))

    def seconds_to_wait(self, peer: str) -> int:
        """Return how long an address has to wait before it may try again; 0 if it need not."""
        now = self._clock()
        while self._tries and now - self._tries[0][0] >= _WINDOW:
            self._tries.popleft()
        own = [at for at, other in self._tries if other == peer]
        late = own[-_EACH] if len(own) >= _EACH else self._tries[-_ALL][0] if len(self._tries) >= _ALL else None
        return 0 if late is None else max(1, int(late + _WINDOW - now) + 1)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
