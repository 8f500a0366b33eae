"""Keys and passwords, and texts without them.

A careless service repeats what it was sent: in an error, in an id, on a page. Every answer of a service goes through
:class:`Secrets` once, before anything is made of it, and every error of a system goes through :func:`hide_secrets`.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from base64 import b64decode, b64encode
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from karat.core import shorten

MARK = "***"
"""What stands in the place of a secret."""
_LEAST = 8
"""Characters of a part that is hidden. A shorter key is hidden in messages only, where it is a word of its own."""
_APART = 32
"""The most characters between two places by which a part of a long key is found: base64 has lines of 64 or 76."""
_LONG = 16  # characters of a variable's value that is hidden even if it looks like a word
_ENCODED = 6  # characters of an encoding that is hidden
_SCHEMES = ("basic", "bearer", "token", "apikey", "key")
"""Words before the secret in the value of a header."""
_LOGIN = re.compile(r"(?<=://)[^/\s?#\"'<>]*@")
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s]+)@")
_ALWAYS_SECRET = re.compile(
    r"(apikey|accesskey|secretkey|privatekey|subscriptionkey|accesstoken|authtoken|bearertoken|secret|password|passwd"
    r"|passphrase|authorization|credential)s?\Z"
)
_SECRET_IN_ADDRESS = re.compile(r"(xamz|xgoog)?(security)?(key|token|pass|pwd|sig|signature|auth|code)\Z")
_SECRET_VARIABLE = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PASSPHRASE|PAT)(_|$)|(TOKEN|SECRET|PASSWORD)$"
)
_PARAMETER = re.compile(r"(?<=[?&])([\w.%~-]+)=([^&\s\"'<>#]+)")
_PRIVATE = ("url", "headers", "key_variable", "url_variable", "variables")
"""Settings of a service whose value may hold a secret, if somebody wrote it in the wrong place."""


class Secrets:
    """Texts that must not be shown, in every encoding in which a service may repeat them.

    >>> secrets = Secrets(["sk-7Hq2mZ0xW9"])
    >>> secrets
    Secrets(1)
    >>> secrets.redact("invalid key: Bearer sk-7Hq2mZ0xW9"), secrets.redact("the key that begins with sk-7Hq2m")
    ('invalid key: Bearer ***', 'the key that begins with ***')
    """

    __slots__ = ("__weakref__", "_count", "_long", "_windows", "_words")

    def __init__(self, values: Iterable[str] = ()) -> None:
        values = list(dict.fromkeys(value for value in values if value))
        forms = [form for value in values for form in (value, *_list_encodings(value))]
        self._count = len(values)
        self._long = frozenset(form for form in forms if len(form) >= _LEAST)
        self._windows = _cut_windows(self._long, whole={*values, *map(_encode_base64, values)})
        words = "|".join(re.escape(form) for form in forms if len(form) < _LEAST)
        self._words = re.compile(f"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if words else None

    def __repr__(self) -> str:
        return f"Secrets({self._count})"

    def redact(self, text: str) -> str:
        """Return a message without any secret, and without a part of one: eight characters of its beginning or end.

        Of the middle, a part has to be longer to be found: twice as long, or 40 characters of a very long key.
        """
        text = self._hide(text, words=True)
        return text if self._words is None else self._words.sub(MARK, text)

    def redact_value(self, value: Any) -> Any:
        """Return the plain data of an answer without secrets of eight characters or more.

        A shorter one, or a part that looks like a word, stays: it may as well be a part of a document or its id.
        """
        if not self._windows:
            return value
        if isinstance(value, str):
            return self._hide(value, words=False)
        if isinstance(value, dict):
            return {self._hide(key, words=False): self.redact_value(inner) for key, inner in value.items()}
        if isinstance(value, list):  # vectors are long lists of numbers
            return [inner if type(inner) is float else self.redact_value(inner) for inner in value]
        return MARK if type(value) is int and str(value) in self._long else value

    def _hide(self, text: str, *, words: bool) -> str:
        """Replace the secrets in a text, and the parts of them; those that look like words only if ``words``."""
        spans = self._find(text, words=words)
        return _replace(text, spans) if spans else text

    def _find(self, text: str, *, words: bool) -> list[tuple[int, int]]:
        """Return from where to where there are secrets in a text, or parts of them."""
        spans: list[tuple[int, int]] = []
        if len(text) < _LEAST:
            return spans
        for window, places in self._windows.items():
            start = text.find(window)
            while start >= 0:
                end = start + 1
                for form, offset in places:
                    first, last = _extend(text, start, form, offset)
                    if words or last - first == len(form) or _looks_random(text[first:last]):
                        spans.append((first, last))
                        end = max(end, last)
                start = text.find(window, end)
        return spans

    @staticmethod
    def hide_all(text: str, pools: Iterable[Secrets]) -> str:
        """Replace the secrets of several services at once, since they may have parts in common.

        One after the other, what the first leaves of a secret would be too short to be found by the second.
        """
        return _replace(text, [span for pool in pools for span in pool._find(text, words=False)])


def _list_encodings(value: str) -> Iterator[str]:
    """Yield the encodings in which a secret may come back."""
    from html import escape

    data = _encode(value)
    quoted = quote(data, safe="")
    written = json.dumps(value)[1:-1]
    forms = {quoted, quote(data), quoted.replace("%20", "+"), written, written.replace("/", "\\/"), escape(value)}
    forms |= {json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1], data.hex(), data.hex().upper()}
    forms |= {re.sub("%..", lambda match: match[0].lower(), form) for form in forms}
    forms.add(_encode_base64(value))
    for shift in range(3):  # in a longer text, such as all headers in one, it may begin at any of three places
        encoded = b64encode(b"\0" * shift + data).decode()[: (shift + len(data)) * 8 // 6]
        forms.add(encoded[(0, 2, 3)[shift] :])
    forms |= {form.replace("+", "-").replace("/", "_") for form in forms}
    yield from sorted(form for form in forms - {value} if len(form) >= _ENCODED)


def _encode(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _encode_base64(value: str) -> str:
    return b64encode(_encode(value)).decode()


def _cut_windows(forms: Iterable[str], whole: Container[str]) -> dict[str, list[tuple[str, int]]]:
    """Return the pieces of eight characters by which parts are found, each with where it stands in which secrets.

    An encoding is found by its beginning and its end, a secret itself and its base64, which are often written in
    lines, by pieces between them, too.
    """
    windows: dict[str, list[tuple[str, int]]] = {}
    for form in sorted(forms):
        last = len(form) - _LEAST
        between = range(0, last, max(_LEAST, min(len(form) // _LEAST, _APART))) if form in whole else (0,)
        for offset in sorted({*between, last}):
            windows.setdefault(form[offset : offset + _LEAST], []).append((form, offset))
    return windows


def _extend(text: str, place: int, form: str, offset: int) -> tuple[int, int]:
    """Return from where to where a text equals a secret, around a place at which it does."""
    before, after = 0, _LEAST
    while before < min(place, offset) and text[place - before - 1] == form[offset - before - 1]:
        before += 1
    while after < min(len(text) - place, len(form) - offset) and text[place + after] == form[offset + after]:
        after += 1
    return place - before, place + after


def _looks_random(text: str) -> bool:
    """Whether a text has letters and digits, or small and capital letters."""
    kinds = (str.islower, str.isupper, str.isdigit)
    return sum(any(map(kind, text)) for kind in kinds) > 1


def _replace(text: str, spans: list[tuple[int, int]]) -> str:
    parts, end = [], 0
    for first, last in sorted(spans):
        if first >= end:
            parts += [text[end:first], MARK]
        end = max(end, last)
    return "".join([*parts, text[end:]])


_LOCK = threading.Lock()
_IN_USE: weakref.WeakSet[Secrets] = weakref.WeakSet()


def collect_secrets(url: str, headers: Mapping[str, str]) -> Secrets:
    """Return what an address and headers hold that must not be shown, which :func:`hide_secrets` hides from now on."""
    values = list(_list_url_secrets(url))
    for value in headers.values():
        values.append(value)
        scheme, _, rest = value.partition(" ")
        if rest and scheme.lower() in _SCHEMES:
            values[-1] = rest.strip()
        if rest and scheme.lower() == "basic":
            values += _decode_login(rest)
    secrets = Secrets(values)
    with _LOCK:
        _IN_USE.add(secrets)
    return secrets


def _list_url_secrets(url: str) -> Iterator[str]:
    """Yield the password of an address, with its user and alone, and what parameters such as ``api_key`` hold."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    for form in (login, unquote(login)):
        yield from _list_login(form)
    for name, value in parse_qsl(parts.query):
        if _is_secret_parameter(name):
            yield value


def _list_login(login: str) -> list[str]:
    user, colon, password = login.partition(":")
    return [login, password] if colon and password else [user]


def _decode_login(encoded: str) -> list[str]:
    try:
        return _list_login(b64decode(encoded, validate=True).decode())
    except ValueError:  # not base64, or not text
        return []


def _is_secret_parameter(name: str) -> bool:
    return is_secret_name(name) or _SECRET_IN_ADDRESS.match(_fold(name)) is not None


def is_secret_name(name: str) -> bool:
    """Whether a name is that of a secret and of nothing else.

    >>> [is_secret_name(name) for name in ("api_key", "X-Api-Key", "clientSecret", "pad_token", "key", "max_tokens")]
    [True, True, True, False, False, False]
    """
    return _ALWAYS_SECRET.search(_fold(name)) is not None


def _fold(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def strip_secrets(url: str) -> str:
    """Return an address without its login and without parameters such as ``api_key``; it may still be called.

    >>> strip_secrets("https://me:pw@example.org/find?index=hotel&api_key=s3cret")
    'https://example.org/find?index=hotel'
    """
    parts = urlsplit(url)
    netloc, query = parts.netloc.rpartition("@")[2], parse_qsl(parts.query, keep_blank_values=True)
    public = [(name, value) for name, value in query if not _is_secret_parameter(name)]
    same = len(public) == len(query)
    return parts._replace(netloc=netloc, query=parts.query if same else urlencode(public)).geturl()


def strip_logins(text: str) -> str:
    """Return a text in which no address has a login.

    >>> strip_logins("cannot open postgresql://me:s3cret@db/karat")
    'cannot open postgresql://db/karat'
    """
    return _LOGIN.sub("", text)


def show_url(url: str) -> str:
    """Return as much of an unusable address as can be shown, however it is broken: no login and no query.

    >>> show_url("htp:/me:pa/ss@host/find?key=s3cret")
    'host/find'
    """
    return url.rpartition("@")[2].partition("?")[0].partition("#")[0]


def hide_secrets(text: str) -> str:
    """Return a message without what this process must not show.

    That are the secrets of all services that are in use, the values of environment variables with names such as
    ``OPENAI_API_KEY`` or ``DB_PASSWORD``, and logins and parameters such as ``api_key`` in addresses.

    >>> hide_secrets("401 for https://me:pw@example.org/find?index=hotel&api_key=s3cret")
    '401 for https://example.org/find?index=hotel&api_key=***'
    """
    with _LOCK:
        in_use = list(_IN_USE)
    text = Secrets.hide_all(text, (*in_use, _guess(tuple(_list_variables()))))
    return _PARAMETER.sub(_hide_parameter, strip_logins(text))


def _hide_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}={MARK}" if _is_secret_parameter(match[1]) else match[0]


def show_setting(name: str, value: object) -> str:
    """Return the value of a setting for a message; only its type if it may be a secret in the wrong place.

    >>> show_setting("batch", "ten"), show_setting("headers", "Bearer s3cret")
    ("'ten'", '(str)')
    """
    is_private = name in _PRIVATE or name.endswith("_url") or is_secret_name(name)
    return f"({type(value).__name__})" if is_private else shorten(value)


def hide_settings(settings: Any) -> Any:
    """Return plain data about a system without secrets, as a run may record it.

    >>> hide_settings({"api_key": "abc", "max_tokens": 100, "store": "redis://:pw@localhost/1"})
    {'api_key': '***', 'max_tokens': 100, 'store': 'redis://localhost/1'}
    """
    return _hide_settings(settings, secret=False)


def _is_secret_option(name: str) -> bool:
    variable = name.lstrip("-").upper().replace("-", "_")
    return _is_secret_parameter(name) or _SECRET_VARIABLE.search(variable) is not None


def hide_options(arguments: Iterable[str]) -> list[str]:
    """Return the arguments of a program without the values of options and variables such as ``--api-key``.

    >>> hide_options(["env", "DB_PASSWORD=s3cret", "server", "--index", "docs", "--api-key", "s3cret"])
    ['env', 'DB_PASSWORD=***', 'server', '--index', 'docs', '--api-key', '***']
    """
    shown: list[str] = []
    follows = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        is_option = argument.startswith("-")
        is_secret = (is_option or bool(equals)) and _is_secret_option(name)
        shown.append(f"{name}={MARK}" if is_secret and equals else MARK if follows and not is_option else argument)
        follows = is_secret and not equals
    return shown


def _hide_settings(value: Any, *, secret: bool) -> Any:
    if isinstance(value, Mapping):
        return {key: _hide_settings(inner, secret=is_secret_name(str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_settings(inner, secret=secret) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    return MARK if secret else hide_secrets(value)


@lru_cache(maxsize=1)
def _guess(values: tuple[str, ...]) -> Secrets:
    return Secrets(values)


def _list_variables() -> Iterator[str]:
    """Yield what environment variables hold that are named like secrets, and the passwords of addresses in all."""
    for name, value in os.environ.items():
        if _names_secret(name) and not os.path.exists(value):  # noqa: PTH110 (any text)
            yield from _keep_hideable(value.strip())
        if "://" in value:
            for password in _PASSWORD.findall(value):
                yield from _keep_hideable(password)


@lru_cache(maxsize=1024)
def _names_secret(variable: str) -> bool:
    return _SECRET_VARIABLE.search(variable.upper()) is not None


def _keep_hideable(value: str) -> Iterator[str]:
    """Yield a value unless it is a word that other texts have too, such as ``changeme``."""
    if len(value) >= _LONG or (len(value) >= _LEAST and _looks_random(value)):
        yield value
