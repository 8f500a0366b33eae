"""What must not be written: redaction of texts, keyed hashes of ids, and the choice of what is logged at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from karat.core import UsageError, shorten
from karat.files import read_bytes

KEY_VARIABLE = "KARAT_ONLINE_KEY"
_LEAST_KEY = 16
_HASH_BYTES = 16
_EMAIL = re.compile(r"[\w.+%'-]{1,64}@(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}")
_NUMBER = re.compile(r"[+(\d](?<![\w.-].)(?:[ ().\-/]{0,3}\d){6,18}(?!\w)")
_DATE = re.compile(r"(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}(?!\d)|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d(?!\d)")
_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|hf|npm|pypi|AKIA|ASIA|AIza|ya29|eyJ)[-_.]?[A-Za-z0-9_\-.]{12,}"
    r"|(?=[A-Za-z_+/=]*\d)(?=[\d_+/=]*[A-Za-z])[A-Za-z0-9_+/=]{32,})"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)", re.DOTALL)
_LEAST_SECRET = 14  # characters of a word that may be a key
_DIGITS = b"0123456789"
_LEAST_NUMBER = 7
_LEAST_PHONE, _MOST_PHONE, _LEAST_CARD, _MOST_CARD = 9, 15, 13, 19


def passes_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of a card's number.

    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for index, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + index % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _hide_number(match: re.Match[str]) -> str:
    text = match[0]
    digits = "".join(filter(str.isdigit, text))
    if _LEAST_CARD <= len(digits) <= _MOST_CARD and passes_luhn(digits):
        return "[card]"
    if _DATE.match(text):
        return text
    marked = text[0] in "+("
    if len(digits) <= _MOST_PHONE and len(digits) >= (_LEAST_NUMBER if marked else _LEAST_PHONE):
        return "[phone]"
    return text


def _hide_usual(text: str) -> str:
    """Replace what karat knows. A text is searched only for what it may have: most have nothing, and a user waits."""
    if "@" in text:
        text = _EMAIL.sub("[e-mail]", text)
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE_KEY.sub("[key]", text)
    words = text.split()
    if len(max(words, key=len, default="")) >= _LEAST_SECRET:
        for word in {word for word in words if len(word) >= _LEAST_SECRET}:
            if (hidden := _KEY.sub("[key]", word)) != word:
                text = text.replace(word, hidden)
    if not text.isascii() or _count_digits(text) >= _LEAST_NUMBER:
        text = _NUMBER.sub(_hide_number, text)
    return text


def _count_digits(text: str) -> int:
    return len(text) - len(text.encode().translate(None, _DIGITS))


class Redaction:
    """What is replaced in texts: e-mail addresses, telephone and card numbers, keys, and the user's own patterns.

    >>> Redaction()("mail ann@example.org or call +49 151 1234567")
    'mail [e-mail] or call [phone]'
    >>> Redaction({"order": "ORD-[0-9]+"})("where is ORD-1234, paid with 4111 1111 1111 1111")
    'where is [order], paid with [card]'
    """

    def __init__(self, patterns: Mapping[str, str] | Iterable[str] = (), *, usual: bool = True) -> None:
        """Compile the patterns, regular expressions by the name that replaces them; ``usual`` is karat's own ones."""
        named = patterns if isinstance(patterns, Mapping) else dict.fromkeys(patterns, "")
        pairs = named.items() if isinstance(patterns, Mapping) else [("hidden", pattern) for pattern in named]
        self._usual = usual
        self._own: list[tuple[re.Pattern[str], str]] = []
        for name, pattern in pairs:
            try:
                self._own.append((re.compile(pattern), f"[{name}]"))
            except (re.error, TypeError) as error:
                problem = f"{shorten(pattern)} is not a regular expression: {error}"
                raise UsageError(f"{problem}; mend it: without it texts would be logged as they are") from None

    def __call__(self, text: str) -> str:
        """Return a text without what must not be written."""
        for pattern, mark in self._own:
            text = pattern.sub(mark.replace("\\", r"\\"), text)
        if self._usual:
            text = _hide_usual(text)
        return text

    def clean(self, value: Any) -> Any:
        """Return a value of JSON with all texts in it redacted, keys of objects too."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(key) if isinstance(key, str) else key: self.clean(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(inner) for inner in value]
        return value


def hash_id(key: bytes, kind: str, id: str) -> str:
    """Return a keyed hash of the id of a session or user: without the key nobody can tell whose it is.

    >>> hash_id(b"0" * 32, "session", "ann") == hash_id(b"0" * 32, "user", "ann")
    False
    """
    data = id.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=_HASH_BYTES, key=key, person=kind.encode()).hexdigest()


def make_sampler(rate: float) -> Callable[[str], bool]:
    """Return a function that chooses a share of all ids, always the same ones.

    >>> chosen = [n for n in range(10_000) if make_sampler(0.25)(str(n))]
    >>> 2300 < len(chosen) < 2700
    True
    """
    limit = int(rate * (1 << 64))

    def choose(id: str) -> bool:
        data = id.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(data, digest_size=8, person=b"sample").digest(), "big") < limit

    return choose


def parse_key(text: str) -> bytes:
    """Return the key that a text stands for: blake2b takes up to 64 bytes, so that a longer one is hashed."""
    data = text.strip().encode()
    if len(data) < _LEAST_KEY:
        hint = "python -c 'import secrets; print(secrets.token_hex())' makes one"
        raise UsageError(f"the key that ids are hashed with has {len(data)} characters, and needs {_LEAST_KEY}; {hint}")
    return data if len(data) <= 64 else blake2b(data).digest()


def read_key(path: Path) -> bytes | None:
    """Return the key of a log: that of the variable, or of the file beside the store; None if there is neither."""
    if text := os.environ.get(KEY_VARIABLE):
        return parse_key(text)
    return parse_key(read_bytes(path).decode()) if path.exists() else None


def make_key(path: Path) -> bytes:
    """Return the key of a log; if there is none, make one in a file that only its owner can read."""
    key = read_key(path)
    if key is not None:
        return key
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_hex().encode())
    finally:
        os.close(descriptor)
    try:
        os.link(new, path)  # fails if another process was faster: then its key is the key
    except FileExistsError:
        pass
    finally:
        new.unlink()
    key = read_key(path)
    assert key is not None
    return key
