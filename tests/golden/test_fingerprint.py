"""The fingerprint of a set, computed once."""

from __future__ import annotations

from karat.core import Document, GoldenSet
from karat.golden import fingerprint, identify


def test_a_set_is_fingerprinted_once(monkeypatch):
    """Both digests come from one walk over the set, and another set is walked again."""
    from karat.golden import _fingerprint

    walked = []
    parts = _fingerprint._parts
    monkeypatch.setattr(_fingerprint, "_parts", lambda golden: (walked.append(golden.name), parts(golden))[1])
    golden = GoldenSet(name="a", documents=(Document(id="d", text="x"),))
    assert identify(golden)["fingerprint"] == fingerprint(golden) == identify(golden)["fingerprint"]
    assert walked == ["a"]
    assert fingerprint(GoldenSet(name="b")) != fingerprint(golden)
    assert walked == ["a", "b"]
