"""Canaries: a feature comes to more and more sessions while it is fine, and goes back at once if it is not."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import structs

from karat.config import OnlineConfig
from karat.core import InputError, SystemFailed, count_things, did_you_mean
from karat.monitoring._arms import Arms, compare_arms, find_silence, read_arms
from karat.monitoring._times import format_time
from karat.online.flags import Flag, FlagConflict, change_flag, read_flag_history, read_flags
from karat.projects import Project
from karat.schema.watch import CanaryReport, CanaryRule, CanaryWindow
from karat.store import has_store, open_store

CANARY_AUTHOR = "karat canary"
"""Who changes a flag, in its history."""
Decision = Literal["promote", "hold", "roll back", "done", "off"]
_LONGEST = 900


def decide_canary(
    store: str | os.PathLike[str],
    flag: str,
    project: Project | None = None,
    *,
    config: OnlineConfig | None = None,
    now: float | None = None,
    apply: bool = False,
) -> CanaryReport:
    """Decide whether a feature goes on to the next share of sessions, stays, or is taken back.

    It goes on after some windows in a row in which it is fine, and is switched off after two alert windows in a row, or
    any change of the index at the same build. Windows are those since the flag was changed last, of the queries that
    log its variant. With ``apply`` the flag is changed, if it still has the version that was looked at.
    """
    chosen = config or (OnlineConfig() if project is None else project.config.online)
    moment = time.time() if now is None else now
    current, version = _find_flag(store, flag)
    changed = read_flag_history(store, flag)[-1].time
    windows: tuple[CanaryWindow, ...] = ()
    silence = ""
    if current.enabled and current.percent > 0:
        with open_store(store) as opened:
            arms = read_arms(opened, flag, chosen, changed, moment)
            windows = compare_arms(arms, project, chosen)
            notes = list(_list_notes(arms, changed))
            silence = find_silence(arms, current.percent, chosen, moment)
    else:
        notes = []
    decision, reason, following, measured = _decide(store, current, windows, chosen)
    if decision == "promote" and silence:
        decision, reason, following, measured = "hold", silence, current.percent, False
    report = CanaryReport(
        store=os.fspath(store),
        flag=flag,
        time=format_time(moment),
        decision=decision,
        reason=reason,
        percent=current.percent,
        next=following,
        version=version,
        applied=False,
        measured=measured,
        windows=windows,
        notes=tuple(notes),
    )
    return _carry_out(store, report) if apply and decision in ("promote", "roll back") else report


def _find_flag(store: str | os.PathLike[str], key: str) -> tuple[Flag, int]:
    try:
        flags = read_flags(store)
    except InputError as error:
        if has_store(store):  # it cannot be read, which is no mistake of whoever asks
            raise SystemFailed(str(error)) from None
        raise
    if key not in flags:
        hint = f"karat flag set {key} --percent 0 --reason ... makes it"
        raise InputError(f"no flag {key!r}{did_you_mean(key, flags)}", source=os.fspath(store), hint=hint)
    return flags[key]


def _list_notes(arms: Arms, changed: float) -> list[str]:
    if arms.waiting:
        return [
            (
                f"the window since {format_time(arms.waiting.start)} has "
                f"{count_things(arms.waiting.samples, 'query', 'queries')} so far"
            )
        ]
    return [] if arms.windows else [f"no query with a variant of the flag is logged since {format_time(changed)}"]


def _decide(
    store: str | os.PathLike[str], flag: Flag, windows: Sequence[CanaryWindow], config: OnlineConfig
) -> tuple[Decision, str, float, bool]:
    """Return the decision, why, the share that follows, and whether all that it needs was measured."""
    steps = config.canary.steps
    if not flag.enabled:
        return "off", "the flag is switched off: a person switches it on", 0.0, True
    if bad := _find_bad(windows):
        return "roll back", bad, 0.0, True
    if flag.percent >= steps[-1]:
        return "done", f"{flag.percent:g} % is the last step", flag.percent, True
    following = next(step for step in steps if step > flag.percent)
    if not flag.percent:
        return _decide_start(store, flag.key, following)
    needed = config.canary.windows
    last = windows[-needed:]
    if len(last) == needed and all(window.state == "fine" for window in last):
        span = f"{last[0].start} to {last[-1].end}"
        return "promote", f"{needed} windows in a row are fine ({span}): {_describe(last[-1])}", following, True
    if len(last) < needed and all(window.state == "fine" for window in last):
        return "hold", f"{len(windows)} of {needed} windows are complete since the flag was changed", flag.percent, True
    worst = next(window for window in reversed(last) if window.state != "fine")
    broken = [rule for rule in worst.rules if rule.state == worst.state]
    reason = _explain(broken)
    return (
        "hold", f"the window since {worst.start} is {_WORDS[worst.state]}: {reason}"[:_LONGEST], flag.percent,
        worst.state != "not measurable",
    )  # fmt: skip


def _explain(rules: Sequence[CanaryRule]) -> str:
    """Return why rules are not met, those with the same reason together."""
    if not rules:
        return "every alert that a canary has is switched off"
    names: dict[str, list[str]] = {}
    for rule in rules:
        what = rule.reason if rule.canary is None else f"is {rule.canary:.3g} ({rule.rule})"
        names.setdefault(what, []).append(rule.name)
    return "; ".join(
        f"{', '.join(dict.fromkeys(own))}{' ' if what.startswith('is ') else ': '}{what}" for what, own in names.items()
    )


_WORDS = {"firing": "not fine", "not measurable": "not measurable", "fine": "fine"}


def _find_bad(windows: Sequence[CanaryWindow]) -> str:
    """Return why a feature is taken back: a change of the index, or two alert windows in a row; empty if it is not."""
    for window in windows:
        for rule in window.rules:
            if rule.name == "index" and rule.state == "firing":
                return f"the index changed at the same build in the window since {window.start}: {rule.reason}"[
                    :_LONGEST
                ]
    for first, second in pairwise(windows):
        alerts = [sorted(_list_alerts(window)) for window in (first, second)]
        if all(alerts):
            names = dict.fromkeys(", ".join(own) for own in alerts)
            return f"alerts in two windows in a row, since {first.start}: {'; '.join(names)}"
    return ""


def _list_alerts(window: CanaryWindow) -> set[str]:
    return {rule.name for rule in window.rules if rule.state == "firing" and rule.kind == "alert"}


def _describe(window: CanaryWindow) -> str:
    values = (
        f"{rule.name} {rule.canary:.3g}" + ("" if rule.live is None else f" beside {rule.live:.3g}")
        for rule in window.rules
        if rule.canary is not None and rule.kind == "step"
    )
    beside = ", ".join(values) or "no alert fires, and nothing is compared with those that have not got it"
    return beside[: _LONGEST // 2]


def _decide_start(store: str | os.PathLike[str], key: str, following: float) -> tuple[Decision, str, float, bool]:
    """Decide whether a feature that nobody has may become a canary: the run recorded last for it has to have passed."""
    with open_store(store) as opened:
        latest = opened.trials.latest_run_of(key, "")
    if latest is None:
        hint = f"karat shadow gate ... --json, and karat online record --feature {key}, record one"
        return "hold", f"no run of {key!r} is recorded that says it is eligible; {hint}", 0.0, False
    name, outcome, *_ = latest
    if outcome != "pass":
        return "hold", f"run {name}, recorded last for {key!r}, is {outcome}", 0.0, True
    return "promote", f"run {name}, recorded last for {key!r}, passed", following, True


def _carry_out(store: str | os.PathLike[str], report: CanaryReport) -> CanaryReport:
    """Change the flag, if it still has the version that was looked at: of two who decide at once, one does."""
    changes: dict[str, object] = {"percent": report.next} if report.decision == "promote" else {"enabled": False}
    step = f"{report.percent:g} % to {report.next:g} %" if report.decision == "promote" else "off"
    try:
        change_flag(
            store,
            report.flag,
            changes,
            author=CANARY_AUTHOR,
            reason=f"{report.decision}, {step}: {report.reason}"[: _LONGEST + 50],
            expected=report.version,
        )
    except FlagConflict as conflict:
        return structs.replace(report, notes=(*report.notes, str(conflict)))
    return structs.replace(report, applied=True)


def canary_exit_code(report: CanaryReport) -> int:
    """Return the exit code of a decision: 0 it goes on or is done, 1 it is taken back, 4 nothing is decided."""
    return {"promote": 0, "done": 0, "roll back": 1, "hold": 4, "off": 4}[report.decision]
