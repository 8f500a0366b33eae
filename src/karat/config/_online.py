"""The table ``[online]`` of karat.toml: where live traffic is logged, how it is watched, and when that is an alert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from karat.core import InputError, did_you_mean, shorten

_DAY = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLimit:
    """When a signal is an alert. Which side of the limit is the bad one is the signal's."""

    limit: float | None
    """None for an alert that has none: a change of the index is one or is not."""
    minutes: float = 0.0
    """For how long, in windows one after the other, it has to be beyond the limit."""
    on: bool = True


ALERTS: Mapping[str, AlertLimit] = MappingProxyType(
    {
        "coverage": AlertLimit(limit=0.70, minutes=5),
        "citation": AlertLimit(limit=0.95, minutes=5),
        "delta_s_p90": AlertLimit(limit=0.60, minutes=3),
        "delta_s_median": AlertLimit(limit=0.45, minutes=3),
        "divergent": AlertLimit(limit=0.10),
        "index": AlertLimit(limit=None),
        "normaliser": AlertLimit(limit=None),
        "rank_similarity": AlertLimit(limit=0.6, minutes=5),
        "p95": AlertLimit(limit=0.30),
        "errors": AlertLimit(limit=0.05, minutes=5),
        "nothing_found": AlertLimit(limit=0.20, minutes=5),
        "asked_again": AlertLimit(limit=0.30, minutes=5),
        "silence": AlertLimit(limit=60),
        "dropped": AlertLimit(limit=0),
    }
)
"""The alerts with their defaults; the first nine are those of blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryConfig:
    """The table ``[online.canary]``: how a feature comes to everybody."""

    steps: tuple[float, ...] = (5.0, 25.0, 50.0, 100.0)
    """The shares of sessions, in percent, one after the other."""
    windows: int = 2
    """How many windows in a row have to be fine before the next step."""
    delta_s_median: float = 0.40
    """What the canary's median may be at most."""
    recall_drop: float | None = 0.02
    """By how much its R@5 on questions of the golden set may be lower than that of the others; None: not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineConfig:
    """Where live traffic is logged, and how it is watched."""

    store: str = ""
    """The store of the log: a path from the project's folder, or an address that begins with ``postgresql://``; empty
    for ``karat.db`` in that folder."""
    samples: int = 200
    """The least number of queries in a window."""
    minutes: int = 5
    """The least length of a window; a whole number of them makes a day."""
    late_seconds: float = 60.0
    """How long after its end a window is waited for: records may come late."""
    stale_minutes: float = 6 * 60.0
    """How old the newest window may be."""
    history_hours: float = 24.0
    """How far back windows are looked at, for what is normal."""
    shown: int = 12
    """How many windows are measured, the newest."""
    least: int = 20
    """With how few values a signal is not measured."""
    p95_ms: float | None = None
    """The p95 to compare with, in milliseconds; that of the windows before, if it is not given."""
    alerts: Mapping[str, AlertLimit] = field(default_factory=lambda: ALERTS)
    canary: CanaryConfig = field(default_factory=CanaryConfig)


def read_online(table: Mapping[str, Any], source: str) -> OnlineConfig:
    """Return the table as a typed value; InputError for an unknown key or a value that makes no sense.

    >>> config = read_online({"samples": 50, "alerts": {"coverage": False, "p95": {"limit": 0.5}}}, "karat.toml")
    >>> config.samples, config.alerts["coverage"].on, config.alerts["p95"].limit, config.alerts["citation"].limit
    (50, False, 0.5, 0.95)
    """
    names = [entry.name for entry in fields(OnlineConfig)]
    _require_known(table, names, "online", source)
    numbers = {name: value for name, value in table.items() if name not in ("store", "alerts", "canary")}
    for name, value in numbers.items():
        whole = name in ("samples", "minutes", "shown", "least")
        _require_number(value, f"[online] {name}", source, whole=whole, least=1 if whole else 0)
    minutes = numbers.get("minutes", OnlineConfig().minutes)
    if _DAY % minutes:
        raise InputError(f"[online] minutes = {minutes}; a day is no whole number of them", source=source)
    return OnlineConfig(
        **numbers,
        store=_read_store(table.get("store", ""), source),
        alerts=_read_alerts(_require_table(table, "alerts", source), source),
        canary=_read_canary(_require_table(table, "canary", source), source),
    )


def _read_store(value: Any, source: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise InputError(f"[online] store = {shorten(value)}; write a path or an address in quotes", source=source)
    return value


def _read_alerts(table: Mapping[str, Any], source: str) -> Mapping[str, AlertLimit]:
    _require_known(table, ALERTS, "online.alerts", source)
    return MappingProxyType(
        {name: _read_alert(name, default, table.get(name, True), source) for name, default in ALERTS.items()}
    )


def _read_alert(name: str, default: AlertLimit, value: Any, source: str) -> AlertLimit:
    where = f"[online.alerts] {name}"
    if isinstance(value, bool):
        return replace(default, on=value)
    if not isinstance(value, Mapping):
        value = {"limit": value}
    _require_known(value, ("limit", "minutes"), f"online.alerts.{name}", source)
    if "limit" in value and default.limit is None:
        raise InputError(f"{where} has no limit: a change is one", source=source, hint=f"write {name} = true or false")
    for key, number in value.items():
        _require_number(number, f"{where} {key}", source)
    return replace(default, **value)


def _read_canary(table: Mapping[str, Any], source: str) -> CanaryConfig:
    _require_known(table, [entry.name for entry in fields(CanaryConfig)], "online.canary", source)
    values = dict(table)
    if "steps" in values:
        values["steps"] = _read_steps(values["steps"], source)
    if values.get("recall_drop") is False:
        values["recall_drop"] = None
    for name in ("windows", "delta_s_median", "recall_drop"):
        if values.get(name) is not None:
            whole = name == "windows"
            _require_number(values[name], f"[online.canary] {name}", source, whole=whole, least=int(whole))
    return CanaryConfig(**values)


def _read_steps(steps: Any, source: str) -> tuple[float, ...]:
    if not isinstance(steps, list) or not steps:
        raise InputError(f"[online.canary] steps = {shorten(steps)}; write a list of percents", source=source)
    for step in steps:
        _require_number(step, "[online.canary] steps", source)
    if not all(0 < step <= 100 for step in steps) or sorted(set(steps)) != steps:
        raise InputError(
            f"[online.canary] steps = {shorten(steps)}; write percents that rise, up to 100", source=source
        )
    return tuple(map(float, steps))


def _require_known(table: Mapping[str, Any], names: Any, where: str, source: str) -> None:
    for key in table:
        if key not in names:
            hint = did_you_mean(key, names) or f"; known: {', '.join(names)}"
            raise InputError(f"[{where}] has no key {shorten(key)}{hint}", source=source)


def _require_table(table: Mapping[str, Any], name: str, source: str) -> Mapping[str, Any]:
    value = table.get(name, {})
    if not isinstance(value, Mapping):
        raise InputError(f"[online] {name} is {shorten(value)}, not a table", source=source, hint=f"[online.{name}]")
    return value


def _require_number(value: Any, where: str, source: str, *, whole: bool = False, least: float = 0) -> None:
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not least <= value < float("inf"):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{where} = {shorten(value)}; write {kind}, {least:g} or more", source=source)
