"""The store of the online half: queries, events, judgments, runs, trials and shadow runs, in SQLite or PostgreSQL."""

from karat.store._address import has_store, is_address, parse_address, read_path
from karat.store._alerts import AlertTables
from karat.store._database import Row
from karat.store._moving import check_store, copy_store
from karat.store._sessions import Keys, SessionTables
from karat.store._span_buffer import WAITING, WRITING, WRITTEN, BufferedSpan, SpanBuffer, Waits, open_span_buffer
from karat.store._store import Store, open_store
from karat.store._traffic_statements import INDEXED_PARTS, PARTS
from karat.store._trials import TrialTables

__all__ = [
    "INDEXED_PARTS", "PARTS", "WAITING", "WRITING", "WRITTEN", "AlertTables", "BufferedSpan", "Keys", "Row",
    "SessionTables", "SpanBuffer", "Store", "TrialTables", "Waits", "check_store", "copy_store", "has_store",
    "is_address", "open_span_buffer", "open_store", "parse_address", "read_path",
]  # fmt: skip
