"""Pages are edited to the end: no sentence stands beside an older copy of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from each import each

ROOT = Path(__file__).resolve().parents[2]
WRITTEN_BY_CODE = {"causes.md", "golden-linter.md", "measures.md", "notebook.md"}
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference"),
]
NEAR = 4
"""Lines within which a second copy is a leftover; further apart, a sentence may be repeated on purpose."""
ALIKE = 0.75
"""The share of words that two sentences have in common, in order, if one is an older copy of the other."""


def words(text: str) -> list[str]:
    """Return the words of a text, without punctuation."""
    return re.findall(r"\w+", text)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of five words or more, each with its line, without code, tables, headings and addresses."""
    text = re.sub(r"^( *)```.*?^\1```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^ *[|#].*$|(?<=\])\([^)\s]*\)", "", text, flags=re.M)
    for match in re.finditer(r"(?:[^\n.!?]|[.!?](?!\s)|\n(?!\n| *[-*] | *\d+\. ))+[.!?]?", text):
        lead = len(match[0]) - len(match[0].lstrip())
        if len(words(match[0])) >= 5:
            yield text.count("\n", 0, match.start() + lead) + 1, " ".join(match[0].split())


def copies(text: str) -> list[tuple[int, int, str]]:
    """Return the sentences that stand twice within a few lines, in the same words or nearly so, with both lines."""
    rows = list(sentences(text))
    return [
        (line, other, sentence)
        for place, (line, sentence) in enumerate(rows)
        for other, later in rows[place + 1 :]
        if other - line <= NEAR and SequenceMatcher(None, words(sentence), words(later), autojunk=False).ratio() > ALIKE
    ]


def test_an_older_copy_of_a_sentence_is_found() -> None:
    """It is found in other words, in the middle of a line and across lines, but not in code, tables or far away."""
    old, new = "Millions of queries take minutes then.", "Millions of queries then take minutes."
    assert [lines[:2] for lines in copies(f"{new} More.\n{old}\n")] == [(1, 2)]
    assert [lines[:2] for lines in copies(f"First. {new}\nMore. Millions of\nqueries then take minutes.\n")] == [(1, 2)]
    assert copies(f"{new}\n\n```text\n{old}\n```\n\n| {old} |\n") == []
    assert copies("\n".join([new, *"abcde", old])) == []
    assert copies("One is a measure of karat. The other is a rule of the gate.") == []


@each("page", [page for page in PAGES if page.name not in WRITTEN_BY_CODE])
def test_no_sentence_stands_beside_an_older_copy_of_itself(page: Path) -> None:
    """Whoever rewrites a sentence removes the old one."""
    assert copies(page.read_text(encoding="utf-8")) == []
