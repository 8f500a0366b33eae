"""The pages of trials and flags, and what an admin can do there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from karat.index import Index
from karat.pages import (
    ConfirmRequest,
    FlagSent,
    LiveStore,
    NotThere,
    TrialRequest,
    TrialSent,
    TrialsRequest,
    change_one_flag,
    decide_on_trial,
    find_store,
    show_confirmation,
    show_one_trial,
    show_trials,
    table_trial,
    table_trials,
)
from karat.reports import render_trial_svg
from karat.schema.pages import TrialPage
from karat.schema.trials import TrialReport
from karat.server._page import Action, Done, Page, Show, Visit
from karat.server._people import name_person


@dataclass(frozen=True)
class TrialPicture:
    """The picture of ``karat trial report``."""

    report: TrialReport
    guardrail: str = ""
    """The measure that it is of; empty for the one that decides."""

    def render(self) -> str:
        """Return it as it stands in a page."""
        return render_trial_svg(self.report, styled=False, guardrail=self.guardrail)

    def export(self) -> str:
        """Return it as a file of its own."""
        return render_trial_svg(self.report, guardrail=self.guardrail)


def draw_trial(page: TrialPage, name: str = "") -> TrialPicture:
    """Draw a trial over time: the mean of the measure that decides, or of a guardrail, and the evidence."""
    if page.report is None:
        raise NotThere("the feature has no trial, and no picture")
    if name and name not in page.report.guardrails:
        raise NotThere(f"the trial has no guardrail {name[:100]!r}")
    return TrialPicture(page.report, name)


def of_store(show: Callable[[Index, LiveStore, Any], Struct]) -> Show:
    """Return a function of the index and the store as a page shows it."""
    return lambda visit, request: show(visit.index, find_store(visit.folder, visit.store), request)


def _by_admin(act: Callable[[LiveStore, str, Any], tuple[Struct, str]]) -> Callable[[Visit, Any], Done]:
    """Return a change of the store as an action does it."""

    def run(visit: Visit, sent: Any) -> Done:
        store = find_store(visit.folder, visit.store)
        if not store.has_store:
            raise NotThere(f"there is no store {store.name}")
        document, address = act(store, name_person(visit, sent.who), sent)
        return Done(document=document, address=address, subject=f"{sent.act}: {sent.feature}")

    return run


TRIAL_PAGES: tuple[Page, ...] = (
    Page(
        name="trials",
        address="/trials",
        request=TrialsRequest,
        show=of_store(show_trials),
        document="page-trials",
        template="trials.html",
        about="The trials of features on live traffic, and the flags that say who gets them.",
        table=table_trials,
        label="Trials",
        key="t",
    ),
    Page(
        name="trial",
        address="/trials/{feature:path}",
        request=TrialRequest,
        show=of_store(show_one_trial),
        document="page-trial",
        template="trial.html",
        about="One trial: its evidence, what is missing for a decision, its flag, and who changed what.",
        part_of="trials",
        table=table_trial,
        charts={"evidence": draw_trial},
    ),
    Page(
        name="confirm",
        address="/confirm",
        request=ConfirmRequest,
        show=of_store(show_confirmation),
        document="page-confirm",
        template="confirm.html",
        about="What a decision on a trial or a flag would do, before it is taken.",
        part_of="trials",
        role="admin",
    ),
)
TRIAL_ACTIONS: tuple[Action, ...] = (
    Action(
        name="decide trial",
        address="/trials/decide",
        request=TrialSent,
        act=_by_admin(decide_on_trial),
        document="trial-transition",
        about="Stop or reopen a trial, or carry out what its evidence allows; the same as karat trial.",
        role="admin",
    ),
    Action(
        name="change flag",
        address="/flags/change",
        request=FlagSent,
        act=_by_admin(change_one_flag),
        document="flag-change",
        about="Roll a feature back, or throw its kill switch; the same as karat flag set.",
        role="admin",
    ),
)
