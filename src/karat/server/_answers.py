"""A document as an answer: HTML, JSON, CSV or SVG, and errors as pages without anything of the inside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from karat.pages import Table
from karat.reports import disarm
from karat.schema import to_json

_TITLES = {
    202: "Being computed",
    400: "Not understood",
    401: "Sign in",
    403: "Not allowed",
    404: "Not there",
    405: "Not possible",
    408: "Too slow",
    409: "Not possible now",
    413: "Too large",
    415: "Not understood",
    422: "Not possible",
    429: "Too many tries",
    500: "Something went wrong",
    503: "Cannot be reached",
}


def answer_text(
    request: Request, body: str, media: str, status: int = 200, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an answer that a browser asks for again only if it has changed."""
    data = body.encode("utf-8", "replace")
    tag = f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'
    if status == 200 and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag, **(headers or {})})
    extra = {"etag": tag} if status == 200 else {}
    return Response(data, status, {**extra, **(headers or {})}, f"{media}; charset=utf-8")


def answer_json(request: Request, document: Struct | dict[str, Any], status: int = 200) -> Response:
    """Return a document as JSON."""
    return answer_text(request, to_json(document) + "\n", "application/json", status)


def answer_csv(request: Request, table: Table, name: str) -> Response:
    """Return rows as CSV (RFC 4180), in which no spreadsheet computes anything."""
    rows = [table.head, *table.rows]
    body = "".join(",".join(map(_quote, row)) + "\r\n" for row in rows)
    return answer_text(request, body, "text/csv", headers=_attach(name, "csv"))


def answer_svg(request: Request, picture: str, name: str) -> Response:
    """Return a picture as a file of its own."""
    return answer_text(request, picture, "image/svg+xml", headers=_attach(name, "svg"))


def name_status(status: int) -> str:
    """Return what a status means, as the heading of its page."""
    return _TITLES.get(status, "Not possible")


def _attach(name: str, kind: str) -> dict[str, str]:
    safe = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)[:60]
    return {"content-disposition": f'attachment; filename="karat-{safe}.{kind}"'}


def _quote(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return '"{}"'.format(disarm(value).replace('"', '""'))
    return f"{value}"
