"""What is computed for a text is computed once, within bounds."""

from __future__ import annotations

from collections import Counter

import pytest

from karat.core import Document, GoldenSet, Judgment, Query, Span, Target
from karat.golden import check
from karat.text import canonical, outline, resolver
from karat.text._memory import Memory


def test_a_result_is_made_once_and_the_oldest_goes_first():
    """A memory of ten characters holds texts of ten characters in all, the newest."""
    counts: Counter[str] = Counter()

    def make(text: str) -> str:
        counts[text] += 1
        return text.upper()

    memory = Memory[str](limit=10)
    for text in ("abcd", "efgh", "abcd", "ijkl", "efgh", "abcd"):
        assert memory.get(text, make) == text.upper()
    assert counts == {"abcd": 2, "efgh": 1, "ijkl": 1}


def test_a_text_beyond_the_bound_is_not_kept():
    """A text that does not fit is computed, and drops nothing else."""
    memory = Memory[int](limit=5)
    assert memory.get("pool", len) == 4
    assert memory.get("a long text", len) == 11
    assert "pool" in memory
    assert "a long text" not in memory


def test_a_failure_is_not_kept():
    """An error is raised each time."""
    memory = Memory[int](limit=10)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            memory.get("six", int)
    assert memory.get("6", int) == 6


def test_one_document_has_one_canonical_text_and_one_outline(monkeypatch):
    """Lint, resolver and chunker ask for the same text; it is made once, and so is its outline."""
    rewritten: Counter[str] = Counter()
    built: Counter[str] = Counter()
    from karat.text import _canonical, _outline

    class Builder(_outline._Builder):
        def __init__(self, text: str) -> None:
            built[text] += 1
            super().__init__(text)

    make = _canonical._canonical
    monkeypatch.setattr(_canonical, "_canonical", lambda text: (rewritten.update([text]), make(text))[1])
    monkeypatch.setattr(_outline, "_Builder", Builder)
    text = "# Gym\r\n\r\nOpen all night for guests who cannot sleep.\r\n\r\n## Sauna\r\n\r\nFrom six.\r\n"
    golden = GoldenSet(
        documents=(Document(id="gym", text=text),),
        queries=(Query(id="q", text="when can I sweat?"),),
        judgments=tuple(
            Judgment(query="q", target=target, grade=3)
            for target in (Target(document="gym", section="S.1.1"), Target(document="gym", span=Span(7, 20)))
        ),
    )
    assert check(golden).ok
    place = resolver(golden)
    assert [place(judgment.target) for judgment in golden.judgments] == [Span(62, 71), Span(7, 20)]
    assert outline(canonical(text)).section("S.1.1").whole == Span(62, 71)
    assert rewritten == {text: 1}
    assert built == {canonical(text): 1}
