"""Where sentences begin, by hand."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from each import each
from karat.text import line_places, sentence_places

CASES = {
    "three ends": ("Wait! Why? Because. So", ["Wait! ", "Why? ", "Because. ", "So"]),
    "a decimal number": ("It weighs 3.5 kg. Yes.", ["It weighs 3.5 kg. ", "Yes."]),
    "quotation marks and brackets": ('He said "go." (Now.) Then.', ['He said "go." ', "(Now.) ", "Then."]),
    "an ellipsis": ("Well… Perhaps... Yes", ["Well… ", "Perhaps... ", "Yes"]),
    "a lower-case letter follows": ("Cards, e.g. debit, i.e. plastic.", None),
    "an accented lower-case letter follows": ("Voir p. ex. élan.", None),
    "abbreviations": ("Ask Mr. Kay or Dr. No at St. Ives.", None),
    "initials": ("By J. R. Hartley.", None),
    "number and no": ("See No. 5. It says no. Stop.", ["See No. 5. ", "It says no. ", "Stop."]),
    "numbered items": ("1. Open it.\n2. Close it.\n", ["1. Open it.\n", "2. Close it.\n"]),
    "a number at a sentence's end": ("It costs 20. Pay.", ["It costs 20. ", "Pay."]),
    "bullets without full stops": ("We have\n- tea\n- milk", ["We have\n", "- tea\n", "- milk"]),
    "paragraphs without full stops": ("Tea\n\nmilk\n \nwater", ["Tea\n\n", "milk\n \n", "water"]),
    "a full stop before a paragraph": ("Tea.\n\nmilk", ["Tea.\n\n", "milk"]),
    "lines of one sentence": ("Tea and\nmilk and\nwater", None),
    "Chinese": ("你好。再见\uff01“好。”走", ["你好。", "再见\uff01", "“好。”", "走"]),
    "a heading goes with what follows": ("Yes.\n\n# 1. Why?\n\nSo. No.", ["Yes.\n\n", "# 1. Why?\n\nSo. ", "No."]),
    "a heading right below": ("Yes\n## Why\nSo", ["Yes\n", "## Why\nSo"]),
    "nothing after the last": ("One.  \n\n", None),
    "nothing": ("", None),
}


@each(("text", "expected"), CASES.values(), ids=list(CASES))
def test_sentences_by_hand(text: str, expected: list[str] | None) -> None:
    """A text falls into its sentences, and none is lost; None: it stays whole."""
    places = [0, *sentence_places(text, 0, len(text)), len(text)]
    assert [text[a:b] for a, b in pairwise(places)] == (expected or [text])


def test_a_part_of_a_text() -> None:
    """Only places strictly between the two that are given are found."""
    text = "One. Two. Three. Four."
    assert list(sentence_places(text, 5, 17)) == [10]
    assert list(sentence_places(text, 5, 10)) == []


def test_lines_begin_with_something() -> None:
    """A line place is never blank, and never the end."""
    text = "a\n\n  b\nc\n\n"
    assert list(line_places(text, 0, len(text))) == [5, 7]


ADVERSARIAL = {
    "full stops": "." * 500_000,
    "full stops and blanks": ". " * 250_000,
    "one long line": "A b c. " * 70_000,
    "a heading without end": "# " + "A b. " * 100_000,
    "quotation marks": ".\"'" * 160_000,
    "blank lines": "a" + "\n " * 250_000 + "\n",
    "white space": "a." + " " * 500_000 + "b",
    "bullets": "\n" + "- " * 250_000,
    "ideographic full stops": "。" * 160_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_time_is_linear(text: str) -> None:
    """Text made to be slow takes a second, where anything quadratic would take many minutes."""
    start = time.process_time()
    places = list(sentence_places(text, 0, len(text)))
    assert time.process_time() - start < 15
    assert places == sorted(set(places))
