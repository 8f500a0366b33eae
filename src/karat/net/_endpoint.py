"""The address of a service, with how it is reached and which variables hold its keys."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from karat.core import UsageError, shorten
from karat.net._secrets import show_url

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""The name of a header, as RFC 9110 has it."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_PART = re.compile(r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}")
"""A piece of a name that is rather a key, which somebody wrote where the name of its variable belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of a service, and how often and how long to try.

    After a failure that may be temporary (no connection, no response in time, 429, 500, 503 ...) the request is sent
    again after ``backoff`` seconds, then after twice as many, and so on. A service may ask for a longer pause, up to
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
    """Seconds for one attempt, from the first byte sent to the last byte received."""
    retries: int = 3
    backoff: float = 0.5
    longest_pause: float = 60.0
    proxy: str = ""
    """The proxy that requests go through; by default that of the environment (HTTPS_PROXY ...)."""

    def __post_init__(self) -> None:
        self._check_proxy()
        if (wrong := next((name for name in self.headers if not _TOKEN.fullmatch(name)), None)) is not None:
            raise UsageError(f"{shorten(wrong)} is not the name of a header; write letters, digits and - only")
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is not a number, or a bracket that is not closed
            usable = False
        if not usable:
            raise UsageError(f"url {shorten(show_url(self.url))} is not usable; write one such as https://host/v1")
        pauses = 0 <= self.backoff < math.inf and 0 <= self.longest_pause < math.inf
        if self.retries < 0 or not 0 < self.timeout < math.inf or not pauses:
            names = ("timeout", "retries", "backoff", "longest_pause")
            values = ", ".join(f"{name}={getattr(self, name)}" for name in names)
            raise UsageError(f"{values}; timeout must be above 0, the others 0 or more")
        self._require_one_key(bool(parts.username or parts.password))

    def _check_proxy(self) -> None:
        """Refuse an address that is none, or that holds a password: a file that is shared is no place for it."""
        if not self.proxy:
            return
        try:
            parts = urlsplit(self.proxy)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise UsageError("the address of the proxy is not usable; write one such as http://host:3128") from None
        if parts.username or parts.password:
            raise UsageError("the address of the proxy holds a password; set it in the variable HTTPS_PROXY instead")
        if not usable:
            raise UsageError(f"proxy {shorten(self.proxy)} is not usable; write one such as http://host:3128")

    def _require_one_key(self, login: bool) -> None:
        """Refuse two values for the header Authorization: one of them would be left out, or replace the other."""
        places = {
            "a user or a password in its address": login,
            "a key_variable": bool(self.key_variable),
            "a header Authorization": any(name.lower() == "authorization" for name in self.headers),
        }
        chosen = [place for place, used in places.items() if used]
        if len(chosen) > 1:
            both = " and ".join(chosen)
            raise UsageError(f"{self.name} has {both}, but only one of them can be sent; remove the others")

    @property
    def name(self) -> str:
        """The URL without its user name, password and query, which may be secret."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def read_headers(self) -> dict[str, str]:
        """Return the headers with their values from the environment, which no description or message repeats.

        A variable that is not set raises UsageError.
        """
        headers = {name: read_variable(variable, self.name, blanks=True) for name, variable in self.headers.items()}
        if self.key_variable:
            headers["Authorization"] = f"Bearer {read_variable(self.key_variable, self.name)}"
        return headers


def read_variable(variable: str, owner: str, *, blanks: bool = False, any_text: bool = False) -> str:
    """Return the key of ``owner`` that an environment variable holds; UsageError if it is not set, or is no key.

    With ``blanks`` it may have several words, such as ``ApiKey s3cret``, and with ``any_text`` any characters.
    """
    if not isinstance(variable, str):
        raise UsageError(f"a header of {owner} is not text; write the name of the variable that holds its value")
    if not _VARIABLE.fullmatch(variable) or any(map(_KEY_PART.fullmatch, variable.split("_"))):
        raise UsageError(
            f"{owner} has a key where the name of an environment variable belongs; write the name of the "
            "variable that holds the key, and change the key if the file was shared"
        )
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UsageError(f"the environment variable {shorten(variable)[1:-1]} is not set; it holds the key of {owner}")
    if not (any_text or (value.isascii() and value.isprintable() and (blanks or " " not in value))):
        raise UsageError(f"the environment variable {variable} holds a character that cannot be part of a key")
    return value
