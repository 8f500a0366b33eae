"""Documents, as plain data, whose fields come from the bytes of a case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import inspect

from faults.fuzz.mutations import TOKENS

T = TypeVar("T")

WORDS = [
    *(token.decode("utf-8", "replace") for token in TOKENS if len(token) < 100), "nDCG@10", "R@5", "P@5",
    "latency.p95", "q1", "q2", "wifi", "pool", "category", "facts", "\ud800", "a b", "two\nlines",
    "<img src=x onerror=y>", '" onload="x', "'", "--", "\\", "\\end{table}", "^^5cinput", "\u2029", "\x9b31m",
    "[a](b)", "@me",
]  # fmt: skip
LARGEST = 10**299  # a decision with more digits is refused
NUMBERS = [
    0,
    1,
    2,
    3,
    5,
    10,
    100,
    10**6,
    2**31,
    2**53,
    10**299,
    0.5,
    0.25,
    1e-9,
    1e-300,
    5e-324,
    9.5,
    1e7,
    1e15,
    1e300,
    1.7e308,
]


class Draw:
    """Takes values from bytes; when there are none left it takes zeros, so that every document ends."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        """Take a byte."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def choice(self, values: Sequence[T]) -> T:
        """Take one of some values."""
        number = self.byte() if len(values) <= 256 else self.byte() * 256 + self.byte()
        return values[number % len(values)]

    def number(self) -> float:
        """Take a finite number, often an awkward one."""
        value = self.choice([*NUMBERS, None])
        if value is None:
            value = (self.byte() * 256 + self.byte()) / 65536
        return -value if self.byte() % 4 == 3 else value

    def text(self) -> str:
        """Take a few words, often awkward ones."""
        parts = [self.choice(WORDS) if self.byte() % 4 else self._raw() for _ in range(self.byte() % 4)]
        return "".join(parts)

    def _raw(self) -> str:
        length = self.byte() % 12
        data = bytes(self.byte() for _ in range(length))
        return data.decode("utf-8", "replace")


def fill(kind: Any, draw: Draw) -> Any:
    """Return plain data in the shape of a type of ``karat.schema``."""
    return _fill(inspect.type_info(kind), draw)


def _fill(kind: Any, draw: Draw) -> Any:
    if isinstance(kind, inspect.Metadata):
        return _fill(kind.type, draw)
    return _MAKERS[type(kind)](kind, draw)


def _fill_struct(kind: inspect.StructType, draw: Draw) -> dict[str, Any]:
    return {field.encode_name: _fill(field.type, draw) for field in kind.fields if field.required or draw.byte() % 3}


def _fill_integer(kind: inspect.IntType, draw: Draw) -> int:
    value = int(abs(draw.number())) if kind.ge is not None else int(draw.number())
    return min(max(value, -LARGEST if kind.ge is None else kind.ge), LARGEST)


def _fill_number(kind: inspect.FloatType, draw: Draw) -> float:
    value = float(draw.number())
    low, high = (-math.inf if kind.ge is None else kind.ge), (math.inf if kind.le is None else kind.le)
    return min(max(value, low), high)


def _fill_text(kind: inspect.StrType, draw: Draw) -> str:
    return draw.text() if kind.pattern is None else "2026-11-17"


def _fill_list(kind: Any, draw: Draw) -> list[Any]:
    return [_fill(kind.item_type, draw) for _ in range(draw.byte() % 4)]


def _fill_mapping(kind: inspect.DictType, draw: Draw) -> dict[Any, Any]:
    length = max(draw.byte() % 4, kind.min_length or 0)
    values = {
        _fill(kind.key_type, draw): _fill(kind.value_type, draw) for _ in range(min(length, kind.max_length or 4))
    }
    return values or ({"a": _fill(kind.value_type, draw)} if kind.min_length else {})


def _fill_anything(_: Any, draw: Draw) -> Any:
    values: list[Callable[[], Any]] = [
        lambda: None, draw.text, draw.number, lambda: bool(draw.byte() % 2),
        lambda: [_fill_anything(_, draw)], lambda: {draw.text(): _fill_anything(_, draw)},
    ]  # fmt: skip
    return draw.choice(values)()


_MAKERS: dict[type, Callable[[Any, Draw], Any]] = {
    inspect.StructType: _fill_struct,
    inspect.IntType: _fill_integer,
    inspect.FloatType: _fill_number,
    inspect.StrType: _fill_text,
    inspect.BoolType: lambda kind, draw: bool(draw.byte() % 2),
    inspect.NoneType: lambda kind, draw: None,
    inspect.VarTupleType: _fill_list,
    inspect.ListType: _fill_list,
    inspect.TupleType: lambda kind, draw: [_fill(item, draw) for item in kind.item_types],
    inspect.DictType: _fill_mapping,
    inspect.LiteralType: lambda kind, draw: draw.choice(kind.values),
    inspect.UnionType: lambda kind, draw: _fill(draw.choice(kind.types), draw),
    inspect.AnyType: _fill_anything,
}
