"""Sending what alerts say to a webhook: each message once. One that is down costs nothing but a note."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from karat.core import KaratError, UsageError
from karat.net import Client, Endpoint, hide_secrets
from karat.store import open_store

KEPT_SECONDS = 86_400.0
"""How long a message is tried to be sent; what is older is news no more."""
_TIMEOUT = 10.0
_RETRIES = 2


def send_notices(
    store: str | os.PathLike[str],
    url: str,
    *,
    now: float | None = None,
    timeout: float = _TIMEOUT,
    retries: int = _RETRIES,
    backoff: float = 0.5,
) -> tuple[int, str]:
    """Send what alerts have to say and was not sent yet; return how many messages were sent, and what went wrong.

    Each is sent once, however many watchers there are, and in the order in which it came about. One that cannot be
    sent is tried again at the next look, for a day. Nothing but a wrong address raises.
    """
    place = name_webhook(url)
    endpoint = Endpoint(url=url, timeout=timeout, retries=retries, backoff=backoff, longest_pause=timeout)
    moment = time.time() if now is None else now
    with open_store(store, write=True) as opened:
        notices = opened.alerts.unsent(moment - KEPT_SECONDS, moment)
        if not notices:
            return 0, ""
        client = Client(endpoint, "webhook")
        sent = 0
        try:
            for key, body, _ in notices:
                with opened.transaction():
                    claimed = opened.alerts.claim(key, moment)
                if not claimed:
                    continue
                problem = _try(lambda body=body: client.send(msgspec.json.decode(body)), place, url)  # type: ignore[misc]
                with opened.transaction():
                    if problem:
                        opened.alerts.mark_failed(key, problem)
                        return sent, problem
                    opened.alerts.mark_sent(key, moment)
                sent += 1
        finally:
            client.close()
    return sent, ""


def name_webhook(url: str) -> str:
    """Return the name of a webhook: its host, because the path of many is their key.

    >>> name_webhook("https://hooks.example.org/services/T0/s3cret")
    'https://hooks.example.org'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None  # Endpoint would show the path
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError("the address of the webhook is not usable; write one such as https://host/path")
    return f"{parts.scheme}://{host}"


def _try(send: Callable[[], None], place: str, url: str) -> str:
    """Return why something could not be sent, without what is secret; empty if it was."""
    try:
        send()
    except KaratError as error:
        text = str(error)
        parts = [part for part in urlsplit(url).path.split("/") if part]
        text = text.replace(Endpoint(url=url).name, place)
        for part in parts:
            text = text.replace(part, "...")
        return hide_secrets(text)[:1000]
    return ""
