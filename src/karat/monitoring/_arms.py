"""The queries with a feature beside those without it, in the same windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from karat.config import OnlineConfig
from karat.core import count_things
from karat.feedback import MOST_PER_SESSION, find_told
from karat.monitoring._answers import measure_answers
from karat.monitoring._origins import collect_origins, find_drift, find_normaliser
from karat.monitoring._rules import describe_rule, is_beyond
from karat.monitoring._times import format_time
from karat.monitoring._traffic import (
    LOOK_BACK,
    Past,
    compare_p95,
    is_list,
    list_top,
    measure_traffic,
    missing,
    similarity_of,
)
from karat.monitoring._windows import Window, count_cells, partition
from karat.online import RE_SEARCH, LoggedQuery, LogReader
from karat.online.flags import CONTROL
from karat.projects import Project
from karat.schema.watch import AlertState, CanaryRule, CanaryWindow, WatchValue
from karat.stats import pick_evenly
from karat.store import Store
from karat.text import folded

_DIFFERENT = "the canary and the others have different normalisers, and are not compared: {} and {}"
_ROUNDING = 1e-9
_SILENCE = 0.001
"""The probability, by chance, of a silence that is believed to be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """The queries that log a variant of a flag, in their order."""

    canary: Sequence[LoggedQuery]
    live: Sequence[LoggedQuery]
    """Those of the control."""
    told: Mapping[str, tuple[float, ...]]
    """When events said that queries were asked again, by the ids of the queries."""
    windows: tuple[Window, ...]
    """The complete windows of the canary."""
    waiting: Window | None
    """The one that is still open."""
    cites: bool
    """Whether any answer of the history cites anything, with the feature or without."""


def read_arms(store: Store, flag: str, config: OnlineConfig, since: float, now: float) -> Arms:
    """Return the queries of both arms since a time, as far as the history goes back."""
    first = max(since, now - config.history_hours * 3600)
    canary: list[LoggedQuery] = []
    live: list[LoggedQuery] = []
    reader = LogReader(store)
    again = [event for event in reader.events(first, now) if event.kind == RE_SEARCH]
    about = {event.session for event in again} | {event.query for event in again}
    queries: list[LoggedQuery] = []  # an event may be about a query that has no variant
    for query in reader.queries(first, now):
        variant = query.flags.get(flag)
        if variant is not None:
            (live if variant == CONTROL else canary).append(query)
        if query.session in about or query.id in about:
            queries.append(query)
    cells = count_cells((query.time for query in canary), config.minutes * 60)
    until = now - config.late_seconds
    windows = partition(cells, seconds=config.minutes * 60, samples=config.samples, until=until)
    complete = tuple(window for window in windows if window.state == "complete")
    waiting = next((window for window in reversed(windows) if window.state == "open"), None)
    cites = any(query.citations for query in chain(live, canary)) or store.alerts.has_citations(
        now - config.history_hours * 3600
    )
    return Arms(
        canary=canary,
        live=live,
        told=find_told(queries, again),
        windows=complete,
        waiting=waiting,
        cites=cites,
    )


def compare_arms(arms: Arms, project: Project | None, config: OnlineConfig) -> tuple[CanaryWindow, ...]:
    """Return the windows of a canary, each with its alerts and the conditions of the next step."""
    windows = []
    for window in arms.windows[-config.shown :]:
        own, live = (_cut(queries, window) for queries in (arms.canary, arms.live))
        known = [query for query in arms.canary if query.time < window.end]
        before = [query for query in known if window.start - LOOK_BACK <= query.time < window.start]
        repeats = {
            name for name, times in arms.told.items() if any(window.start <= time < window.end for time in times)
        }
        again = repeats.intersection(query.id for query in known if query.session)
        rules = tuple(_judge(own, live, known, before, again, project, config, cites=arms.cites))
        states = {rule.state for rule in rules}
        unknown = "not measurable" in states or not states  # with every alert off, nothing is measured
        state: AlertState = "firing" if "firing" in states else "not measurable" if unknown else "fine"
        windows.append(
            CanaryWindow(
                start=format_time(window.start),
                end=format_time(window.end),
                samples=len(own),
                live=len(live),
                state=state,
                rules=rules,
            )
        )
    return tuple(windows)


def find_silence(arms: Arms, percent: float, config: OnlineConfig, now: float) -> str:
    """Return why windows that are complete say nothing of a canary as it is now; empty if they do.

    They are too old, or the canary went silent: the others have had more sessions since than chance leaves it out of.
    """
    if not arms.windows:
        return ""
    end = arms.windows[-1].end
    if now - end > config.stale_minutes * 60:
        return f"its newest complete window ended {(now - end) / 3600:.1f} hours ago, at {format_time(end)}"
    last = arms.canary[-1].time
    others = {query.session or query.id for query in arms.live if query.time > last}
    if (1 - percent / 100) ** len(others) < _SILENCE:
        return f"it logs nothing since {format_time(last)}, while {count_things(len(others), 'session')} without it did"
    return ""


def _cut(queries: Sequence[LoggedQuery], window: Window) -> list[LoggedQuery]:
    return [query for query in queries if window.start <= query.time < window.end]


def _thin(queries: Sequence[LoggedQuery]) -> list[LoggedQuery]:
    """Return queries with at most twenty of each session, so that no robot hides what people get."""
    sessions: dict[str, list[LoggedQuery]] = {}
    for query in queries:
        sessions.setdefault(f"s{query.session}" if query.session else f"q{query.id}", []).append(query)
    kept = (query for own in sessions.values() for query in pick_evenly(own, MOST_PER_SESSION))
    return sorted(kept, key=lambda query: (query.time, query.id))


def _judge(
    own: Sequence[LoggedQuery],
    live: Sequence[LoggedQuery],
    known: Sequence[LoggedQuery],
    before: Sequence[LoggedQuery],
    repeats: set[str],
    project: Project | None,
    config: OnlineConfig,
    *,
    cites: bool,
) -> Iterator[CanaryRule]:
    """Yield the alerts of the canary, and how it stands beside the others."""
    sides = [find_normaliser(collect_origins(queries)) for queries in (own, live)]
    mine, theirs = _thin(own), _thin(live)
    signals = measure_answers(mine, project, sides[0], config.least, lambda: cites)
    others = measure_answers(theirs, project, sides[1], config.least, lambda: cites)
    left_out = {query.id for query in own} - {query.id for query in mine}
    signals |= measure_traffic(mine, before, repeats - left_out, config.least)
    signals |= _compare(mine, theirs, sides, config)
    for what in ("index", "normaliser"):
        signals[what] = find_drift(what, collect_origins(own), collect_origins(known), len(own))
    for name, limit in config.alerts.items():
        if limit.on and name in signals:
            value = signals[name]
            bad = value.value is not None and is_beyond(name, value.value, limit.limit)
            yield _make_rule(name, value, None, f"an alert {describe_rule(name, limit)}", bad=bad)
    on = {name for name, limit in config.alerts.items() if limit.on}
    yield from _judge_step(signals, others, sides, on, config)


def _compare(
    own: Sequence[LoggedQuery], live: Sequence[LoggedQuery], sides: Sequence[str | None], config: OnlineConfig
) -> dict[str, WatchValue]:
    """Return the latency and the lists of the canary beside those of the others in the same window."""
    if sides[0] != sides[1] or sides[0] is None:
        return dict.fromkeys(("p95", "rank_similarity"), missing(_DIFFERENT.format(*map(_name, sides))))
    past = Past()
    past.add_latencies([query.latency for query in live if query.latency is not None], sides[0], config.least)
    old = {folded(query.text): list_top(query) for query in live if is_list(query)}
    new = {folded(query.text): list_top(query) for query in own if is_list(query)}
    pairs = {text: (old[text], new[text]) for text in new if text in old}
    return {
        "p95": compare_p95(own, past, sides[0], config.least, config.p95_ms),
        "rank_similarity": similarity_of(pairs, config.least, "texts that both were asked"),
    }


def _name(normaliser: str | None) -> str:
    return "several" if normaliser is None else normaliser or "none"


def _judge_step(
    signals: Mapping[str, WatchValue],
    others: Mapping[str, WatchValue],
    sides: Sequence[str | None],
    on: set[str],
    config: OnlineConfig,
) -> Iterator[CanaryRule]:
    """Yield the conditions of the next step that alerts do not have: no worse than the others, and nearer."""
    comparisons = {
        "coverage": ("coverage", 0.0, -1, "at least that of the others"),
        "divergent": ("divergent", 0.0, 1, "at most that of the others"),
    }
    if config.canary.recall_drop is not None:
        drop = config.canary.recall_drop
        comparisons["recall"] = ("recall", drop, -1, f"at most {drop:g} below that of the others")
    for name, (signal, slack, sign, rule) in comparisons.items():
        if name != "recall" and name not in on:
            continue
        mine, theirs = signals[signal], others[signal]
        if sides[0] != sides[1]:
            yield _make_rule(name, missing(_DIFFERENT.format(*map(_name, sides))), theirs, rule, bad=False)
        elif mine.value is None or theirs.value is None:
            reason = mine.reason or f"of the others: {theirs.reason}"
            yield _make_rule(name, WatchValue(value=None, n=mine.n, reason=reason), theirs, rule, bad=False)
        else:
            worse = sign * (mine.value - theirs.value) > slack + _ROUNDING
            yield _make_rule(name, mine, theirs, rule, bad=worse)
    if "delta_s_median" in on:
        value, limit = signals["delta_s_median"], config.canary.delta_s_median
        bad = value.value is not None and value.value > limit
        yield _make_rule("delta_s_median", value, WatchValue(value=limit, n=0), f"at most {limit:g}", bad=bad)


def _make_rule(name: str, value: WatchValue, live: WatchValue | None, rule: str, *, bad: bool) -> CanaryRule:
    """Return an alert, or, with the value of the others or a limit, a condition of the next step."""
    state: AlertState = "not measurable" if value.value is None else "firing" if bad else "fine"
    return CanaryRule(
        name=name,
        kind="alert" if live is None else "step",
        state=state,
        canary=value.value,
        live=None if live is None else live.value,
        rule=rule,
        reason=value.reason or ("; ".join(value.evidence) if bad else ""),
    )
