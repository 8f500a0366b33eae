"""The pages of trials and flags."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count
from karat.schema.trials import FlagChangeRow, FlagRow, TrialReport, TrialStatus

Act = Literal["decide", "stop", "reopen", "roll back", "off", "on"]


class TrialAct(Struct, frozen=True, kw_only=True):
    """Something that an admin can do to a trial or to a flag."""

    act: Act
    title: str
    effect: Annotated[str, Meta(description="What becomes of the trial, and of who gets the feature.")]
    why_not: Annotated[str, Meta(description="Why it cannot be done now; empty if it can.")] = ""


class TrialsPage(Struct, frozen=True, kw_only=True):
    """The trials of a project, the latest first, and its flags."""

    karat: Literal["page-trials"] = "page-trials"
    project: str
    store: str
    has_store: Annotated[bool, Meta(description="False if there is no store yet, in which there could be a trial.")]
    trials: tuple[TrialStatus, ...]
    total: Count
    more: Annotated[str | None, Meta(description="Where the next page begins; null if this is the last.")]
    flags: tuple[FlagRow, ...]


class TrialPage(Struct, frozen=True, kw_only=True):
    """A feature: one of its trials over time, its flag, and every change of both."""

    karat: Literal["page-trial"] = "page-trial"
    project: str
    feature: str
    report: Annotated[TrialReport | None, Meta(description="null for a feature that has a flag, and no trial.")]
    numbers: Annotated[tuple[int, ...], Meta(description="The numbers of all trials of the feature.")]
    flag: FlagRow | None
    changes: Annotated[tuple[FlagChangeRow, ...], Meta(description="The changes of the flag, the latest first.")]
    acts: Annotated[tuple[TrialAct, ...], Meta(description="What an admin can do now; nothing to an earlier trial.")]


class ConfirmPage(Struct, frozen=True, kw_only=True):
    """What is about to be done, before somebody gives a reason and confirms it."""

    karat: Literal["page-confirm"] = "page-confirm"
    project: str
    feature: str
    act: TrialAct
    status: Annotated[TrialStatus | None, Meta(description="What is known of the trial; null if it is about a flag.")]
    flag: FlagRow | None
