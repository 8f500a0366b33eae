"""JSON over HTTP with retries, for the services that a pipeline or an evaluation calls."""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from karat.core import SystemFailed
from karat.net._body import ACCEPTED, BadEncoding, read_blocks
from karat.net._connections import Connections
from karat.net._endpoint import Endpoint
from karat.net._failures import Busy, NotAService, Unreachable
from karat.net._http11 import Response
from karat.net._package import require_package
from karat.net._secrets import Secrets, collect_secrets

if TYPE_CHECKING:
    from ssl import SSLContext

_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Status codes for which a request is sent again."""
_WRONG_ADDRESS = frozenset({401, 403, 404, 405, 410, 415, 501})
"""Status codes that do not depend on the request's content: the next request will get the same."""
_MOST_BYTES = 1 << 26
"""Bytes of a response, unpacked: an answer to a question has kilobytes, and a batch of embeddings ten megabytes."""
_LONG = 600  # digits of a number; Python reads 640 or more, and refuses more than 4,300 unless told otherwise
_SHOWN = 1000  # characters of a service's message


class _Request(NamedTuple):
    method: str
    url: str
    body: bytes


class _Answer(NamedTuple):
    status: int
    reason: str
    pause: float
    """The seconds after which the service wants to be asked again; 0 if it does not say."""
    body: bytes


@cache
def _load_certificates(file: str | None, folder: str | None) -> SSLContext:  # noqa: ARG001 (httpx2 reads the variables)
    """Return whom to trust, which takes longer to load than a request takes; every client of a process shares it."""
    import httpx2

    return httpx2.create_ssl_context()


class Client:
    """Sends requests to an endpoint, from any number of threads; ``kind`` names the service in messages."""

    def __init__(self, endpoint: Endpoint, kind: str) -> None:
        self._httpx = require_package("httpx2", install="httpx2", purpose=f"a {kind} behind HTTP")
        self._endpoint, self._kind = endpoint, kind
        headers = endpoint.read_headers()
        self.secrets = collect_secrets(endpoint.url, headers)
        trust = _load_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        self._client = self._httpx.Client(
            timeout=endpoint.timeout,
            headers={"Content-Type": "application/json", "Accept-Encoding": ACCEPTED, **headers},
            verify=trust,
            proxy=endpoint.proxy or None,
        )
        self._connections = Connections(self._client, endpoint.timeout, trust)
        weakref.finalize(self, _close, self._client, self._connections)

    def close(self) -> None:
        """Close the connections."""
        _close(self._client, self._connections)

    @property
    def name(self) -> str:
        """The address, without anything in it that may be secret."""
        return self._endpoint.name

    def post(self, body: Any) -> Any:
        """Send JSON to the address and return the JSON of the response; see :meth:`request`."""
        return self.request("POST", "", (body,))

    def post_encoded(self, data: bytes) -> Any:
        """Send JSON that is encoded already to the address, as :meth:`post` does."""
        return self._parse(self._send_with_retries(_Request("POST", self._endpoint.url, data)))

    def send(self, body: Any) -> None:
        """Send JSON to the address; a response that is a success may hold anything, or nothing."""
        self._send_with_retries(_Request("POST", self._endpoint.url, _encode((body,))))

    def is_up(self) -> bool:
        """Return whether the address answers a GET with success; False if it does not answer, or not yet (503 ...).

        Any other status raises NotAService: waiting does not change it.
        """
        try:
            status, reason, _, data = self._send(_Request("GET", self._endpoint.url, b""))
        except self._httpx.InvalidURL as error:
            raise self.failed(f"is not a usable URL: {error}") from None
        except BadEncoding:
            return False
        except self._connections.failures:
            return False
        if not 200 <= status < 300 and status not in _TRANSIENT:
            raise self.failed(self._describe(status, reason, data), NotAService)
        return status not in _TRANSIENT

    def request(self, method: str, path: str, values: Sequence[Any] = ()) -> Any:
        """Send JSON values, each on a line, to a path below the address, and return the JSON of the response.

        Raises Unreachable if there is no connection, NotAService if nothing of the kind is at the address, and
        SystemFailed with the service's message for other failures.
        """
        url = _join(self._endpoint.url, path) if path else self._endpoint.url
        return self._parse(self._send_with_retries(_Request(method, url, _encode(values))))

    def _parse(self, data: bytes) -> Any:
        try:
            return self.secrets.redact_value(_decode(data))
        except (ValueError, RecursionError):
            raise self.failed(f"an answer that is not JSON: {self._excerpt(data)}", NotAService) from None

    def failed(self, message: str, error: type[SystemFailed] = SystemFailed) -> SystemFailed:
        """Return the error for a message, in which secrets are hidden: a service may repeat the key it was sent."""
        return error(f"{self._kind} {self._endpoint.name}: {self.secrets.redact(message)}")

    def _describe(self, status: int, reason: str, data: bytes) -> str:
        """Return what a response that is no success says. A redirect is not followed: the key is for this address."""
        if 300 <= status < 400:
            return f"{status} {reason}: it leads elsewhere, which is not followed; name the address that answers"
        return f"{status} {reason}: {self._find_message(data)}"

    def _find_message(self, data: bytes) -> str:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        return find_message(answer, self.secrets) or self._excerpt(data)

    def _excerpt(self, data: bytes) -> str:
        """Return the beginning of a response that is not JSON."""
        text = data[: 8 * _SHOWN].decode(json.detect_encoding(data), errors="replace")
        return _on_one_line(text.replace("\0", ""), self.secrets) or "nothing"

    def _send_with_retries(self, request: _Request) -> bytes:
        """Send a request until it succeeds or the retries are used up, and return the response's body."""
        attempts = self._endpoint.retries + 1
        failure, requested = "", 0.0
        kind: type[SystemFailed] = Busy
        for attempt in range(attempts):
            pause = self._endpoint.backoff * 2**attempt
            try:
                status, reason, requested, data = self._send(request)
            except self._httpx.InvalidURL as error:
                raise self.failed(f"is not a usable URL: {error}") from None
            except BadEncoding as error:
                raise self.failed(str(error)) from None
            except self._connections.failures as error:
                failure = f"{type(error).__name__}: {error}"
                kind = Unreachable if isinstance(error, self._connections.unreachable) else Busy
            else:
                if 200 <= status < 300:
                    return data
                failure, kind = self._describe(status, reason, data), Busy
                if status not in _TRANSIENT:
                    raise self.failed(failure, NotAService if status in _WRONG_ADDRESS else SystemFailed)
                pause = max(pause, requested)
            if attempt + 1 < attempts:
                time.sleep(min(pause, self._endpoint.longest_pause))
        problem = self.failed(failure if attempts == 1 else f"{failure} (asked {attempts} times)", kind)
        if isinstance(problem, Busy):
            problem.pause = requested
        raise problem

    def _send(self, request: _Request) -> _Answer:
        """Send a request once, and return the response."""
        answer: _Answer = self._connections.send(*request, self._read)
        return answer

    def _read(self, response: Response) -> _Answer:
        data = bytearray()
        for block in read_blocks(response.body, response.get(b"content-encoding")):
            data += block
            if len(data) > _MOST_BYTES:
                hint = "ask for less at once: fewer hits (k), or smaller batches (batch)"
                raise self.failed(f"an answer of more than {_MOST_BYTES:,} bytes; {hint}")
        pause = parse_retry_after(response.get(b"retry-after"))
        return _Answer(response.status, response.reason.decode("ascii", "ignore"), pause, bytes(data))


def _close(client: Any, connections: Connections) -> None:
    connections.close()
    client.close()


def _join(url: str, path: str) -> str:
    """Return the address of a path below an address, with the parameters of both.

    >>> _join("https://host/base/?api_key=s3cret", "/docs/_bulk?refresh=true")
    'https://host/base/docs/_bulk?api_key=s3cret&refresh=true'
    """
    parts, more = urlsplit(url), urlsplit(path)
    query = "&".join(filter(None, (parts.query, more.query)))
    return parts._replace(path=parts.path.rstrip("/") + more.path, query=query, fragment="").geturl()


def encode_json(value: Any) -> bytes:
    """Return a value as JSON in ASCII: half of a surrogate pair, which a text may hold, cannot be sent otherwise."""
    return json.dumps(value, allow_nan=False).encode()


def _encode(values: Sequence[Any]) -> bytes:
    """Return values as JSON, each on a line if there are several."""
    lines = [encode_json(value) for value in values]
    return b"".join(line + b"\n" for line in lines) if len(lines) > 1 else b"".join(lines)


def _decode(data: bytes) -> Any:
    """Return the value of JSON, in which a number of more digits than Python reads is as good as infinite.

    >>> _decode(b'{"tokens": ' + b"9" * 5000 + b"}")
    {'tokens': inf}
    """
    try:
        return json.loads(data)
    except json.JSONDecodeError:
        raise
    except ValueError:  # also for bytes that are no text, which fail again
        return json.loads(data, parse_int=lambda digits: int(digits) if len(digits) < _LONG else float(digits))


def find_message(response: Any, secrets: Secrets | None = None) -> str:
    """Return the error message in a service's JSON, on one line, or an empty string if there is none.

    >>> find_message({"error": {"message": "no such model", "type": "invalid_request_error"}})
    'no such model'
    """
    while isinstance(response, dict):
        response = next(
            (response[name] for name in ("error", "message", "detail", "reason") if response.get(name)), None
        )
    return _on_one_line(response, secrets) if isinstance(response, str) else ""


def parse_retry_after(header: str) -> float:
    """Return the seconds that a Retry-After header asks for, which is a number or a date; 0 if it is neither.

    >>> parse_retry_after("1.5"), parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), parse_retry_after("soon")
    (1.5, 0.0, 0.0)
    """
    if not header:
        return 0.0
    from email.utils import parsedate_to_datetime  # takes 10 ms to import, and few responses have this header

    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):  # the day or the time zone may be any number
            return 0.0
    return max(0.0, seconds) if seconds == seconds else 0.0


def _on_one_line(text: str, secrets: Secrets | None) -> str:
    # Secrets are hidden before the text is shortened, which might cut one of them in two.
    line = " ".join(text[: 8 * _SHOWN].split())
    line = line if secrets is None else secrets.redact(line)
    shown = "".join(character if character.isprintable() else "?" for character in line)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
