"""Changes of a case that keep most of it valid, so that they get past the first check of a reader."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from faults.fuzz.cases import Case

Change = Callable[[bytes, random.Random], bytes]

TOKENS = [
    *(bytes([byte]) for byte in b' \t\n\r\v\f\x1c\x00\x7f,;:"\'\\{}[]()<>#=@|&%$^~`*_-+./!?eE019xq'), b"\n\n",
    b"\r\n", b"  ", b'""', b'","', b"\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    *(text.encode() for text in ("\u0663", "\u2028", "\u0085", "\u00a0", "e\u0301", "\u202e", "\ufeff", "\U0001f642")),
    b"nan", b"NaN", b"inf", b"Infinity", b"1e999", b"1e-999", b"-0.0", b"9" * 20, b"9" * 400, b"1.0", b"1_0", b"0x1",
    b"true", b"null", b"{}", b"[]", b"\\ud800", b"\\u0000", b"\\u0031", b"\\n", b"[" * 2000, b'{"a":' * 500,
    b"a." * 200, b"::error::x", b"##[add-mask]x", b"##vso[a]", b"section_start:1", b"<script>", b"</script>", b"<!--",
    b"-->", b"]]>", b"&lt;", b"\x1b[2J", b"=1+1", b"\\input{x}", b"javascript:x", b"2026-11-17", b"2026-02-30",
    b"../..", b"-1", b"1e308", b"<DOC>", b"</DOC>", b"<top>", b"<num>", b".I 1\n", b".W\n", b"# ", b"```\n",
    b"| a | b |\n|---|---|\n", b"S.1.2",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 3, 255, 10**15, 10**16, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, -1e308,
    5e-324, float("nan"), float("inf"), "", " ", "a", "1", "-1", "1.5", "\0", "\n", "two\nlines", "\ud800", "\u202e",
    "::error::x", "##[add-mask]x", "\x1b[2J", "<script>alert(1)</script>", '"><img src=x onerror=y>', "=1+1",
    "\\input{x}", "a|b", "[a](b)", "]]>", "x" * 5000, [], {}, [[]], [{}], [""], [None], {"": ""}, {"id": None},
    [0, 1], [1, 0], [-1, 10**12], ["a", "a"], "nDCG@10", "R@5", "latency.p95", "must_show@5", "none", "default",
    "document", "run", "baseline", "report", "2026-11-17",
]  # fmt: skip
_TOML_VALUE = re.compile(rb"(?m)(?<==)[^\n#]*$")
_TOML_VALUES = [
    b'""', b'"a"', b"0", b"1", b"-1", b"1.5", b"1e308", b"inf", b"nan", b"true", b"false", b"[]", b'["a"]', b"{}",
    b"[[]]", b"2026-11-17", b"07:32:00", b"2026-11-17T07:32:00Z", b"9223372036854775808", b'"\\u0000"', b'{a = 1}',
    b'["R@5"]', b"0.05", b'"none"', b'"default"', b'"../x"', b'"/dev/null"', b"0x10", b"[1, 2]", b'[{a = 1}]',
    b'"""\na"""',
]  # fmt: skip


def mutate(case: Case, rng: random.Random, change: Change | None = None, kinds: Sequence[str] = ()) -> Case:
    """Return a case with some changes in one of its files. ``change`` is the fuzzer's own kind of change."""
    if not case.files or (kinds and rng.random() < 0.02):
        return replace(case, kind=rng.choice(kinds)) if kinds else case
    name = rng.choice(list(case.files))
    content = case.files[name]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        changes = [change_tokens, change_tokens, change_json, change_json, change_json]
        changes += [change_toml] * 3 if name.endswith(".toml") else []
        changes += [change] if change is not None else []
        content = rng.choice(changes)(content, rng)
    return replace(case, files={**case.files, name: content})


def change_tokens(data: bytes, rng: random.Random) -> bytes:
    """Flip, delete, insert, repeat or move bytes and lines."""
    at, other = (rng.randrange(len(data) + 1) for _ in range(2))
    low, high = min(at, other), min(max(at, other), min(at, other) + rng.choice([1, 4, 12, 60]))
    lines = data.split(b"\n")
    line = rng.randrange(len(lines))
    match rng.randrange(10):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:low] + data[high:]
        case 3:
            return data[:high] + data[low:high] + data[high:]
        case 4 | 5:
            return data[:at] + rng.choice(TOKENS) + data[at:]
        case 6:
            return data[:low] + rng.choice(TOKENS) + data[high:]
        case 7:
            lines.insert(line, lines[rng.randrange(len(lines))])
            return b"\n".join(lines)
        case 8:
            del lines[line]
            return b"\n".join(lines)
        case _:
            return data[:at] if rng.randrange(4) == 0 else data[:low] + data[high:] + data[low:high]


def change_toml(data: bytes, rng: random.Random) -> bytes:
    """Replace the value of a key."""
    places = list(_TOML_VALUE.finditer(data))
    if not places:
        return data
    place = rng.choice(places)
    return data[: place.start()] + b" " + rng.choice(_TOML_VALUES) + data[place.end() :]


def change_json(data: bytes, rng: random.Random) -> bytes:
    """Change a value inside the JSON of a file, or of one of its lines. Other files stay as they are."""
    whole = _parse(data)
    if whole is not _NOT_JSON:
        return _dump(_change_value(whole, rng), rng)
    lines = data.split(b"\n")
    places = [i for i, line in enumerate(lines) if line[:1] in (b"{", b"[")]
    if not places:
        return data
    place = rng.choice(places)
    value = _parse(lines[place])
    if value is not _NOT_JSON:
        lines[place] = _dump(_change_value(value, rng), rng)
    return b"\n".join(lines)


_NOT_JSON = object()


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _dump(value: Any, rng: random.Random) -> bytes:
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _change_value(value: Any, rng: random.Random) -> Any:
    """Return a copy that differs in one place: another value, one key or item more or less, or two of them swapped."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(VALUES) if rng.random() < 0.7 else _change_leaf(value, rng)
    if isinstance(value, list):
        return _change_list(value, rng)
    key = rng.choice(list(value))
    match rng.randrange(12):
        case 0:
            return {name: inner for name, inner in value.items() if name != key}
        case 1:
            return {**value, str(rng.choice(VALUES)): value[key]}
        case 2:
            return {(str(rng.choice(VALUES)) if name == key else name): inner for name, inner in value.items()}
        case 3:
            return {**value, key: value[rng.choice(list(value))]}
    return {**value, key: _change_value(value[key], rng)}


def _change_list(items: list[Any], rng: random.Random) -> list[Any]:
    place = rng.randrange(len(items))
    match rng.randrange(8):
        case 0:
            return items[:place] + items[place + 1 :]
        case 1:
            return [*items, items[place]]
        case 2:
            return [*items[:place], rng.choice(VALUES), *items[place:]]
        case 3:
            return items[::-1]
    return [*items[:place], _change_value(items[place], rng), *items[place + 1 :]]


def _change_leaf(value: Any, rng: random.Random) -> Any:
    """Return a text with a token in it, a number that is near, or the value in a list."""
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(TOKENS).decode(errors="replace") + value[at:]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return rng.choice([value + 1, value - 1, -value, str(value), [value]])
    return [value]
