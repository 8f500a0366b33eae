"""The script of a text, by the code points of its letters."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

_BLOCKS: tuple[tuple[int, str], ...] = (
    (0x0000, "Latin"),
    (0x0370, "Greek"),
    (0x0400, "Cyrillic"),
    (0x0530, "Armenian"),
    (0x0590, "Hebrew"),
    (0x0600, "Arabic"),
    (0x0700, "other"),
    (0x0750, "Arabic"),
    (0x0780, "other"),
    (0x08A0, "Arabic"),
    (0x0900, "Devanagari"),
    (0x0980, "Bengali"),
    (0x0A00, "other"),
    (0x0B80, "Tamil"),
    (0x0C00, "Telugu"),
    (0x0C80, "other"),
    (0x0E00, "Thai"),
    (0x0E80, "other"),
    (0x10A0, "Georgian"),
    (0x1100, "Hangul"),
    (0x1200, "other"),
    (0x1D00, "Latin"),
    (0x1F00, "Greek"),
    (0x2000, "Latin"),
    (0x2C60, "Latin"),
    (0x2C80, "other"),
    (0x2E80, "Han and Kana"),
    (0x3130, "Hangul"),
    (0x3190, "Han and Kana"),
    (0xA000, "other"),
    (0xAC00, "Hangul"),
    (0xD800, "other"),
    (0xF900, "Han and Kana"),
    (0xFB00, "Latin"),
    (0xFB1D, "Hebrew"),
    (0xFB50, "Arabic"),
    (0xFF00, "Latin"),
    (0xFF66, "Han and Kana"),
    (0xFFA0, "other"),
    (0x1D400, "Latin"),
    (0x1D800, "other"),
    (0x20000, "Han and Kana"),
    (0x323B0, "other"),
)
_NO_LETTERS = bytes(byte for byte in range(256) if byte > 127 or not chr(byte).isalpha())
"""All bytes but those of the letters of ASCII."""
_STARTS = [start for start, _ in _BLOCKS]


def script(text: str) -> str:
    """Return the script of most letters; empty for a text without letters.

    Japanese mixes Han and Kana, so that they count as one. Languages that share a script are not distinguished.

    >>> script("Check-in ab 15 Uhr"), script("Заезд после 15 (check-in)"), script("15:00")
    ('Latin', 'Cyrillic', '')
    """
    if text.isascii():
        return "Latin" if any(map(str.isalpha, text)) else ""
    if 2 * len(text.encode(errors="surrogatepass").translate(None, _NO_LETTERS)) > len(text):
        return "Latin"  # as nearly every text with a word or a sign of another script in it
    counts: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            counts[_BLOCKS[bisect_right(_STARTS, ord(letter)) - 1][1]] += count
    return counts.most_common(1)[0][0] if counts else ""
