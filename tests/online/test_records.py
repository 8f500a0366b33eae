"""What a log holds, and how it is encoded."""

from __future__ import annotations

import msgspec

from karat.online import LoggedEvent, LoggedHit, LoggedQuery, Record


def test_a_record_of_an_earlier_version_is_read() -> None:
    """A record is an array that begins with its tag; positions that are missing at the end have their defaults."""
    query = msgspec.msgpack.encode(["query", "1", 1.5, "wifi", "s"])
    event = msgspec.msgpack.encode(["event", "2", 2.5, "read_after_search"])
    decoder = msgspec.msgpack.Decoder(Record)
    assert decoder.decode(query) == LoggedQuery("1", 1.5, "wifi", "s")
    assert decoder.decode(event) == LoggedEvent("2", 2.5, "read_after_search")


def test_a_record_of_a_later_version_is_read() -> None:
    """Positions that this version does not know are passed over."""
    known = msgspec.to_builtins(LoggedEvent("2", 2.5, "impression"))
    assert msgspec.convert([*known, "new"], Record) == LoggedEvent("2", 2.5, "impression")


def test_a_hit_keeps_the_id_of_its_chunk() -> None:
    """A hit is found by the document and by the system's own id."""
    hit = LoggedHit("wifi", 3, 0.5, chunk="wifi:chunk:2")
    assert (hit.id, hit.document, hit.rank) == ("wifi:chunk:2", "wifi", 3)
