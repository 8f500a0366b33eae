"""The table ``[telemetry]``: where OpenTelemetry's spans, metrics and logs of a run are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.core import InputError, did_you_mean, shorten

_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "endpoint": (str, "a URL"),
    "prefix": (str, "text"),
    "content": (bool, "true or false"),
    "timeout": ((int, float), "a number of seconds"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryConfig:
    """What a project says about telemetry. The standard variables of the environment win over it."""

    endpoint: str = ""
    """The base URL of an OTLP/HTTP collector; empty for none."""
    prefix: str = "karat."
    """What the names of metrics begin with."""
    content: bool = False
    """Whether queries and documents are sent, too."""
    timeout: float = 3.0
    """Seconds that a command waits for the collector at its end."""


def read_telemetry(table: Mapping[str, Any], source: str) -> TelemetryConfig:
    """Return the table as a value; an unknown key or a value of the wrong type is an error."""
    for key, value in table.items():
        if key not in _KINDS:
            hint = did_you_mean(key, _KINDS) or f"; it has {', '.join(_KINDS)}"
            raise InputError(f"[telemetry] has no key {shorten(key)}{hint}", source=source)
        kinds, noun = _KINDS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise InputError(f"[telemetry] {key} is {shorten(value)}, not {noun}", source=source)
    config = TelemetryConfig(**table)
    if config.endpoint and not config.endpoint.startswith(("http://", "https://")):
        raise InputError(f"[telemetry] endpoint is {shorten(config.endpoint)}, not a URL", source=source)
    if not 0 <= config.timeout <= 600:
        raise InputError(f"[telemetry] timeout is {shorten(config.timeout)}; choose 0 to 600 seconds", source=source)
    return config
