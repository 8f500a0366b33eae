"""What tells identifiers, paths and revisions, which agents and developers write, from keys of the same letters.

An identifier is made of words. Letters that are drawn by chance have digits in the middle, and hardly any words.
"""

from __future__ import annotations

import re
from itertools import pairwise

_PARTS = re.compile(r"[^A-Za-z0-9]+")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_CAPITALISED = re.compile(r"[A-Z][a-z]{2,}")
_CONSONANTS = re.compile(r"[^aeiouy]{6}", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_LONGEST_WORD, _LONGEST_NUMBER, _SHORT = 20, 14, 4
_LEAST_WORD, _LEAST_MEAN = 4, 3.7
_LEAST_SHARE, _LEAST_VOWELS = 0.55, 0.28
"""So much of an identifier is words of four letters or more, one of them of five, and so much of these is vowels."""
_REVISION = re.compile(
    r"(?:^|[^A-Za-z])(?:commits?|revisions?|revs?|head|tree|blob|parent|merge|revert|checkout|cherry-pick|bisect"
    r"|reset|rebase|git show|git log|git diff|sha-?(?:1|256|512))[ \t:=#/@\"'`(]{1,3}$",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"(?<![A-Za-z0-9])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})(?![A-Za-z0-9])")
LOOK_BACK = 24
"""How many letters before a digest may say what it is."""


def is_named(text: str, before: str = "") -> bool:
    """Return whether a text is made of words, as identifiers and paths are, and of revisions that are called so.

    >>> is_named("handle_user_profile_update_event_v2"), is_named("migrations/0042_add_user_email_index")
    (True, True)
    >>> is_named("f3a9c1e07b5d2846f3a9c1e07b5d2846"), is_named("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    (False, False)
    >>> digest = "3d0b7fdf" * 5
    >>> is_named(digest), is_named(digest, "git show "), is_named(f"com/shop/commit/{digest}")
    (False, True, True)
    """
    whole = before + text

    def hide(match: re.Match[str]) -> str:
        end = len(before) + match.start()
        return match[0] if _REVISION.search(whole[max(0, end - LOOK_BACK) : end]) is None else ""

    rest = _DIGEST.sub(hide, text)
    parts = [part for part in _PARTS.split(rest) if part]
    if not parts or (rest != text and not any(map(str.isdigit, rest))):  # nothing else in it looks like a key
        return True
    return "+" not in rest and all(map(_is_plain, parts)) and _has_words(parts)


def is_worded(text: str, *, longest: int) -> bool:
    """Return whether a text that begins as keys do is a few words, none longer than so many letters.

    >>> is_worded("skeleton_loader_component", longest=11), is_worded("sk-abcdefghijklmnop", longest=11)
    (True, False)
    """
    parts = [part for part in _PARTS.split(text) if part]
    if text != text.lower() or len(parts) <= 1 or not _has_words(parts[1:]):
        return False
    return all(
        (part.isdigit() and len(part) <= _SHORT) or (part.isalpha() and len(part) <= longest and _is_plain(part))
        for part in parts
    )


def _is_plain(part: str) -> bool:
    """Return whether a part between signs is made of words, with a number only at its end or before a capital."""
    if len(part) <= _SHORT:
        return True
    pieces = _PIECE.findall(part)
    if any(len(piece) > _LONGEST_NUMBER for piece in pieces if piece.isdigit()):
        return False
    for piece, following in pairwise(pieces):
        if piece.isdigit() and _CAPITALISED.fullmatch(following) is None:
            return False
    words = [piece for piece in pieces if not piece.isdigit()]
    are_short = len(words) > 1 and sum(map(len, words)) < _LEAST_MEAN * len(words)
    return not are_short and all(map(_is_word, words))


def _is_word(letters: str) -> bool:
    if len(letters) > _LONGEST_WORD or _CONSONANTS.search(letters):
        return False
    return len(letters) <= _SHORT or _VOWEL.search(letters) is not None


def _has_words(parts: list[str]) -> bool:
    """Return whether enough of some parts is words that can be said; numbers alone do not count."""
    pieces = (piece for part in parts for piece in _PIECE.findall(part))
    words = [piece for piece in pieces if len(piece) >= _LEAST_WORD and _VOWEL.search(piece)]
    length = sum(map(len, words))
    letters = sum(len(part) for part in parts if not part.isdigit())
    vowels = len(_VOWEL.findall("".join(words)))
    return (
        max(map(len, words), default=0) > _LEAST_WORD
        and length >= _LEAST_SHARE * letters
        and vowels >= _LEAST_VOWELS * length
    )
