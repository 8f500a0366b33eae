"""Tokens: what counts as one, by hand; then against a walk over the characters; then other tokenisers."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each import each
from karat.core import Document, UsageError
from karat.systems.chunk import WORDS, Fixed, Recursive, Sentence
from karat.systems.chunk._tokens import _MARKS, _UNSPACED, LONGEST, continues, token_starts

CASES = {
    "words and punctuation": ("Late check-out: 20 €.", ["Late", "check", "-", "out", ":", "20", "€", "."]),
    "a decimal number": ("3.5 kg", ["3", ".", "5", "kg"]),
    "an underscore": ("max_size=3", ["max_size", "=", "3"]),
    "white space is in none": (" a\t\n\u00a0b\u3000 ", ["a", "b"]),
    "accents that stay apart": ("q\u0301a", ["q\u0301a"]),
    "vowel signs": ("हिन्दी में", ["हिन्दी", "में"]),
    "Hebrew points": ("שָׁלוֹם", ["שָׁלוֹם"]),
    "Chinese": ("使用Python编程。", ["使", "用", "Python", "编", "程", "。"]),
    "Japanese with a mark": ("か\u3099く", ["か\u3099", "く"]),
    "Thai": ("ดีที่", ["ดี", "ที่"]),
    "Korean has blanks": ("한국어 단어", ["한국어", "단어"]),
    "a family is one": ("a👩\u200d👩\u200d👧b", ["a", "👩\u200d👩\u200d👧", "b"]),
    "a skin tone": ("👍🏽👍", ["👍🏽", "👍"]),
    "a sign drawn as an emoji": ("❤\ufe0f!", ["❤\ufe0f", "!"]),
    "flags": ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
    "a mark alone": ("\u0301 a", ["\u0301", "a"]),
    "a long word": ("x" * 70, ["x" * 32, "x" * 32, "x" * 6]),
    "runs of one sign": ("##a--...|-|", ["##", "a", "--", "...", "|", "-", "|"]),
    "a long run of one sign": ("=" * 40, ["=" * 32, "=" * 8]),
    "a run that ends with a mark": ("--\u0338", ["-", "-\u0338"]),
    "nothing": ("", []),
}


@each(("text", "expected"), CASES.values(), ids=list(CASES))
def test_tokens_by_hand(text: str, expected: list[str]) -> None:
    """A word, a sign, one character of a script without blanks, one emoji: each is a token."""
    assert [text[start:end] for start, end in WORDS(text)] == expected


def walked(text: str) -> list[tuple[int, int]]:
    """Find words and signs character by character, in a text of scripts with blanks and without emoji."""
    places: list[tuple[int, int]] = []
    in_word = False
    for at, character in enumerate(text):
        letter = character.isalnum() or character == "_"
        mark = unicodedata.category(character).startswith("M")
        if character.isspace():
            in_word = False
        elif (
            (mark and places and places[-1][1] == at and at - places[-1][0] < LONGEST)
            or ((letter or mark) and in_word and at - places[-1][0] < LONGEST)
            or (places and places[-1][1] == at and text[places[-1][0]] == character and not (letter or mark))
        ):
            places[-1] = (places[-1][0], at + 1)
        else:
            places.append((at, at + 1))
            in_word = letter or mark
    return places


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text(alphabet="abZ9_ \n.,-(é\u0416\u05e9\u05b8\u0301हि", max_size=120))
def test_tokens_against_a_walk(text: str) -> None:
    """The regular expression and a walk over the characters find the same, where a mark follows no sign."""
    text = re.sub("([.,(-])[\u05b8\u0301ि]+", r"\1", text)
    assert WORDS(text) == walked(text)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_tokens_hold_everything_but_white_space(text: str) -> None:
    """No character is left out or counted twice, whatever it is, and no token holds white space."""
    places = WORDS(text)
    assert [at for start, end in places for at in range(start, end)] == [
        at for at, character in enumerate(text) if not character.isspace()
    ]
    assert token_starts(text, WORDS) == [start for start, _ in places]
    assert all(0 < end - start <= 2 * LONGEST + 1 for start, end in places)


def expanded(ranges: str) -> set[str]:
    characters: set[str] = set()
    at = 0
    while at < len(ranges):
        if ranges[at + 1 : at + 2] == "-":
            characters |= {chr(code) for code in range(ord(ranges[at]), ord(ranges[at + 2]) + 1)}
            at += 3
        else:
            characters.add(ranges[at])
            at += 1
    return characters


def test_the_tables_hold_what_they_say() -> None:
    """Marks are marks, joiners, selectors, tones and tags; characters of scripts without blanks are letters."""
    marks = {c for c in expanded(_MARKS) if unicodedata.category(c) != "Cn"}
    assert {unicodedata.category(c) for c in marks} == {"Mn", "Mc", "Me", "Cf", "Sk"}
    assert {c for c in marks if unicodedata.category(c) in ("Cf", "Sk")} <= expanded(
        "\u200c\u200d\u180e\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
    )
    letters = {unicodedata.category(c)[0] for c in expanded(_UNSPACED) if unicodedata.category(c) != "Cn"}
    assert letters == {"L", "N"}
    assert not expanded(_UNSPACED) & marks


def test_marks_continue_a_character() -> None:
    """An accent, a tone, a joiner and what it joins belong to the character before; nothing belongs to no character."""
    text = "e\u0301👍🏽👩\u200d👧"
    assert [at for at in range(len(text) + 1) if continues(text, at)] == [1, 3, 5, 6]
    assert not continues("\u0301", 0)


def test_words_continue() -> None:
    """A letter goes on with the letter before it, in scripts that have blanks; a sign begins anew."""
    text = "aé_1-b шш 漢字"
    assert [at for at in range(len(text) + 1) if continues(text, at)] == [1, 2, 3, 8]


class Bytes:
    """As byte-level models do: one token for each byte, all of a character at its place, and marks at both ends."""

    name = "bytes"

    def __call__(self, text: str) -> list[tuple[int, int]]:
        inner = [(at, at + 1) for at, character in enumerate(text) for _ in character.encode()]
        return [(0, 0), *inner, (0, 0)]


def test_another_tokeniser_counts() -> None:
    """Several tokens may begin at one character; empty ones count, but not those from 0 to 0."""
    assert token_starts("aé😀", Bytes()) == [0, 1, 1, 2, 2, 2, 2]
    assert token_starts("a   b", lambda _: [(0, 0), (0, 1), (2, 2), (3, 3), (4, 5), (0, 0)]) == [0, 2, 3, 4]


def test_an_endless_token_counts_as_several() -> None:
    """What another tokeniser takes for one token is cut after 32 characters."""

    def whole_text(text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    assert token_starts("x" * 70, whole_text) == [0, 32, 64]
    assert token_starts("x" * 50, lambda _: [(0, 40), (10, 50)]) == [0, 10, 32, 42]


class Characters:
    """One token for each character, white space too."""

    name = "characters"

    def __call__(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at in range(len(text))]


def test_tokens_of_white_space_make_no_chunk() -> None:
    """What holds only white space, or only what the chunk before it holds, is left out."""
    chunker = Fixed(size=4, overlap=2, tokens=Characters())
    assert [chunk.text for chunk in chunker(Document(id="d", text="a,b,    e"))] == ["a,b,", "e"]


def test_a_character_of_many_tokens_has_no_overlap_before_it() -> None:
    """An overlap never makes a chunk larger than its size, as it would before an emoji of four bytes."""
    chunker = Recursive(size=4, overlap=2, tokens=Bytes())
    assert [chunk.text for chunk in chunker(Document(id="d", text="a b c d \U0001f600"))][-1] == "\U0001f600"


@each(
    ("places", "message"),
    [
        ([(4, 6), (0, 3)], "tokens: one at character 0 comes after one at 4; return them in order"),
        ([(0, 99)], "tokens: 0 to 99 is not part of a text of 6 characters"),
        ([(-2, 3)], "tokens: -2 to 3 is not part of a text of 6 characters"),
        ([(3, 2)], "tokens: 3 to 2 is not part of a text of 6 characters"),
    ],
)
def test_wrong_places_are_refused(places: list[tuple[int, int]], message: str) -> None:
    """A tokeniser that counts in other units, or out of order, is told so."""
    with pytest.raises(UsageError) as raised:
        token_starts("a word", lambda _: places)
    assert str(raised.value) == message


def module_level(text: str) -> list[tuple[int, int]]:
    return WORDS(text)


def test_a_tokeniser_has_a_name() -> None:
    """A fingerprint has the tokeniser's own name, or that of a function in a module; a lambda is refused."""
    assert Fixed().describe()["tokens"] == "karat-words-1"
    assert Fixed(tokens=Bytes()).describe()["tokens"] == "bytes"
    assert Fixed(tokens=module_level).describe()["tokens"] == f"{__name__}.module_level"
    with pytest.raises(UsageError, match="has no name"):
        Fixed(tokens=lambda _: [])
    with pytest.raises(UsageError, match="sentence: tokens = 3; pass a function"):
        Sentence(tokens=3)  # type: ignore[arg-type]
