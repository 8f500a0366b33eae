"""Records of sessions of a trial, and what a store has of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from karat.core import GoldenSet, Judgment, Query, Target
from karat.online import LoggedEvent, LoggedHit, LoggedQuery
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import event_row, query_row, shadow_row
from karat.online.trials import (
    TrialPlan,
)
from karat.store import open_store

START, IDLE, HOUR = 1_700_000_000.0, 1800.0, 3600.0
WHO: dict[str, Any] = {"author": "ada", "reason": "test"}
PLAN = TrialPlan(feature="rerank", source="sessions", measure="Success", must_show="", idle=IDLE)
Record = LoggedQuery | LoggedEvent | LoggedShadow
GOLDEN = GoldenSet(
    name="small",
    queries=(Query(id="q1", text="wifi", must_show=("a",)),),
    judgments=(
        Judgment(query="q1", target=Target(document="a"), grade=3),
        Judgment(query="q1", target=Target(document="b"), grade=0),
    ),
)


def ask(session: str, number: int, time: float, arm: str = "treatment", **fields: Any) -> LoggedQuery:
    hits = fields.pop("hits", ("a", "b", "c"))
    return LoggedQuery(
        f"{session}-{number}", time, fields.pop("text", "wifi"), session=session,
        hits=tuple(LoggedHit(name, rank) for rank, name in enumerate(hits, 1)), count=len(hits),
        flags={} if "attributes" in fields else {"rerank": arm}, **fields,
    )  # fmt: skip


def end(session: str, time: float, value: float) -> LoggedEvent:
    return LoggedEvent(f"{session}-end-{time}", time, "task_outcome", session=session, value=value)


def put(path: Path, *records: Record) -> None:
    with open_store(path, write=True) as store, store.transaction():
        store.add_queries([query_row(own) for own in records if isinstance(own, LoggedQuery)])
        store.add_events([event_row(own) for own in records if isinstance(own, LoggedEvent)])
        store.add_shadow_runs([shadow_row(own) for own in records if isinstance(own, LoggedShadow)])


def count(path: Path) -> dict[str, dict[float, int]]:
    with open_store(path) as store:
        return store.trials.values(1)
