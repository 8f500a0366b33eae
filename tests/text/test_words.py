"""Words: the quick ways to find them give what a pattern finds."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from karat.text import content, is_unspaced, subject, words

SCRIPTS = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
"""Thai and Lao, Burmese, Khmer, Kana, Han: every character is a word."""
WORD = re.compile(rf"{SCRIPTS}|(?:(?!{SCRIPTS})\w)+")
ODD = "a Bc_d-1,2.\n\t\x00\x1c\x85\xa0\xdf\xe9\u0130\u2013\u2019\u201c\u2028\u20ac"
ODD += "\u0e01\u3042\u6c60\ufb01\ud800\U0001f600"
TEXTS = st.text(st.sampled_from(ODD)) | st.text()


def find_words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


@given(TEXTS)
def test_words_are_those_of_the_pattern(text: str) -> None:
    assert words(text) == find_words(text)


@given(TEXTS)
def test_a_word_of_another_script_among_many_of_ascii_changes_none_of_them(text: str) -> None:
    """A text that is ASCII for the most part takes another way than one that is not."""
    around = f"{'The pool opens at six. ' * 20}{text} Bring a towel!"
    assert words(around) == find_words(around)


def test_many_kinds_of_signs_in_one_text() -> None:
    signs = "".join(map(chr, range(0xA1, 0x250)))
    text = f"{'pool ' * 1000}{' x '.join(signs)}"
    assert words(text) == find_words(text)


def test_scripts_without_spaces() -> None:
    characters = map(chr, range(0x20000))
    pattern = re.compile(SCRIPTS)
    assert all(is_unspaced(character) == bool(pattern.match(character)) for character in characters)


@given(TEXTS | st.sampled_from(["Don't the towels dry?", "No policies, no policy", ""]))
def test_the_subject_is_the_content_once_each(text: str) -> None:
    assert subject(text) == set(content(text))
