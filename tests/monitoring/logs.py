"""Logs with queries at chosen times, and looks at them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from karat.config import OnlineConfig
from karat.monitoring import watch
from karat.online import LoggedEvent, LoggedHit, LoggedQuery
from karat.online._stored import event_row, query_row
from karat.schema.watch import WatchAlert, WatchReport
from karat.store import open_store

DAY = 1_700_006_400.0
"""The beginning of a day in UTC: 2023-11-15."""
ALL = ("errors", "nothing_found", "p95", "index", "coverage")


def make_query(name: str, time: float, text: str = "wifi?", **fields: Any) -> LoggedQuery:
    documents = fields.pop("documents", ("wifi", "pool"))
    hits = tuple(LoggedHit(document, rank) for rank, document in enumerate(documents, 1))
    return LoggedQuery(name, time, text, hits=hits, **{"count": len(hits), "session": name, "latency": 100.0, **fields})


def make_window(number: int, size: int = 20, **fields: Any) -> list[LoggedQuery]:
    """Return the queries of the window with a number in the day: ``size``, each in other words."""
    start = DAY + number * 300
    return [make_query(f"{number}-{i}", start + i, f"question {i}", **fields) for i in range(size)]


def write(path: Path, queries: Iterable[LoggedQuery], events: Iterable[LoggedEvent] = ()) -> None:
    with open_store(path, write=True) as store, store.transaction():
        store.add_queries([query_row(query) for query in queries])
        store.add_events([event_row(event) for event in events])


CONFIG = OnlineConfig(samples=20, least=5)


def look(path: Path, windows: int, config: OnlineConfig = CONFIG, **options: Any) -> WatchReport:
    """Look when so many windows are over."""
    return watch(path, config=config, now=DAY + windows * 300 + 60, **options)


def find(report: WatchReport, name: str) -> WatchAlert:
    return next(alert for alert in report.alerts if alert.name == name)
