"""OTLP over HTTP, without a socket: what a request holds, and the answer to it, as its specification wants them.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import InputError, SystemFailed
from karat.net import require_package
from karat.online.receiving._density import check_density
from karat.online.receiving._receiver import Overloaded, Receiver
from karat.traces.spans import Batch, TooMany, read_json_request, read_message

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LARGEST_BODY = 16 << 20  # bytes, packed and unpacked
_RETRY = {"Retry-After": "5"}
_INVALID, _UNAVAILABLE = 3, 14  # codes of google.rpc.Status
METRICS = "/v1/metrics"
_SIGNALS = {
    "/v1/traces": ("trace", "ExportTraceService", "rejected_spans"),
    "/v1/logs": ("logs", "ExportLogsService", "rejected_log_records"),
    METRICS: ("metrics", "ExportMetricsService", ""),
}
PATHS = frozenset(_SIGNALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer."""

    status: int
    body: bytes
    type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class BadRequest(Exception):
    """A request that is answered by a status other than 200, for a reason that is counted."""

    def __init__(self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.reason, self.headers = status, reason, headers or {}


def load(module: str) -> Any:
    """Return a module of what decodes OTLP; raise with the way to install it if it is missing."""
    return require_package(module, purpose="karat online receive", extra="otel")


def answer_export(receiver: Receiver, path: str, headers: Mapping[str, str], body: bytes) -> Response:
    """Take the body of a POST to one of ``PATHS``; return the answer. Names of headers are in small letters."""
    kind = find_type(headers)
    plain = unpack(body, headers.get("content-encoding", ""))
    if path == METRICS:
        receiver.count("ignored.requests with metrics")
        return _make_response(path, kind, 0, "")
    try:
        done = receiver.accept(_decode(path, kind, plain))
    except Overloaded as error:
        raise BadRequest(429, "overloaded", str(error), _RETRY) from None
    except SystemFailed as error:
        raise BadRequest(503, "unavailable", str(error), _RETRY) from None
    return _make_response(path, kind, done.rejected, done.problem)


def find_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a request, or refuse it."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise BadRequest(415, "media_type", f"send {PROTOBUF} or {JSON}")
    return kind


def unpack(body: bytes, encoding: str) -> bytes:
    """Return a body as it was before it was packed; no more of it is unpacked than is allowed."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BadRequest(415, "encoding", "send it as it is, or packed with gzip", {"Accept-Encoding": "gzip"})
    parts: list[bytes] = []
    room = LARGEST_BODY
    try:
        while body:
            packed = zlib.decompressobj(wbits=31)
            part = packed.decompress(body, room + 1)
            room -= len(part)
            if room < 0:
                raise too_large()
            if not packed.eof:
                raise zlib.error("it is cut off")
            parts.append(part)
            body = packed.unused_data
    except zlib.error as error:
        raise BadRequest(400, "malformed", f"the body cannot be unpacked: {error}") from None
    return b"".join(parts)


def too_large() -> BadRequest:
    """Return the refusal of a body that is larger than is allowed."""
    return BadRequest(413, "too_large", f"a body may have {LARGEST_BODY >> 20} MB; send smaller batches")


def _decode(path: str, kind: str, body: bytes) -> Batch:
    try:
        request = None if kind == JSON else _message(path, "Request")
        check_density(body, request)
        if request is None:
            value = json.loads(body)
            if not isinstance(value, dict):
                raise ValueError("it is not an object")
            return read_json_request(value, "the body")
        return read_message(request.FromString(body))
    except TooMany as error:
        raise BadRequest(413, "too_large", str(error)) from None
    except (ValueError, RecursionError, InputError) as error:
        raise BadRequest(400, "malformed", f"the body cannot be read: {error}") from None
    except Exception as error:
        if not isinstance(error, load("google.protobuf.message").DecodeError):
            raise
        raise BadRequest(400, "malformed", f"the body cannot be read: {error}") from None


def _message(path: str, what: str) -> Any:
    """Return the class of a request or a response."""
    signal, name, _ = _SIGNALS[path]
    return getattr(load(f"opentelemetry.proto.collector.{signal}.v1.{signal}_service_pb2"), f"{name}{what}")


def _make_response(path: str, kind: str, rejected: int, problem: str) -> Response:
    message, count = _message(path, "Response")(), _SIGNALS[path][2]
    if rejected and count:
        setattr(message.partial_success, count, rejected)
        message.partial_success.error_message = problem[:1000]
    return Response(status=200, body=_encode(message, kind), type=kind)


def make_refusal(refusal: BadRequest, kind: str) -> Response:
    """Return the answer to a request that was refused, with a Status of google.rpc in the type of the request."""
    code = _UNAVAILABLE if refusal.status in (429, 503) else _INVALID
    body = _encode(load("google.rpc.status_pb2").Status(code=code, message=str(refusal)[:1000]), kind)
    return Response(status=refusal.status, body=body, type=kind, headers=refusal.headers)


def _encode(message: Any, kind: str) -> bytes:
    if kind == PROTOBUF:
        return bytes(message.SerializeToString())
    return json.dumps(load("google.protobuf.json_format").MessageToDict(message), separators=(",", ":")).encode()
