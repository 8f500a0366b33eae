"""The tables of records, which every database has: their columns, in the order in which rows are given."""

from __future__ import annotations

from karat.store._statements import EVENT_COLUMNS, QUERY_COLUMNS, SHADOW_COLUMNS

RECORDS: dict[str, tuple[str, ...]] = {
    "queries": (*QUERY_COLUMNS, "part"),
    "events": (*EVENT_COLUMNS, "part"),
    "shadow_runs": SHADOW_COLUMNS,
}
