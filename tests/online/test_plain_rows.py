"""Rows of plain records: the same as by the long way, or none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.online import LoggedQuery
from karat.online._drafts import Draft, EventDraft, QueryDraft, decode_draft, encode_draft, finish
from karat.online._plain_rows import read_plain
from karat.online._stored import event_row, query_row
from karat.store import Row

TEXTS = st.sampled_from(["", "wifi", "wifi:chunk:3", "a:chunk:x", ":chunk:1", "b:chunk:٣", "null", "ünï\n"])
NUMBERS = st.sampled_from([0.5, 3, -1, 2**63, float("nan"), float("-inf"), None, True, "7", "x"])
ANY = st.one_of(TEXTS, NUMBERS)
HITS = st.one_of(
    st.lists(st.one_of(TEXTS, st.tuples(TEXTS, NUMBERS), st.tuples(ANY, NUMBERS, ANY)), max_size=3),
    st.just({"wifi": 0.5}),
    st.just([{"id": "pool", "score": 1}]),
)
MAPPINGS = st.one_of(st.none(), st.dictionaries(TEXTS, st.one_of(st.just(0.25), NUMBERS), max_size=2))
TIMES = st.sampled_from([0.0, 1.7e9, -1.0, 1.7e12])
QUERIES = st.builds(
    QueryDraft, st.just("060a24181e4000-00000000-5f2c"), TIMES, TEXTS, session=st.one_of(st.none(), ANY), hits=HITS,
    channels=st.one_of(st.none(), st.dictionaries(TEXTS, st.lists(ANY, max_size=2), max_size=2)), stages=MAPPINGS,
    weights=MAPPINGS, answer=st.one_of(st.none(), TEXTS), citations=st.lists(TEXTS, max_size=2), error=TEXTS,
    latency=NUMBERS, trace=st.one_of(st.none(), TEXTS), quality=NUMBERS, attributes=MAPPINGS, count=NUMBERS,
    build=st.one_of(st.none(), TEXTS), index=ANY, flags=st.one_of(st.none(), st.dictionaries(TEXTS, ANY, max_size=2)),
)  # fmt: skip
EVENTS = st.builds(
    EventDraft, st.just("060a24181e4000-00000001-5f2c"), TIMES, ANY, session=ANY, query=st.one_of(st.none(), TEXTS),
    document=ANY, rank=NUMBERS, value=NUMBERS, attributes=MAPPINGS,
)  # fmt: skip


def read_long(payload: bytes) -> tuple[Row | None, Row | None]:
    """Return the rows of a record by way of the record itself."""
    record = finish(decode_draft(payload))
    return (query_row(record), None) if isinstance(record, LoggedQuery) else (None, event_row(record))


@pytest.mark.slow
@given(st.one_of(QUERIES, EVENTS))
def test_a_plain_row_is_the_row(draft: Draft) -> None:
    """Whatever a host gave: what is not plain has no row, and everything else has the one that it should have."""
    payload = encode_draft(draft)
    rows: Any = read_plain(payload)
    assert rows == (None, None) or rows == read_long(payload)


def test_ordinary_records_are_plain() -> None:
    """As the log writes them, with all that most hosts give."""
    query = QueryDraft(
        "1", 1.7e9, "wifi?", "s", None, "fix", "deep", "search", (("wifi:chunk:3", 0.5), "pool"), {"dense": ["wifi"]},
        {"dense": 1.5}, {"dense": 1}, None, (), "", 2.5, "v1", 1.0, "", None, {"page": 2}, 2,
    )  # fmt: skip
    event = EventDraft("2", 1.7e9, "read_after_search", "s", None, "1", "wifi", 1)
    for draft in (query, event):
        payload = encode_draft(draft)
        assert read_plain(payload) == read_long(payload) != (None, None)
