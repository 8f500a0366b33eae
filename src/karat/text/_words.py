"""The words of a text, folded so that spelling does not count, and the little that is known of their meaning."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Thai, Lao, Burmese, Khmer, Kana and Han are written without spaces: there every character is a word."""
_RANGES = tuple(zip(_NO_SPACES[::3], _NO_SPACES[2::3], strict=True))
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FEW = 32
"""Characters of a text that are not ASCII, above which a pattern finds its words sooner."""
_BLANKED = bytes(byte if byte > 127 or chr(byte).isalnum() or byte == ord("_") else 32 for byte in range(256))
"""A table for ``bytes.translate`` that turns all ASCII characters but letters, digits and underscores into blanks."""


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ARTICLES = _set("a an the")
NEGATIONS = _set("no not never none nor neither without nothing nobody cannot")
STOP_WORDS = ARTICLES | _set(
    """about after all also am and any are as at be been before being between but by ca can could d did do does doing
    during each for from had has have having he her here him his how i if in into is it its just ll m may me might more
    most must my of off on onto or other our out over own per please re s shall she should so some such t tell than that
    their them then there these they this those through to too under up upon us ve very was we were what when where
    whether which while who whom whose why will with wo would you your"""
)
"""English words that say little about the subject, without negations. In other languages every word counts."""

_CONTRACTED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)(?::(\d\d))?(?:\s?([ap])\.?m\b)?", re.IGNORECASE)
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_COUNTED, 1)}


def words(text: str) -> list[str]:
    """Return the words of a text in order, without case, punctuation and compatibility forms.

    >>> words("Reset the Wi-Fi \uff30assword!")
    ['reset', 'the', 'wi', 'fi', 'password']
    """
    if text.isascii():
        return _split(text.lower())
    text = unicodedata.normalize("NFKC", text).casefold()
    if len(text.encode(errors="surrogatepass")) > 1.25 * len(text):  # much of it is not ASCII
        return word_pattern().findall(text)
    others = set(_NOT_ASCII.findall(text))
    if len(others) > _FEW or any(map(is_unspaced, others)):
        return word_pattern().findall(text)
    for character in others:
        text = text if character.isalnum() else text.replace(character, " ")
    return _split(text)


@cache
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word; in a script without spaces every character is one."""
    # Compiled at first use, since that takes three milliseconds.
    return re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+")


def is_unspaced(character: str) -> bool:
    """Return whether a character is one of a script that is written without spaces, and thereby a word.

    >>> is_unspaced("\u6c60"), is_unspaced("p")
    (True, False)
    """
    return any(first <= character <= last for first, last in _RANGES)


def _split(text: str) -> list[str]:
    """Return what stands between blanks and ASCII punctuation, in a fraction of the time that a pattern takes."""
    return text.encode(errors="surrogatepass").translate(_BLANKED).decode(errors="surrogatepass").split()


def folded(text: str) -> str:
    """Return a text without case, punctuation and articles, so that the same question in the same words is equal.

    >>> folded("Where's THE pool?") == folded("where's pool")
    True
    """
    return " ".join(word for word in words(text) if word not in ARTICLES)


def content(text: str) -> list[str]:
    """Return the words that carry the subject, in the singular, with a contracted "not" as a word.

    >>> content("Why don't the radiators in the lobbies work?")
    ['not', 'radiator', 'lobby', 'work']
    """
    return [singular(word) for word in words(_CONTRACTED.sub(" not", text)) if word not in STOP_WORDS]


def subject(text: str) -> frozenset[str]:
    """Return the words of :func:`content`, once each.

    >>> sorted(subject("The towels, and the towel rail"))
    ['rail', 'towel']
    """
    return frozenset(map(singular, set(words(_CONTRACTED.sub(" not", text))) - STOP_WORDS))


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """Return an English word without the ending of its plural (Harman, "How effective is suffixing?", 1991).

    >>> [singular(word) for word in ("policies", "towels", "glass", "status")]
    ['policy', 'towel', 'glass', 'status']
    """
    if len(word) > 4 and word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and word[-2] not in "us":
        return word[:-1]
    return word


def letters(text: str) -> list[str]:
    """Return the runs of three letters in each word, with its ends marked; the order of words does not count.

    >>> letters("spa key")
    [' sp', 'spa', 'pa ', ' ke', 'key', 'ey ']
    """
    return [marked[i : i + 3] for word in words(text) for marked in (f" {word} ",) for i in range(len(word))]


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, in digits or as words up to twelve; times of day count in 24 hours.

    >>> sorted(numbers("from 3 pm, two nights")), sorted(numbers("from 15:00, 2 nights"))
    (['15', '2'], ['15', '2'])
    """
    values = {_NUMBER_WORDS[word] for word in words(text) if word in _NUMBER_WORDS}
    for amount, minutes, half in _NUMBER.findall(text):
        hour = int(amount) % 12 + 12 * (half in "pP") if half and len(amount) <= 2 else amount
        values.add(str(hour))
        if minutes and minutes != "00":
            values.add(f"{hour}:{minutes}")
    return frozenset(values)
