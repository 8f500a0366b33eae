"""The pages on which people label, and see how far they agree."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from karat.schema._types import Count
from karat.schema.labelling import LabelAgreement, LabelQueue, LabelTask, ProposalSummary


class ShownText(Struct, frozen=True, kw_only=True):
    """The part of a document that a page shows: what a system returned, with what stands before and after."""

    before: str
    passage: str
    """Empty if it is not known which part a system returned."""
    after: str
    offset: Count
    """How many UTF-16 units of the document come before what is shown."""
    hidden: Count
    """How many characters are not shown."""


class JudgePage(Struct, frozen=True, kw_only=True):
    """The queues of a project, and a person's next pair."""

    karat: Literal["page-judge"] = "page-judge"
    who: str
    """Empty if nobody has said it yet; then no pair is asked."""
    is_local: bool
    """Whether the person may say who they are: there are no tokens that say it."""
    queues: tuple[LabelQueue, ...]
    """Empty where one of them is shown."""
    queue: LabelQueue | None
    task: LabelTask | None
    """Null if no queue is chosen, or nothing is left."""
    shown: ShownText | None
    key: str
    """What a label has to carry, so that it counts once however often it is sent."""
    guidelines: str
    can_undo: bool
    last: str
    """The person's last label, in words, and its document."""
    left_out: tuple[str, ...] = ()
    """Files of labels and queues that cannot be read, and are left out, and what to do."""


class AgreementPage(Struct, frozen=True, kw_only=True):
    """How far people agree."""

    karat: Literal["page-agreement"] = "page-agreement"
    queues: tuple[str, ...]
    queue: str
    """The queue that the numbers are about; empty for all."""
    settling: tuple[tuple[str, str], ...]
    """The queues in which disputes are settled, and by whom: the latest of each person."""
    mine: tuple[tuple[str, str], ...]
    """Those of them that who asks can open: all, where no token says who it is."""
    people: tuple[str, ...]
    """Who can be asked to settle disputes, as far as they are known."""
    agreement: LabelAgreement
    texts: dict[str, str]
    """The text of each disputed query."""
    later: Count = 0
    """Disputes that are not shown yet: who asks can still be asked about the pair, and judges it blind."""
    left_out: tuple[str, ...] = ()
    """Files of labels and queues that cannot be read, and are left out, and what to do."""


class ProposalsPage(Struct, frozen=True, kw_only=True):
    """The proposals of a project, the latest first."""

    karat: Literal["page-proposals"] = "page-proposals"
    state: str
    proposals: tuple[ProposalSummary, ...]
    total: Count
    more: str | None
    """What to pass as ``after`` to get the next ones; null after the last."""
    ready: dict[str, Count]
    """Queues with labels, and how many there are; those with the most finished pairs first, and disputes last."""
    finished: dict[str, Count] = {}
    """How many pairs of these queues have all the labels that they need."""
    left_out: tuple[str, ...] = ()
    """Files of proposals, labels and queues that cannot be read, and are left out, and what to do."""
