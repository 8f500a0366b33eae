"""Texts in a block of bytes: numbered as a dict numbers them, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.files import ByteBlock, TextColumn, _byte_block

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=15), max_size=30)


def number(blocks: list[list[str]]) -> tuple[list[int], list[str]]:
    """Number the texts of some blocks, in which each is followed by a blank."""
    column = TextColumn()
    for texts in blocks:
        sizes = np.array([len(text.encode()) for text in texts], np.int64)
        start = np.cumsum(sizes + 1) - sizes - 1
        assert column.add(ByteBlock("".join(f"{text} " for text in texts).encode()), start, start + sizes)
    numbers, names = column.number()
    return numbers.tolist(), names


def number_by_dict(blocks: list[list[str]]) -> tuple[list[int], list[str]]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(text, len(numbers)) for texts in blocks for text in texts], list(numbers)


@pytest.mark.slow
@given(blocks=st.lists(TEXTS, max_size=4))
def test_texts_are_numbered_as_by_a_dict(blocks: list[list[str]]) -> None:
    """In the order in which they first stand there, over all blocks, and with any characters."""
    assert number(blocks) == number_by_dict(blocks)


@given(texts=TEXTS)
def test_texts_with_the_same_hash_are_told_apart(texts: list[str]) -> None:
    """Somebody may have made them so; here all texts have one hash."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_byte_block, "_MIX", np.uint64(0))
        assert number([texts]) == number_by_dict([texts])


@pytest.mark.parametrize(("text", "fits"), [(b"", False), (b"x" * 64, True), (b"x" * 65, False)])
def test_a_text_that_is_empty_or_long_fits_no_column(text: bytes, fits: bool) -> None:
    end = np.array([len(text)])
    assert TextColumn().add(ByteBlock(text), np.array([0]), end) is fits


@given(data=st.binary(max_size=40), text=st.binary(min_size=1, max_size=20), places=st.lists(st.integers(0, 19)))
def test_what_stands_at_places_is_compared(data: bytes, text: bytes, places: list[int]) -> None:
    """Also across the end of a word."""
    data += text + bytes(20)
    expected = all(data[place : place + len(text)] == text for place in places)
    assert ByteBlock(data).has_at(np.array(places, np.int64), text) is expected
