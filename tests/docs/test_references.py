"""The reference is what the code says: pages that ``./scripts/docs`` writes from docstrings, verbs and documents."""

from __future__ import annotations

import pytest
from references import FOLDER, MARK, _clean, _escape, make_pages


@pytest.mark.slow
def test_the_reference_is_what_the_code_says() -> None:
    """./scripts/docs was run after the last change of a docstring, a verb or a document; no old page is left."""
    written = {page.name: page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")}
    stale = sorted(name for name, text in make_pages().items() if written.get(name) != text)
    assert stale == [], "run ./scripts/docs"
    assert {name for name, text in written.items() if text.startswith(MARK)} == {*make_pages()}


def test_a_docstring_becomes_markdown() -> None:
    """References are code, examples are blocks, and what looks like a tag or a link outside of code is text."""
    doc = "Return :func:`score` of ``a[b]``, <b> and [x].\n\n>>> 1 + 1\n2"
    assert _clean(doc) == "Return `score` of `a[b]`, &lt;b> and \\[x\\].\n\n```pycon\n>>> 1 + 1\n2\n```"
    assert _escape("a_b `a_b`") == "a\\_b `a_b`"
