"""JSON over HTTP, with patience: for services that a pipeline asks."""

from __future__ import annotations

import json
import math
import os
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from karat.core import SystemFailed, UsageError, shorten
from karat.net._package import package

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Answers that another try may change."""
_LARGEST = 1 << 26  # bytes of an answer
_SHOWN = 1000  # characters of what a service says


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a service is, and how long to insist.

    What may pass (no connection, no answer in time, 429, 500, 503 ...) is tried again after ``backoff`` seconds, then
    after twice as many, and so on, or after as many as the service asks for, but never after more than
    ``longest_pause``.

    >>> Endpoint(url="https://me:secret@example.org/v1/rerank?key=secret").name
    'https://example.org/v1/rerank'
    """

    url: str
    key_variable: str = ""
    """The environment variable that holds the key, which is sent as a bearer token."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, each with the environment variable that holds its value."""
    timeout: float = 30.0
    """Seconds for one try, from the first byte sent to the last one received."""
    retries: int = 3
    backoff: float = 0.5
    longest_pause: float = 60.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, a bracket that is not closed
            usable = False
        if not usable:
            raise UsageError(f"url {shorten(self.url)}; give one such as https://host/v1")
        pauses = 0 <= self.backoff < math.inf and 0 <= self.longest_pause < math.inf
        if self.retries < 0 or not 0 < self.timeout < math.inf or not pauses:
            names = ("timeout", "retries", "backoff", "longest_pause")
            values = ", ".join(f"{name}={getattr(self, name)}" for name in names)
            raise UsageError(f"{values}; timeout is above 0, the others are 0 or more")

    @property
    def name(self) -> str:
        """The URL without what may be secret: a name and a password before the host, parameters after the path."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def secrets(self) -> dict[str, str]:
        """Read the headers, or say which is not there; what they hold stands in no description and no message."""
        found = {name: self._secret(variable) for name, variable in self.headers.items()}
        if self.key_variable:
            found["Authorization"] = f"Bearer {self._secret(self.key_variable)}"
        return found

    def _secret(self, variable: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value:
            raise UsageError(f"the environment variable {variable} is not set; it holds the key of {self.name}")
        if not (value.isascii() and value.isprintable() and " " not in value):
            raise UsageError(f"the environment variable {variable} holds a character that no key has")
        return value


class Client:
    """Asks an endpoint, from any number of threads; ``what`` names the service in messages."""

    def __init__(self, endpoint: Endpoint, what: str) -> None:
        self._httpx = package("httpx", install="httpx", what=f"a {what} behind HTTP")
        self._endpoint, self._what = endpoint, what
        headers = endpoint.secrets()
        self._secrets = [value.removeprefix("Bearer ") for value in headers.values()]
        self._client = self._httpx.Client(
            timeout=endpoint.timeout, headers={"Content-Type": "application/json", **headers}
        )
        weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def post(self, body: Any) -> Any:
        """Send JSON and give the JSON that comes back, or raise SystemFailed with the service's own words."""
        # In ASCII: half of a surrogate pair, which a text may hold, cannot be sent otherwise.
        data = self._insist(json.dumps(body, allow_nan=False).encode())
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self.failed(f"an answer that is no JSON: {_beginning(self._without_key(data))}") from None

    def failed(self, what: str) -> SystemFailed:
        """Say what went wrong; a service may repeat the key that it was sent, and we do not."""
        for secret in self._secrets:
            what = what.replace(secret, "***")
        return SystemFailed(f"{self._what} {self._endpoint.name}: {what}")

    def _without_key(self, said: bytes) -> bytes:
        """Take out the key before only the beginning of an answer is shown, which might end in the middle of it."""
        for secret in self._secrets:
            said = said.replace(secret.encode(), b"***")
        return said

    def _insist(self, body: bytes) -> bytes:
        """Send a request until it is answered, or nothing is left to try."""
        tries = self._endpoint.retries + 1
        said = ""
        for attempt in range(tries):
            pause = self._endpoint.backoff * 2**attempt
            try:
                status, reason, asked, data = self._once(body)
            except self._httpx.InvalidURL as error:
                raise self.failed(f"is no usable URL: {error}") from None
            except self._httpx.RequestError as error:
                said = f"{type(error).__name__}: {error}"
            else:
                if 200 <= status < 300:
                    return data
                said = f"{status} {reason}: {_words_in(self._without_key(data))}"
                if status not in _PASSING:
                    raise self.failed(said)
                pause = max(pause, asked)
            if attempt + 1 < tries:
                time.sleep(min(pause, self._endpoint.longest_pause))
        raise self.failed(said if tries == 1 else f"{said} (asked {tries} times)")

    def _once(self, body: bytes) -> tuple[int, str, float, bytes]:
        """Give status, reason, the pause that the service asks for, and the answer."""
        # A service that sends a byte now and then would never run into httpx's own timeout, which is for each read.
        deadline = time.monotonic() + self._endpoint.timeout
        data = bytearray()
        with self._client.stream("POST", self._endpoint.url, content=body) as response:
            for part in response.iter_bytes():
                data += part
                if time.monotonic() > deadline:
                    raise self._httpx.ReadTimeout(f"no whole answer in {self._endpoint.timeout:g} s")
                if len(data) > _LARGEST:
                    raise self.failed(f"an answer of more than {_LARGEST:,} bytes")
            asked = seconds_to_wait(response.headers.get("retry-after", ""))
            return response.status_code, response.reason_phrase, asked, bytes(data)


def words_of(answer: Any) -> str:
    """Give what a service says went wrong, word for word, on one line; nothing where it says nothing.

    >>> words_of({"error": {"message": "no such model", "type": "invalid_request_error"}})
    'no such model'
    """
    while isinstance(answer, dict):
        answer = next((answer[name] for name in ("error", "message", "detail") if answer.get(name)), None)
    return _on_one_line(answer) if isinstance(answer, str) else ""


def seconds_to_wait(header: str) -> float:
    """Read a Retry-After header: seconds, or a date; 0 where it says nothing.

    >>> seconds_to_wait("1.5"), seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT"), seconds_to_wait("soon")
    (1.5, 0.0, 0.0)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    return max(0.0, seconds) if seconds == seconds else 0.0


def _words_in(data: bytes) -> str:
    try:
        return words_of(json.loads(data)) or _beginning(data)
    except (ValueError, RecursionError):
        return _beginning(data)


def _beginning(data: bytes) -> str:
    return _on_one_line(data[: 4 * _SHOWN].decode(errors="replace")) or "nothing"


def _on_one_line(text: str) -> str:
    line = " ".join(text[: 4 * _SHOWN].split())
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
