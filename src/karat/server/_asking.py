"""What a request asks for, as a typed value: from its path, its query string, or a body of bounded size."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request

from karat.core import InputError

LARGEST = 256 * 1024
"""Bytes of a body."""
_PATIENCE = 30.0  # seconds for all of a body
FORM_TOKEN = "csrf"  # noqa: S105 (the name of a field)
_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
_FIELDS = 200
_LONGEST_ADDRESS = 2000
_PATTERN = re.compile(r"Expected `str` matching regex .* - at `\$\.(\w+)`", re.DOTALL)


class Refused(InputError):
    """A request that cannot be understood, with the status of the answer, and the seconds until another try."""

    def __init__(self, status: int, what: str, *, wait: int = 0) -> None:
        super().__init__(what)
        self.status, self.wait = status, wait


def read_parameters(kind: type[Struct], pairs: Iterable[tuple[str, str]]) -> Struct:
    """Return what is asked for; what is unknown, given twice or of the wrong kind is refused."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if name not in kind.__struct_fields__:
            raise Refused(400, f"there is no parameter {name!r}; known: {', '.join(kind.__struct_fields__) or 'none'}")
        if name in values:
            raise Refused(400, f"{name!r} is given twice")
        values[name] = value
    return convert(kind, values)


def find_own_path(address: str) -> str:
    """Return an address of this server as it is, and that of the first page for any other: none leads elsewhere.

    >>> find_own_path("/judge?queue=first"), find_own_path("//evil.example"), find_own_path("https://evil.example")
    ('/judge?queue=first', '/', '/')
    """
    is_own = address.startswith("/") and address[1:2] not in ("/", "\\") and len(address) <= _LONGEST_ADDRESS
    return address if is_own and address.isascii() and address.isprintable() else "/"


def link_sign_in(request: Request) -> str:
    """Return the address on which somebody signs in and goes on with what was asked for."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return "/sign-in" if find_own_path(path) == "/" else f"/sign-in?{urlencode({'next': path})}"


def find_missing(kind: type[Struct], pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Return the names of what has to be asked for, and is not."""
    filled = {name for name, value in pairs if value}
    return {own.name for own in msgspec.structs.fields(kind) if own.required} - filled


def wants_html(request: Request) -> bool:
    """Return whether a browser asks for a page."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def convert(kind: type[Struct], values: Mapping[str, Any], *, strict: bool = False) -> Struct:
    """Return plain values as a typed value."""
    try:
        return msgspec.convert(dict(values), kind, strict=strict)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise Refused(400, _say_wrong(f"{error}")) from None


def _say_wrong(message: str) -> str:
    """Return what is wrong with a value; a pattern is for programs, which find it at ``/api``.

    >>> _say_wrong("Expected `str` matching regex '^[a-z]$' - at `$.queue`")
    "the value of 'queue' does not have the form that it needs"
    """
    match = _PATTERN.fullmatch(message)
    return f"the value of {match[1]!r} does not have the form that it needs" if match else message


async def read_body(request: Request) -> bytes:
    """Return the body of a request, up to a limit of bytes and of seconds."""
    body = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST:
                    raise Refused(413, f"the body is longer than {LARGEST:,} bytes")
    except TimeoutError:
        raise Refused(408, f"the body was not there after {_PATIENCE:g} seconds") from None
    except ClientDisconnect:  # nobody reads the answer; what matters is that this is no bug
        raise Refused(400, "the connection was closed before the end of the body") from None
    return bytes(body)


async def read_fields(request: Request) -> tuple[dict[str, Any], bool]:
    """Return the fields of a form or of JSON, and whether it was JSON."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_body(request)
    if media == _JSON:
        try:
            return msgspec.json.decode(body, type=dict[str, Any]), True
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused(400, f"the body is not a JSON object: {error}") from None
    if media != _FORM:
        raise Refused(415, f"send {_JSON} or {_FORM}")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict")
    except ValueError:
        raise Refused(400, "the form cannot be read") from None
    return _collect(pairs), False


def _collect(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a form; ``name[key]`` is an entry of a mapping, and one without a value is left out.

    >>> _collect([("reason", ""), ("grades[wifi]", "3"), ("grades[pool]", "")])
    {'reason': '', 'grades': {'wifi': '3'}}
    """
    fields: dict[str, Any] = {}
    for name, value in pairs:
        stem, bracket, key = name.partition("[")
        held, key = (fields.setdefault(stem, {}), key[:-1]) if bracket and key.endswith("]") else (fields, name)
        if not isinstance(held, dict) or key in held:
            raise Refused(400, f"{name!r} is given twice")
        if held is fields or value:
            held[key] = value
    return fields
