"""The alerts: which side of a limit is the bad one, and what that is in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from karat.config import AlertLimit
from karat.monitoring._windows import Window
from karat.schema.watch import WatchAlert, WatchState, WatchValue

_ROUNDING = 1e-9
"""130 ms is 0.30000000000000004 more than 100 ms."""
Side = Literal["below", "from", "above"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """What an alert is about."""

    title: str
    side: Side
    """The values that are an alert: below the limit, from it on, or above it."""


RULES: Mapping[str, AlertRule] = {
    "coverage": AlertRule(title="answers that cite what is relevant", side="below"),
    "citation": AlertRule(title="citations of the right place", side="below"),
    "delta_s_p90": AlertRule(title="p90 of delta-S", side="from"),
    "delta_s_median": AlertRule(title="median of delta-S", side="from"),
    "divergent": AlertRule(title="questions whose answers diverge", side="from"),
    "index": AlertRule(title="queries by another index of the same build", side="above"),
    "normaliser": AlertRule(title="queries by another normaliser of the same build", side="above"),
    "rank_similarity": AlertRule(title="tau-b of the first ten with those before", side="below"),
    "p95": AlertRule(title="rise of p95 over the baseline", side="above"),
    "errors": AlertRule(title="queries that ended with an error", side="from"),
    "nothing_found": AlertRule(title="queries that found nothing", side="from"),
    "asked_again": AlertRule(title="queries that were asked again", side="from"),
    "silence": AlertRule(title="minutes since the newest query", side="from"),
    "dropped": AlertRule(title="records that hosts dropped since the last look", side="above"),
}


def is_beyond(name: str, value: float, limit: float | None) -> bool:
    """Return whether a value is on the bad side of a limit.

    >>> is_beyond("coverage", 0.70, 0.70), is_beyond("delta_s_p90", 0.60, 0.60), is_beyond("p95", 130 / 100 - 1, 0.3)
    (False, True, False)
    """
    side, over = RULES[name].side, value - (limit or 0.0)
    return over < -_ROUNDING if side == "below" else over >= -_ROUNDING if side == "from" else over > _ROUNDING


def describe_rule(name: str, limit: AlertLimit) -> str:
    """Return when an alert fires, in words.

    >>> describe_rule("coverage", AlertLimit(limit=0.7, minutes=5)), describe_rule("index", AlertLimit(limit=None))
    ('below 0.7 for 5 min', 'if there is any')
    >>> describe_rule("silence", AlertLimit(limit=60))
    'from 60 min'
    """
    unit = " min" if name == "silence" else ""
    held = f" for {limit.minutes:g} min" if limit.minutes else ""
    return "if there is any" if limit.limit is None else f"{RULES[name].side} {limit.limit:g}{unit}{held}"


def judge_alert(
    name: str, limit: AlertLimit, windows: Sequence[tuple[Window, WatchValue]], opened: str | None = None
) -> WatchAlert:
    """Return an alert by its signal in windows that are complete, the oldest first.

    It fires if the newest window is beyond the limit, and so are windows before it, without one that is not, for as
    long as it says; until then it is beyond. What is not measured in the newest window is not measurable.
    """
    value = windows[-1][1]
    held = 0.0
    for window, earlier in reversed(windows):
        if earlier.value is None or not is_beyond(name, earlier.value, limit.limit):
            break
        held += window.minutes
    state: WatchState = "not measurable"
    if value.value is not None:
        beyond = is_beyond(name, value.value, limit.limit)
        state = "fine" if not beyond else "firing" if held >= limit.minutes else "beyond"
    return make_alert(name, limit, value, state, minutes=held, opened=opened)


def make_alert(
    name: str,
    limit: AlertLimit,
    value: WatchValue,
    state: WatchState,
    *,
    minutes: float = 0.0,
    opened: str | None = None,
) -> WatchAlert:
    """Return an alert in some state."""
    return WatchAlert(
        name=name,
        title=RULES[name].title,
        state=state,
        value=value.value,
        n=value.n,
        limit=limit.limit,
        rule=describe_rule(name, limit),
        minutes=minutes,
        reason=value.reason,
        evidence=value.evidence,
        opened=opened,
        minutes_needed=limit.minutes,
    )
