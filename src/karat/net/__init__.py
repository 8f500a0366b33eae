"""Reaching outside of this process: one HTTP client, one event loop, and packages that may not be installed."""

from karat.net._client import Client, Endpoint, NotAService, Unreachable, find_message, parse_retry_after
from karat.net._loop import describe_error, resolve
from karat.net._package import find_version, require_package

__all__ = [
    "Client",
    "Endpoint",
    "NotAService",
    "Unreachable",
    "describe_error",
    "find_message",
    "find_version",
    "parse_retry_after",
    "require_package",
    "resolve",
]
