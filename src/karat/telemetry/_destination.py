"""Where telemetry goes: the standard variables of OpenTelemetry, or the table [telemetry] of a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from karat.config import TelemetryConfig

SIGNALS = ("traces", "metrics", "logs")
_BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_YES = ("true", "1", "yes", "span_only", "event_only", "span_and_event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The URL for each signal that is sent, and how."""

    urls: Mapping[str, str]
    """By signal: traces, metrics, logs."""
    prefix: str = "karat."
    content: bool = False
    timeout: float = 3.0
    problem: str = ""
    """Why nothing can be sent although an endpoint is configured; empty if it can."""


def find_destination(config: TelemetryConfig, environ: Mapping[str, str] | None = None) -> Destination | None:
    """Return where telemetry goes; None if no endpoint is configured, or the SDK is disabled.

    >>> find_destination(TelemetryConfig(), {}) is None
    True
    >>> find_destination(TelemetryConfig(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318/"}).urls["traces"]
    'http://127.0.0.1:4318/v1/traces'
    """
    variables = os.environ if environ is None else environ
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    urls = {signal: url for signal in SIGNALS if (url := _find_url(signal, config.endpoint, variables))}
    if not urls:
        return None
    return Destination(
        urls=urls,
        prefix=config.prefix,
        content=config.content or variables.get(_CONTENT, "").strip().lower() in _YES,
        timeout=config.timeout,
        problem=_find_problem(urls, variables) or _find_bad_url(urls),
    )


def _find_url(signal: str, configured: str, variables: Mapping[str, str]) -> str:
    """Return the URL of a signal: the variable of the signal, as it is; or a base, to which the path is added."""
    if variables.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip().lower() in ("none", "console"):
        return ""
    own = variables.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", "").strip()
    base = variables.get(_BASE, "").strip() or configured
    return own or (f"{base.rstrip('/')}/v1/{signal}" if base else "")


def _find_problem(urls: Mapping[str, str], variables: Mapping[str, str]) -> str:
    protocol = variables.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf").strip().lower()
    if protocol not in ("http/protobuf", ""):
        return f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and karat sends http/protobuf only"
    for signal, url in urls.items():
        if not url.lower().startswith(("http://", "https://")):  # it may hold a password, and is not shown
            own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
            return f"{own if variables.get(own, '').strip() else _BASE} does not begin with http:// or https://"
    return ""


def _find_bad_url(urls: Mapping[str, str]) -> str:
    """Return what is wrong with a URL, without a part of it: a password may be anywhere in it."""
    for signal, url in urls.items():
        try:
            parts = urlsplit(url)
            is_right = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_right = False
        if not is_right or "@" in f"{parts.path}{parts.query}{parts.fragment}":
            return f"the endpoint for {signal} is no URL of HTTP; a / or @ in a password is written as %2F or %40"
    return ""
