"""Reaching outside of this process: one HTTP client, one event loop, and packages that may not be installed."""

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.net._failures import Busy, NotAService, Unreachable
from karat.net._loop import describe_error, resolve
from karat.net._package import find_metadata, find_version, require_package
from karat.net._secrets import (
    Secrets,
    collect_secrets,
    hide_options,
    hide_secrets,
    hide_settings,
    is_secret_name,
    show_setting,
    strip_logins,
    strip_secrets,
)

if TYPE_CHECKING:
    from karat.net._client import Client, encode_json, find_message, parse_retry_after
    from karat.net._endpoint import Endpoint, read_variable
    from karat.net._source import find_requirement, format_extras, format_pip_line

__all__ = [
    "Busy",
    "Client",
    "Endpoint",
    "NotAService",
    "Secrets",
    "Unreachable",
    "collect_secrets",
    "describe_error",
    "encode_json",
    "find_message",
    "find_metadata",
    "find_requirement",
    "find_version",
    "format_extras",
    "format_pip_line",
    "hide_options",
    "hide_secrets",
    "hide_settings",
    "is_secret_name",
    "parse_retry_after",
    "read_variable",
    "require_package",
    "resolve",
    "show_setting",
    "strip_logins",
    "strip_secrets",
]

# Imported at first use: what asks no service needs no client.
_HOME = {
    **dict.fromkeys(("Client", "encode_json", "find_message", "parse_retry_after"), "_client"),
    **dict.fromkeys(("Endpoint", "read_variable"), "_endpoint"),
    **dict.fromkeys(("find_requirement", "format_extras", "format_pip_line"), "_source"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
