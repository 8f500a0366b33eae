"""What looks like an address, a secret, or the number of a telephone or a card, in texts that people and agents write.

A user waits, and the text may be hostile: a text is searched only for what it may have, and every search takes time in
proportion to its length. Where it is not certain what digits are, they are hidden.
"""

from __future__ import annotations

import re

from karat.online._identifiers import LOOK_BACK, is_named, is_worded
from karat.online._numbers import LEAST_NUMBER, have_number, hide_numbers

_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_AT = re.compile("@|\uff20|%40")
_DOMAIN = re.compile(
    r"(?:[\w-]{1,63}[.\u3002\uff0e]){1,32}[^\W\d_][\w-]{0,22}[^\W_]"
    r"|\[[0-9A-Fa-f.:IPv]{2,45}\]"
)
_LOCAL, _QUOTE = re.compile(r"[\w.+%'-]"), '"'
_LONGEST_LOCAL = 64
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
    re.DOTALL,
)
_LOGIN = re.compile(r"(?<=://)[^\s/?#@:\[]{0,128}:(?!\d{1,5}[/?#])[^\s\"<>]{0,256}@")
"""The user and the password of an address, up to the last at sign near: a password may have one, too."""
_LEAST_SECRET = 14  # letters of a word that may be a key
_LONGEST_IN_NAME = 11  # letters of a word of an identifier that begins as keys do
_LONG_WORD = re.compile(rf"(?<!\S)\S{{{_LEAST_SECRET},}}")
_NAMED_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[a-z]|xapp|hf|npm|pypi|AKIA|ASIA|AIza|ya29|eyJ|SG|GOCSPX"
    r"|dapi|sq0[a-z]{3}|shp[a-z]{2})[-_.]?[A-Za-z0-9_\-.]{12,}"
)
_LONG_KEY = re.compile(r"(?<![A-Za-z0-9_+/=])[A-Za-z0-9_+/=]{32,}")
_PAIR = re.compile(
    r"""((?:password|passwd|passphrase|pwd|secret|token|authorization|(?:api|access|private)[ _-]?key)"""
    r"""["']?\s{0,3}[=:]\s{0,3})"""
    r"""(?:(?:bearer|basic)\s{1,3})?(?:"[^"\n]{1,200}"\S*|'[^'\n]{1,200}'\S*|\S+)""",
    re.IGNORECASE,
)
"""What somebody calls a secret; each match takes what it has looked at, and looks no further than 200 letters."""
_ASCII_DIGITS = b"0123456789"
_HARMLESS = bytes(code for code in range(128) if chr(code) not in "@%=:0123456789")
"""All but digits and the signs of an address or of a secret."""
_SHAPES = bytes(ord(" " if chr(code).isspace() else "x") for code in range(256))
"""A space, and anything else as the same letter, to find a long word."""
_SECRET = b"x" * _LEAST_SECRET


def hide_personal(text: str) -> str:
    """Return a text without e-mail addresses, telephone and card numbers, keys and passwords.

    >>> hide_personal("ann@example.org, 4111 1111 1111 1111 12/27 123, room 4111")
    '[e-mail], [card], room 4111'
    """
    if text.isascii():
        data = text.encode()
        digits = data.translate(None, _HARMLESS)
        if (  # no number, no sign and no word to look closer, as nearly always
            (not digits or digits.isdigit())
            and (len(digits) < LEAST_NUMBER or not have_number(text))
            and data.translate(_SHAPES).find(_SECRET) < 0  # "in" would ask whether it is a number first, and raise
            and "PRIVATE KEY" not in text
        ):
            return text
        return _hide(text)
    if _INVISIBLE.search(text):
        bare = _INVISIBLE.sub("", text)
        if (hidden := _hide(bare)) != bare:
            return hidden
    return _hide(text)


def _hide(text: str) -> str:
    if "@" in text or "%40" in text or "\uff20" in text:
        text = _hide_addresses(_LOGIN.sub("[login]@", text) if "://" in text else text)
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub("[key]", text)
    if len(max(text.split(), key=len, default="")) >= _LEAST_SECRET:
        text = _LONG_WORD.sub(_hide_keys, text)
    if not text.isascii() or len(text) - len(text.encode().translate(None, _ASCII_DIGITS)) >= LEAST_NUMBER:
        text = hide_numbers(text)
    if "=" in text or ":" in text:  # at the end: half of a number or a key must not stay beside what is hidden here
        text = _PAIR.sub(r"\1[key]", text)
    return text


def _hide_addresses(text: str) -> str:
    parts, end = list[str](), 0
    for sign in _AT.finditer(text):
        if sign.start() < end or (domain := _DOMAIN.match(text, sign.end())) is None:
            continue
        start = _find_local(text, sign.start(), end)
        if start < sign.start():
            parts += (text[end:start], "[e-mail]")
            end = domain.end()
    return "".join(parts) + text[end:]


def _find_local(text: str, at: int, first: int) -> int:
    """Return where the name before the sign of an address begins."""
    least = max(first, at - _LONGEST_LOCAL - 2)
    if at > least and text[at - 1] == _QUOTE and (quote := text.rfind(_QUOTE, least, at - 1)) >= 0:
        return quote
    start = at
    while start > least and _LOCAL.match(text[start - 1]):
        start -= 1
    return start


def _hide_keys(word: re.Match[str]) -> str:
    """Hide the keys in a word; what is before it may say that it has the name of a revision."""
    text = _NAMED_KEY.sub(_hide_named, word[0])
    return _LONG_KEY.sub(lambda match: _hide_mixture(match, word), text)


def _hide_named(match: re.Match[str]) -> str:
    return match[0] if is_worded(match[0], longest=_LONGEST_IN_NAME) else "[key]"


def _hide_mixture(match: re.Match[str], word: re.Match[str]) -> str:
    """Hide letters with digits: a path or a ruler of signs has no digit, a number no letter, an identifier words."""
    text = match[0]
    if not (any(map(str.isdigit, text)) and any(map(str.isalpha, text))):
        return text
    before = word.string[max(0, word.start() - LOOK_BACK) : word.start()]
    return text if is_named(text, before + match.string[: match.start()][-LOOK_BACK:]) else "[key]"
