"""The pages of trials and flags: what is known, and what an admin can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.core import UsageError, did_you_mean
from karat.index import Index
from karat.online.flags import list_flags, set_flag, show_flag_history
from karat.online.trials import count_trials, decide_trial, page_trials, reopen_trial, show_trial, stop_trial
from karat.pages._addresses import fill_address
from karat.pages._errors import NotNow, NotThere
from karat.pages._store import LiveStore
from karat.pages._tables import Table
from karat.schema.pages import ConfirmPage, TrialAct, TrialPage, TrialsPage
from karat.schema.trials import FlagChangeRow, FlagRow, TrialReport, TrialStatus, TrialTransition

TRIAL = "/trials/{feature:path}"
_CHANGES = 50
_ALLOWED = {
    "graduate": ("Graduate", "The trial ends as graduated. If the feature has a flag, everybody gets the feature."),
    "harm-stop": ("Reject it as harmful", "The trial ends as rejected. If the feature has a flag, it is switched off."),
    "futile": ("Reject it as futile", "The trial ends as rejected. If the feature has a flag, it goes to 0 %."),
    "below-smallest-effect": ("Pause it", "The trial is paused, and a person has to decide. The flag stays as it is."),
}
_STOP = TrialAct(
    act="stop",
    title="Stop the trial",
    effect="The trial ends as rejected, whatever the evidence. Its flag stays as it is.",
)
_REOPEN = TrialAct(
    act="reopen", title="Reopen the trial", effect="It runs again, with all that was measured. Its flag stays as it is."
)
_CHANGED: dict[str, dict[str, object]] = {
    "roll back": {"percent": 0.0},
    "off": {"enabled": False},
    "on": {"enabled": True},
}
Feature = Annotated[str, Meta(min_length=1, max_length=1_000, description="The feature, which is the key of its flag.")]
Why = Annotated[str, Meta(max_length=900, pattern=r"\S", description="Why, for the history.")]
Who = Annotated[str, Meta(max_length=64, description="Who decides, where no token says it.")]


class TrialsRequest(Struct, frozen=True, kw_only=True):
    """Which trials."""

    after: Annotated[str, Meta(max_length=1_100, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 20


class TrialRequest(Struct, frozen=True, kw_only=True):
    """Which trial of which feature."""

    feature: Feature
    number: Annotated[int, Meta(ge=0, description="Of the feature's trials, from 1; 0 for the latest.")] = 0


class ConfirmRequest(Struct, frozen=True, kw_only=True):
    """What is to be confirmed."""

    feature: Feature
    act: Literal["decide", "stop", "reopen", "roll back", "off", "on"]


class TrialSent(Struct, frozen=True, kw_only=True):
    """A decision on a trial: which, why, and what the evidence allowed when somebody looked."""

    feature: Feature
    act: Literal["decide", "stop", "reopen"]
    number: Annotated[int, Meta(ge=1)]
    reason: Why
    expected: Annotated[str, Meta(max_length=40, description="What decide has to do; otherwise it does nothing.")] = ""
    who: Who = ""


class FlagSent(Struct, frozen=True, kw_only=True):
    """A change of a flag: which, why, and its version when somebody looked."""

    feature: Feature
    act: Literal["roll back", "off", "on"]
    version: Annotated[int, Meta(ge=1, description="It is changed only from this version.")]
    reason: Why
    who: Who = ""


def show_trials(index: Index, store: LiveStore, request: TrialsRequest) -> TrialsPage:
    """Return the trials of a project, the latest first, a page at a time, and its flags."""
    if not store.has_store:
        return TrialsPage(
            project=_name(index), store=store.name, has_store=False, trials=(), total=0, more=None, flags=()
        )
    listed, total = page_trials(store.place, before=_parse_key(request.after), most=request.limit + 1)
    shown = listed.trials[: request.limit]
    return TrialsPage(
        project=_name(index),
        store=store.name,
        has_store=True,
        trials=shown,
        total=total,
        more=f"{shown[-1].number}:{shown[-1].feature}" if len(listed.trials) > request.limit else None,
        flags=list_flags(store.place).flags,
    )


def _parse_key(text: str) -> tuple[str, int] | None:
    number, _, feature = text.partition(":")
    return (feature, int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else None


def show_one_trial(index: Index, store: LiveStore, request: TrialRequest) -> TrialPage:
    """Return a feature: a trial of it over time, its flag, and what can be done."""
    report, flag, trials = _read(store, request.feature, request.number)
    is_latest = report is None or report.status.number == trials
    return TrialPage(
        project=_name(index),
        feature=request.feature,
        report=report,
        numbers=tuple(range(1, trials + 1)),
        flag=flag,
        changes=_list_changes(store, request.feature) if flag is not None else (),
        acts=tuple(_list_acts(report.status if report else None, flag)) if is_latest else (),
    )


def show_confirmation(index: Index, store: LiveStore, request: ConfirmRequest) -> ConfirmPage:
    """Return what an act would do now; one that is not possible is refused with the reason."""
    report, flag, _ = _read(store, request.feature)
    status = report.status if report else None
    act = next((own for own in _list_acts(status, flag) if own.act == request.act), None)
    if act is None:
        raise NotNow(f"{request.act} is not possible as things are: look at the feature again")
    if act.why_not:
        raise NotNow(f"{act.title}: {act.why_not}")
    is_flag = act.act in _CHANGED
    return ConfirmPage(
        project=_name(index), feature=request.feature, act=act, status=None if is_flag else status, flag=flag
    )


def decide_on_trial(store: LiveStore, who: str, sent: TrialSent) -> tuple[TrialTransition, str]:
    """Carry out a decision on a trial; return what was done, and the address of the trial."""
    try:
        return _move(store, who, sent), link_trial(sent.feature, sent.number)
    except UsageError as error:
        raise NotNow(str(error)) from None


def _move(store: LiveStore, who: str, sent: TrialSent) -> TrialTransition:
    reason, number = sent.reason.strip(), sent.number
    if sent.act == "stop":
        return stop_trial(store.place, sent.feature, author=who, reason=reason, number=number)
    if sent.act == "reopen":
        return reopen_trial(store.place, sent.feature, author=who, reason=reason, number=number)
    outcome = decide_trial(
        store.place, sent.feature, author=who, reason=reason, number=number, expected=sent.expected or None
    )
    if outcome.transition is None:
        raise NotNow(f"the trial continues: {outcome.status.reason}")
    return outcome.transition


def change_one_flag(store: LiveStore, who: str, sent: FlagSent) -> tuple[FlagChangeRow, str]:
    """Change who gets a feature; return the change, and the address of the feature."""
    _require_flag(store, sent.feature)
    try:
        change = set_flag(
            store.place, sent.feature, _CHANGED[sent.act], author=who, reason=sent.reason.strip(), expected=sent.version
        )
    except UsageError as error:
        raise NotNow(str(error)) from None
    return change, link_trial(sent.feature)


def link_trial(feature: str, number: int = 0) -> str:
    """Return the address of a feature, or of one of its trials."""
    return fill_address(TRIAL, {"feature": feature, "number": number or None})


def table_trials(page: TrialsPage) -> Table:
    """Return a row for each trial, with its deciding measure."""
    head = ("feature", "trial", "status", "the evidence allows", "why", "differences", "looks", "measure", "mean",
            "low", "high")  # fmt: skip
    rows = [
        (own.feature, own.number, own.status, own.decision, own.reason, own.samples, own.looks,
         own.measures[0].measure, own.measures[0].mean, own.measures[0].low, own.measures[0].high)
        for own in page.trials
    ]  # fmt: skip
    return Table(head=head, rows=rows)


def table_trial(page: TrialPage) -> Table:
    """Return the trial over time: a row for each hour in which something was measured."""
    head = ("until", "differences", "mean", "low", "high", "log evidence better", "log evidence worse",
            "log evidence below the smallest effect")  # fmt: skip
    points = page.report.points if page.report else ()
    rows = [
        (own.time, own.n, own.mean, own.low, own.high, own.log_better, own.log_worse, own.log_below_effect)
        for own in points
    ]
    return Table(head=head, rows=rows)


def _read(store: LiveStore, feature: str, number: int = 0) -> tuple[TrialReport | None, FlagRow | None, int]:
    """Return a trial of a feature, its flag, and how many trials it has had; one with neither is not there."""
    if not store.has_store:
        raise NotThere(f"there is no store {store.name}, and no trial")
    flags = {flag.key: flag for flag in list_flags(store.place).flags}
    counts = count_trials(store.place)
    trials = counts.get(feature, 0)
    if number > trials or (not trials and feature not in flags):
        which = f"trial {number}" if number else "trial"
        raise NotThere(f"there is no {which} of {feature[:100]!r}{did_you_mean(feature, (*flags, *counts))}")
    report = show_trial(store.place, feature, number or None) if trials else None
    return report, flags.get(feature), trials


def _require_flag(store: LiveStore, feature: str) -> None:
    """Refuse a feature without a flag: a change would make one."""
    if not store.has_store or feature not in {flag.key for flag in list_flags(store.place).flags}:
        raise NotThere(f"there is no flag {feature[:100]!r}")


def _list_changes(store: LiveStore, feature: str) -> tuple[FlagChangeRow, ...]:
    return show_flag_history(store.place, feature).changes[: -_CHANGES - 1 : -1]


def _list_acts(status: TrialStatus | None, flag: FlagRow | None) -> Iterator[TrialAct]:
    """Yield what an admin can do to the latest trial of a feature, and to its flag."""
    if status is not None and status.status == "running":
        title, effect = _ALLOWED.get(status.decision, ("Decide", "Nothing: the trial goes on."))
        why_not = "" if status.decision in _ALLOWED else f"the trial goes on: {status.reason}"
        yield TrialAct(act="decide", title=title, effect=effect, why_not=why_not)
    if status is not None and status.status in ("running", "paused"):
        yield _STOP
    if status is not None and status.status != "running":
        yield _REOPEN
    if flag is None:
        return
    if flag.enabled and flag.percent > 0:
        effect = f"The flag goes from {flag.percent:g} % to 0 %: no session gets the feature any more, within a second."
        yield TrialAct(act="roll back", title="Roll back to 0 %", effect=effect)
    if flag.enabled:
        effect = "The kill switch: everybody gets the control within a second, and nothing runs in the shadow."
        yield TrialAct(act="off", title="Switch off", effect=effect)
    else:
        effect = f"The flag works again, at {flag.percent:g} % of sessions."
        yield TrialAct(act="on", title="Switch on", effect=effect)


def _name(index: Index) -> str:
    return index.meta.get("name", index.folder.name)
