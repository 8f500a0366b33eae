"""The canonical form of a text: each step of the specification by hand, then its properties."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from each import each
from karat.core import NORMALISER as NORMALISER_OF_CORE
from karat.text import _canonical
from karat.text._canonical import NORMALISER, canonical
from karat.text._lines import runs

# Everything that one of the steps looks at, so that steps meet each other.
FRAGMENTS = [
    "a",
    "b",
    "foo-",
    "x-",
    "-\n",
    "-",
    "--",
    "---",
    "---\n",
    "...",
    "===",
    "=",
    ":",
    "|",
    "||",
    "|-|-|",
    "|a|b|",
]
FRAGMENTS += ["a\tb", "\t", "\n", "\n", "\n\n", "\n\n\n\n", " ", "  ", "    ", "#", "# ", "## t", "```", "````", "~~~"]
FRAGMENTS += ["- ", "1. ", "2.1 ", "a. ", "+", "+--+", ">", "\f", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\u2029"]
FRAGMENTS += ["\xad", "\ufeff", "\xa0", "\u3000", "\u0301", "e\u0301", "\u0345", "\u1fef", "\ud800", "\x00", "\x7f"]
FRAGMENTS += ["\xe9", "\xdf", "\u65e5", "9", "\u1112", "\u1161", "{", "[", "]", "}", ".", "![a](b)", "\U0001f600\u200d"]
TEXTS = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join), st.text(max_size=60))

thorough = settings(max_examples=500, deadline=None, derandomize=True)


def test_the_normaliser_has_the_name_that_golden_sets_record() -> None:
    """The rules are called karat-1, here and where a golden set says which rules its spans count by."""
    assert NORMALISER == NORMALISER_OF_CORE == "karat-1"


CHARACTERS = {
    "byte-order mark": ("\ufeffa\ufeffb", "ab\n"),
    "half of a surrogate pair": ("a\ud83d", "a\ufffd\n"),
    "CRLF": ("a\r\nb\r\n", "a\nb\n"),
    "CR": ("a\rb", "a\nb\n"),
    "vertical tab, next line, line separator": ("a\x0bb\x85c\u2028d", "a\nb\nc\nd\n"),
    "paragraph separator": ("a\u2029b", "a\n\nb\n"),
    "control characters": ("a\x00\x1b[1m\x7f\x9fb", "a[1mb\n"),
    "tab in prose": ("a\tb", "a\tb\n"),
    "soft hyphen in a word": ("check\xadout", "checkout\n"),
    "soft hyphen at the end of a line": ("check\xad \n  out", "checkout\n"),
    "soft hyphens at the ends of two lines": ("a\xad\nb\xad\nc", "abc\n"),
    "soft hyphen before a capital": ("check\xad\nOut", "check\nOut\n"),
    "soft hyphen before a blank line": ("check\xad\n\nout", "check\n\nout\n"),
    "two characters that look like one": ("cafe\u0301", "caf\xe9\n"),
    "a mark that a soft hyphen kept apart": ("e\xad\u0301", "\xe9\n"),
    "what only compatibility would change": ("10\xb2 \ufb01", "10\xb2 \ufb01\n"),
}


@each(("text", "wanted"), CHARACTERS.values(), ids=list(CHARACTERS))
def test_characters(text: str, wanted: str) -> None:
    """Line ends become line feeds, what is invisible goes, and the rest is NFC."""
    assert canonical(text) == wanted


ENDS = {
    "nothing": ("", ""),
    "only white space": (" \n\t\n\xa0\n", ""),
    "no line feed at the end": ("a", "a\n"),
    "one line feed at the end": ("a\n", "a\n"),
    "many line feeds at the end": ("a\n\n \n", "a\n"),
    "blank lines at the beginning": ("\n \na", "a\n"),
    "indentation at the beginning": ("\n  a", "  a\n"),
    "two blank lines": ("a\n\n\nb", "a\n\n\nb\n"),
    "three blank lines": ("a\n\n\n\nb", "a\n\n\nb\n"),
    "blank lines that hold blanks": ("a\n \n\t\n\xa0\n \nb", "a\n\n\nb\n"),
    "trailing white space": ("a \nb\t\nc\xa0\n", "a\nb\nc\n"),
    "trailing white space of a heading": ("# a \nb", "# a\nb\n"),
}


@each(("text", "wanted"), ENDS.values(), ids=list(ENDS))
def test_ends_and_blank_lines(text: str, wanted: str) -> None:
    """Lines and text end where their last character stands, and at most two blank lines follow each other."""
    assert canonical(text) == wanted


HYPHENS = {
    "a word": ("late check-\nout costs", "late checkout costs\n"),
    "a digit after it": ("covid-\n19", "covid19\n"),
    "an indented line after it": ("late check-\n   out", "late checkout\n"),
    "blanks after the hyphen": ("check- \nout", "checkout\n"),
    "three lines": ("a-\nb-\nc", "abc\n"),
    "letters beyond ASCII": ("caf\xe9-\n\xe9l\xe8ve", "caf\xe9\xe9l\xe8ve\n"),
    "a list item": ("- check-\n  out", "- checkout\n"),
    "a capital after it": ("North-\nSouth", "North-\nSouth\n"),
    "a capital before it": ("X-\nray", "X-\nray\n"),
    "a digit before it": ("19-\nyear", "19-\nyear\n"),
    "two hyphens": ("well --\nthen", "well --\nthen\n"),
    "a blank line after it": ("check-\n\nout", "check-\n\nout\n"),
    "a list item after it": ("two-\n1. item\nb-\na) item", "two-\n1. item\nb-\na) item\n"),
    "a heading": ("# check-\nout", "# check-\nout\n"),
    "a pipe in the line": ("a | check-\nout", "a | check-\nout\n"),
    "a tab in the next line": ("check-\nout\tb", "check-\nout\tb\n"),
    "a mark that counts as lower-case": ("\u03b1-\n\u0345", "\u03b1-\n\u0345\n"),
    "nothing before the hyphen": ("-\na", "-\na\n"),
}


@each(("text", "wanted"), HYPHENS.values(), ids=list(HYPHENS))
def test_hyphens_at_line_ends(text: str, wanted: str) -> None:
    """A word that a line end broke is mended in prose, if a lower-case letter or digit follows a lower-case letter."""
    assert canonical(text) == wanted


CODE = {
    "fenced": ("```\n\tfoo-\nbar  \n\n\n\n\nb\n```", "```\n    foo-\nbar  \n\n\n\n\nb\n```\n"),
    "fenced with tildes": ("~~~ sh\n\ta\n~~~\nb \n", "~~~ sh\n    a\n~~~\nb\n"),
    "a fence that is never closed": ("```\n\ta-\nb \n\n\n\n\nc", "```\n    a-\nb \n\n\n\n\nc\n"),
    "closed by a longer fence only": ("````\n```\n\ta\n````\n\tb", "````\n```\n    a\n````\n\tb\n"),
    "in a list item": ("- ```\n\ta-\nb\n  ```\n  c-\n  d", "- ```\n    a-\nb\n  ```\n  cd\n"),
    "code within a line": ("```a``` b-\nc", "```a``` bc\n"),
    "indented": ("# a\n\n\tfoo-\n\n\n\n\n\tbar \nb", "# a\n\n    foo-\n\n\n\n\n    bar \nb\n"),
    "indented in a text that is no Markdown": ("a\n\n    foo-\n    bar ", "a\n\n    foobar\n"),
    "indented in a list": ("# a\n\n- b\n\n    foo-\n    bar ", "# a\n\n- b\n\n    foobar\n"),
    "indented below a paragraph": ("# a\nb\n    foo-\n    bar ", "# a\nb\n    foobar\n"),
    "front matter": ("---\na: b-\nc:\td\n---\ne \n", "---\na: b-\nc:    d\n---\ne\n"),
    "a thematic break": ("---\n\na-\nb\n\n---", "---\n\nab\n\n---\n"),
}


@each(("text", "wanted"), CODE.values(), ids=list(CODE))
def test_code(text: str, wanted: str) -> None:
    """In code tabs become four blanks; its lines are neither joined nor trimmed, and none is left out."""
    assert canonical(text) == wanted


TABLES = {
    "with a delimiter row": (
        "| a   |  b |\n|-----|---:|\n| c |   d-  |\ne",
        "| a | b |\n|-----|---:|\n| c | d- |\ne\n",
    ),
    "without outer pipes": ("a   | b\n--- | ---\nc   | d", "a | b\n--- | ---\nc | d\n"),
    "pipes at both ends": ("|a  b|\n|c  d|", "|a b|\n|c d|\n"),
    "drawn with plus signs": ("+--+\n|a   b|\n+--+", "+--+\n|a b|\n+--+\n"),
    "separated by tabs": ("a  b\tc\nd  e\tf", "a b\tc\nd e\tf\n"),
    "indented": ("  | a   |\n  |-----|", "  | a |\n  |-----|\n"),
    "another number of cells": ("a   | b\n---|---|---", "a   | b\n---|---|---\n"),
    "another number of tabs": ("a  b\tc\nd  e\tf\tg", "a  b\tc\nd  e\tf\tg\n"),
    "an escaped pipe": ("a \\| b   | c\n---|---", "a \\| b | c\n---|---\n"),
    "aligned with blanks": ("name   price\nroom   80", "name   price\nroom   80\n"),
}


@each(("text", "wanted"), TABLES.values(), ids=list(TABLES))
def test_tables(text: str, wanted: str) -> None:
    """Within the rows of a table runs of blanks become one; what only looks a little like a table is prose."""
    assert canonical(text) == wanted


def test_running_heads_and_feet_go() -> None:
    """The first and last lines that most of the pages share go, the others stay, and pages become paragraphs."""
    pages = [f"Larkmoor\nPrices 2026\n\nPage text {i} broken-\nly.\n{i}\nConfidential\n" for i in range(3)]
    text = "\f".join([*pages, "A last page of another kind.\n"])
    wanted = [f"Page text {i} brokenly.\n{i}" for i in range(3)]
    assert canonical(text) == "\n\n".join([*wanted, "A last page of another kind."]) + "\n"


def test_at_most_three_lines_go_at_either_end_of_a_page() -> None:
    """Pages that are all alike do not vanish: three heads and three feet go, and what is between them stays."""
    page = "\n".join(f"line {i}" for i in range(8))
    assert canonical("\f".join([page] * 5)) == "\n\n".join(["line 3\nline 4"] * 5) + "\n"


def test_two_pages_say_nothing_about_what_repeats() -> None:
    """With two pages, or three of which one is blank, all lines stay."""
    assert canonical("Head\na\fHead\nb") == "Head\na\n\nHead\nb\n"
    assert canonical("Head\na\f \n\fHead\nb\f") == "Head\na\n\nHead\nb\n"


def test_a_line_on_less_than_sixty_per_cent_of_the_pages_stays() -> None:
    """Three of five pages are enough to make a running head, two are not."""
    three = ["Head\na", "Head\nb", "Head\nc", "d", "e"]
    assert canonical("\f".join(three)) == "a\n\nb\n\nc\n\nd\n\ne\n"
    two = ["Head\na", "Head\nb", "c", "d", "e"]
    assert canonical("\f".join(two)) == "Head\na\n\nHead\nb\n\nc\n\nd\n\ne\n"


def test_a_word_broken_by_a_page_stays_broken() -> None:
    """A page break is a paragraph break, and no hyphen is mended across it."""
    assert canonical("check-\fout") == "check-\n\nout\n"


@pytest.mark.slow
@thorough
@given(TEXTS)
@example("a\tb  \nc-\nd\te")
@example("a | b-\nc\n---|---")
@example("---\nfoo-\nbar:\tx\n---")
@example("\f\ufeff---\na  \n---\n")
@example("\u1fef\u1fef\u1fef\n\ta")
def test_canonical_text_is_what_the_specification_promises(text: str) -> None:
    """Doing it twice is the same as doing it once, no letter is lost, and it is NFC that UTF-8 can hold.

    All is looked at for each text: to draw one takes longer.
    """
    normal = canonical(text)
    assert canonical(normal) == normal
    has_the_form(normal)
    keeps_all_letters(text.replace("\f", "\n").encode(errors="replace").decode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_canonical, "_is_canonical", lambda _: False)
        steps = _canonical._canonical(text)  # and not what is remembered
    assert steps == normal, "a glance said that it is canonical, and the steps change it"


def has_the_form(normal: str) -> None:
    """It is NFC that UTF-8 can hold, without odd characters, and ends with one line feed."""
    assert unicodedata.is_normalized("NFC", normal)
    assert normal.encode().decode() == normal
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in normal if c not in "\n\t")
    assert not set("\xad\ufeff\u2028\u2029") & set(normal)
    assert normal == "" or (normal.strip() and normal[0] != "\n" and normal[-1] == "\n" != normal[-2])


def keeps_all_letters(text: str) -> None:
    """Only white space, hyphens, running heads and what is invisible may go: every letter stays, in its order."""
    letters = [c for c in unicodedata.normalize("NFC", text.replace("\xad", "").replace("\ufeff", "")) if c.isalnum()]
    assert [c for c in canonical(text) if c.isalnum()] == letters


PLAIN = [fragment for fragment in FRAGMENTS if fragment.isascii() and not set(fragment) & set("\f\r\x00\x0b\x7f")]


@pytest.mark.slow
@thorough
@given(st.lists(st.sampled_from(PLAIN), max_size=25).map("".join))
def test_what_is_code_stays_code(text: str) -> None:
    """A text and its canonical form have the same code and tables, whatever was joined and collapsed around them."""
    text = "#\n\n" + text  # blank lines at the beginning would go

    def kinds(text: str) -> list[str]:
        return [run.kind for run in runs(text.split("\n")) if run.kind in ("code", "table")]

    assert kinds(canonical(text)) == kinds(text)


ADVERSARIAL = {
    "one line": "x" * 250_000,
    "hyphens": "a-\n" * 75_000,
    "soft hyphens": "a\xad\n" * 75_000,
    "soft hyphens and blanks": "a" + "\xad " * 75_000,
    "blank lines": "\n" * 250_000 + "a",
    "pages": "x\f" * 25_000,
    "fences": "```\n" * 50_000 + "\t",
    "a fence that is never closed": "```\n" + "a\t\n" * 50_000,
    "pipes": "|" * 250_000,
    "delimiter rows": "|-" * 250_000 + "|\n" + "|-" * 250_000 + "|",
    "list markers": "- " * 75_000 + "\t",
    "blanks": "a" + " " * 250_000 + "b\t",
    "front matter that never ends": "---\n" + "a\t\n" * 50_000,
}


@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=list(ADVERSARIAL))
def test_time_is_linear(text: str) -> None:
    """Text made to be slow takes about a second at most, where anything quadratic would take minutes."""
    start = time.process_time()
    normal = canonical(text)
    assert time.process_time() - start < 15
    assert canonical(normal) == normal


def test_most_documents_take_microseconds() -> None:
    """Ten thousand documents that are canonical already take less than a second, so a collection takes a few."""
    texts = [f"{n}\n" + "The desk is open from seven to eleven, and rings a bell.\n" * 20 for n in range(10_000)]
    start = time.process_time()
    for text in texts:  # all different, since the last ones are remembered
        canonical(text)
    assert time.process_time() - start < 1
