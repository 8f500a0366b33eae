"""The prose of documents, from which starter queries are made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import Document
from karat.golden import synthesise
from karat.text._prose import prose


def spoken(text: str, format: str = "markdown") -> list[str]:
    """Return the prose of a text."""
    return [paragraph.text for paragraph in prose(Document(id="d", text=text, format=format))]


@each(
    ("text", "expected"),
    [
        ("---\ntitle: Pool\n\ntags: [a]\n---\nIt opens at six.", ["It opens at six."]),
        ("+++\ntitle = 'Pool'\n+++\nIt opens at six.", ["It opens at six."]),
        ("\ufeff---\r\ntitle: Pool\r\n---\r\nIt opens\r\nat six.", ["It opens at six."]),
        ("---\n\nA rule: no front matter.\n\n---\n\nMore.", ["A rule: no front matter.", "More."]),
        ("# Pool\n\nPool\n====\n\nIt opens.", ["It opens."]),
        ("```python\nopen(pool)\n```\nIt opens.\n\n~~~\nno end", ["It opens."]),
        ("| a | b |\n|---|---|\n| c | d |\n\nIt opens.", ["It opens."]),
        ("See [the rules](rules.md \"t\"), [both][r] and [[Home|home]].[^1]\n\n[r]: x.md\n[^1]: No.",
         ["See the rules, both and home."]),
        ("[![build](b.svg)](https://x) It opens ![photo](a(1).png).", ["It opens."]),
        ("**It** _opens_ ***at*** ~~five~~ __six__, not snake_case or 2 * 3 * 4.",
         ["It opens at five six, not snake_case or 2 * 3 * 4."]),
        ("Use `<pre>` and `**kwargs`. Then go on.", ["Use <pre> and **kwargs. Then go on."]),
        ("<!-- a\n\nb --><p>It <b>opens</b> &amp; closes.</p><script>x()</script><table><tr><td>1 a</td></tr></table>",
         ["It opens & closes."]),
        ("<div class=\"a\">\n\nIt opens.\n\n</div>\n\n<h2>Pool</h2>", ["It opens."]),
        ("> [!NOTE]\n> It opens\n> at six.", ["It opens at six."]),
        ("- [ ] Bring a towel.\n- [x] Knock\n  first.\n2. Enter.", ["Bring a towel.", "Knock first.", "Enter."]),
        ("!!! note \"Title\"\n    It opens.\n\n:::tip\nKnock.\n:::", ["It opens.", "Knock."]),
        ("{% include a.html %}\n{{ name }} opens. {: .lead}\n\nimport Tabs from '@a/b';", ["opens."]),
        ("5 < 6 and 7 > 3.", ["5 < 6 and 7 > 3."]),
        ("Write to <desk@hotel.example>. \\*Not\\* starred. :tada:", ["Write to desk@hotel.example. *Not* starred."]),
        ("***\n\n- - -\n\n1.\n\n123", []),
        ("", []),
        (" \n\t\n ", []),
    ],
)  # fmt: skip
def test_markup_is_left_out(text: str, expected: list[str]) -> None:
    """What is written for a machine goes, what is written for a reader stays."""
    assert spoken(text) == expected


def test_json_gives_its_texts() -> None:
    """Texts of more than one word, however deep, in their order; what is no JSON gives none."""
    text = '{"name": "pool", "rules": [{"text": "Knock **first**."}, "Then enter."], "n": 3, "last": "And leave."}'
    assert spoken(text, "json") == ["Knock first.", "Then enter.", "And leave."]
    assert spoken('{"text": "cut o', "json") == []
    assert spoken("[" * 100_000, "json") == []


@pytest.mark.parametrize("mark", ["<!-- ", "{{", "<script>", "<script ", "![", "[[", "[](", "**a ", "_a ", "`a ``b ",
                                  "<a", "<a@", "{#", "> ", "- ", "---\na: b\n"])  # fmt: skip
def test_beginnings_without_end_do_not_hang(mark: str) -> None:
    """A million characters that open something and never close it are read in no time worth a word, and to an end."""
    spoken(mark * (1_000_000 // len(mark)))


@given(st.text("a b*_`<>[](){}!|#-\\\n&:~=", max_size=200))
def test_any_text_gives_lines(text: str) -> None:
    """Whatever it is, no line has an end of line in it, nor begins or ends with a blank, and none is without a word."""
    for line in spoken(text):
        assert line == " ".join(line.split())
        assert any(map(str.isalpha, line))


@each(
    ("text", "items"),
    [
        ("It opens.\n\n- Knock.\n- Enter.\n\nIt closes.", [False, True, True, False]),
        ("1. Knock\n   first.\n2. Enter.\nThen leave.", [True, True]),
        ("> * Knock.\n\nIt opens\n- or not.", [True, False, True]),
        ("- [ ] Bring a towel.\n\n  It is told why.", [True, False]),
    ],
)
def test_items_of_lists_are_told_apart(text: str, items: list[bool]) -> None:
    """A step with its further lines is an item; a paragraph is none, be it below a step."""
    assert [paragraph.item for paragraph in prose(Document(id="d", text=text, format="markdown"))] == items


def test_queries_are_sentences_of_prose() -> None:
    """Stubs, addresses, introductions, data and what was asked already become no query."""
    text = (
        "# Pool\n\nWow! See https://hotel.example/pool for more. Bring the following things with you:\n\n"
        f"{'a,' * 200}\n\nThe pool **opens** at six.\n\nThe pool opens at six.\n\nIt closes at ten on Sundays.\n"
    )
    gold = synthesise([Document(id="d", text=text, format="markdown")])
    assert [query.text for query in gold.queries] == ["The pool opens at six.", "It closes at ten on Sundays."]


def test_chinese_sentences_need_no_blank() -> None:
    """A full stop of their own ends them."""
    gold = synthesise([Document(id="d", text="泳池每天早上六点开门迎客。客人可以在前台领取免费的毛巾。")])
    assert [query.text for query in gold.queries] == ["泳池每天早上六点开门迎客。", "客人可以在前台领取免费的毛巾。"]
