"""Rows of records, for tests of the store."""

from __future__ import annotations

QUERY = (
    "q1", 5.25, "wifi?", "s", "u", "fix", "deep", "search",
    '[["wifi",1,0.5,[],null,"","wifi:chunk:3"],["pool",2,null]]',
    '{"dense": ["wifi"]}', "{}", '{"dense": 0.5}', None, "[]", "", 12.5, "v1", 1.0, "t", 0.75, "{}", 2,
    "", "", "", "{}",
)  # fmt: skip
EVENT = ("e1", 6.0, "read_after_search", "s", "u", "q1", "wifi", None, None, 1.0, "{}")
SHADOW = (
    "s1", 6.5, "rerank", "wifi?", "s", "u", "q1", '["wifi"]', '["pool"]', 1.5, 2.5, "answered", "", 10, 1.0, "live", 1,
    '["a","b"]', "{}", "order", 0.5, 0.25, -1.0, True, 1, "[null,null]",
)  # fmt: skip
