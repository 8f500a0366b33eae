"""Flags: the hash against its published vectors, how units are dealt, and what a flag refuses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from each import each
from karat.core import UsageError
from karat.online.flags import BUCKETS, CONTROL, Flag, find_bucket, murmur3_32

HASHES = {
    (b"", 0x0): 0x0,
    (b"", 0x1): 0x514E28B7,
    (b"", 0xFFFFFFFF): 0x81F16F39,
    (b"\0\0\0\0", 0x0): 0x2362F9DE,
    (b"aaaa", 0x9747B28C): 0x5A97808A,
    (b"aaa", 0x9747B28C): 0x283E0130,
    (b"aa", 0x9747B28C): 0x5D211726,
    (b"a", 0x9747B28C): 0x7FA09EA6,
    (b"abc", 0x0): 0xB3DD93FA,
    (b"Hello, world!", 0x9747B28C): 0x24884CBA,
    ("ππππππππ".encode(), 0x9747B28C): 0xD58063C1,
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C): 0x2FA826CD,
    (b"rerank\0session-1", 0x0): 0xB432731D,
    ("flag\0Zoë".encode(), 0x0): 0xD371BE3E,
}
"""Vectors of the reference implementation, and two more. mmh3 5.3.1 gives the same, also for 20,000 random texts."""
UNITS = [f"session-{number}" for number in range(20_000)]


def test_the_hash_is_murmur3() -> None:
    """Every length modulo 4, with and without a seed."""
    for (data, seed), expected in HASHES.items():
        assert murmur3_32(data, seed) == hash_by_steps(data, seed) == expected, data


def hash_by_steps(data: bytes, seed: int) -> int:
    """Return MurmurHash3_x86_32 as its author wrote it down: one word after the other, in numbers of 32 bits."""

    def rotate(number: int, bits: int) -> int:
        return (number << bits | number >> 32 - bits) & 0xFFFFFFFF

    state = seed
    for start in range(0, len(data), 4):
        part = data[start : start + 4]
        word = rotate(int.from_bytes(part, "little") * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        state ^= word
        if len(part) == 4:
            state = (rotate(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_all_words_at_once_are_as_one_after_the_other(data: bytes, seed: int) -> None:
    """The hash takes all words of a text at once; one after the other gives the same, of any length."""
    assert murmur3_32(data, seed) == hash_by_steps(data, seed)


def test_the_bucket_is_the_upper_part_of_a_product() -> None:
    """bucket = (murmur3_32(salt + NUL + unit) * 10000) >> 32, whatever is in the unit."""
    assert find_bucket("rerank", "session-1") == 0xB432731D * 10_000 // 2**32 == 7038
    assert find_bucket("flag", "Zoë") == 8259
    assert 0 <= find_bucket("flag", "half \ud800 of a pair") < BUCKETS


@pytest.mark.slow
def test_units_are_dealt_evenly_and_salts_independently() -> None:
    """Chi-squared on 100 groups of buckets, and on pairs of groups of two salts: no p-value below 0.001."""
    salts = ("rerank", "rerank/variant", "rerank/shadow", "rewrite")
    groups = {salt: [find_bucket.__wrapped__(salt, unit) // 100 for unit in UNITS] for salt in salts}
    for own in groups.values():
        assert stats.chisquare([Counter(own)[group] for group in range(100)]).pvalue > 0.001
    for other in salts[1:]:
        pairs = Counter((a // 10, b // 10) for a, b in zip(groups["rerank"], groups[other], strict=True))
        assert stats.chisquare([pairs[a, b] for a in range(10) for b in range(10)]).pvalue > 0.001


def test_a_share_is_that_of_its_buckets() -> None:
    """At every step of 0.01 % those whose bucket is below get the feature: 0.29 * 100 is not 29 in binary."""
    dealt = {unit: find_bucket("rerank", unit) for unit in UNITS[:300]}
    for step in range(0, BUCKETS + 1, 29):
        flag = Flag(key="rerank", percent=step / 100)
        assert [unit for unit in dealt if flag.assign(unit) != CONTROL] == [u for u in dealt if dealt[u] < step]


def test_a_rollout_only_adds_units() -> None:
    """Whoever has the feature at 5 % has it at 20 %, in the same variant; the shares are what was asked for."""
    flags = [Flag(key="rerank", percent=percent, variants={"small": 1, "large": 3}) for percent in (5, 20, 100)]
    dealt = [[flag.assign(unit) for unit in UNITS[:4000]] for flag in flags]
    for fewer, more in pairwise(dealt):
        assert all(a in (CONTROL, b) for a, b in zip(fewer, more, strict=True))
    assert 150 < 4000 - dealt[0].count(CONTROL) < 250
    assert 700 < 4000 - dealt[1].count(CONTROL) < 900
    assert CONTROL not in dealt[2]
    assert 0.22 < dealt[2].count("small") / 4000 < 0.28


def test_ends_of_the_scale() -> None:
    """0 % is nobody, 100 % everybody, and a step of 0.01 % is one bucket."""
    assert {Flag(key="k", percent=0).assign(unit) for unit in UNITS[:500]} == {CONTROL}
    assert {Flag(key="k", percent=100).assign(unit) for unit in UNITS[:500]} == {"treatment"}
    unit = next(unit for unit in UNITS if find_bucket("k", unit) == 29)
    assert Flag(key="k", percent=0.29).assign(unit) == CONTROL
    assert Flag(key="k", percent=0.3).assign(unit) == "treatment"


def test_overrides_and_the_kill_switch() -> None:
    """An override counts at any share; the kill switch is above it, and stops shadow runs, too."""
    flag = Flag(key="k", percent=0, overrides={"tester": "treatment", "boss": CONTROL}, shadow_percent=100)
    assert (flag.assign("tester"), flag.assign("boss"), flag.assign("anybody")) == ("treatment", CONTROL, CONTROL)
    assert flag.is_shadowed("q1")
    killed = Flag(key="k", percent=100, overrides=flag.overrides, shadow_percent=100, enabled=False)
    assert {killed.assign(unit) for unit in ("tester", "boss", "anybody")} == {CONTROL}
    assert not killed.is_shadowed("q1")


def test_who_is_in_the_shadow_is_another_draw() -> None:
    """Of the units in a rollout of half, half are shadowed; another salt deals anew, and the same salt the same."""
    flag = Flag(key="k", percent=50, shadow_percent=50)
    inside = [unit for unit in UNITS[:2000] if flag.assign(unit) != CONTROL]
    assert 0.44 < sum(map(flag.is_shadowed, inside)) / len(inside) < 0.56
    twin, other = Flag(key="m", percent=50, salt="k"), Flag(key="m", percent=50)
    assert all(twin.assign(unit) == flag.assign(unit) for unit in UNITS[:500])
    assert 180 < sum(other.assign(unit) == flag.assign(unit) for unit in UNITS[:500]) < 320


def test_a_flag_does_not_change() -> None:
    """Neither its fields nor its mappings."""
    weights = {"treatment": 1}
    flag = Flag(key="k", variants=weights)
    weights["late"] = 5
    assert dict(flag.variants) == {"treatment": 1}
    with pytest.raises(TypeError):
        flag.overrides["x"] = "treatment"  # type: ignore[index]
    with pytest.raises(AttributeError):
        flag.percent = 5.0  # type: ignore[misc]


@each(
    ("fields", "message"),
    [
        ({"key": ""}, "key ''"),
        ({"key": "a/b"}, "letters, digits"),
        ({"key": "a\0b"}, "letters, digits"),
        ({"salt": "a b"}, "salt 'a b'"),
        ({"percent": 101}, "from 0 to 100"),
        ({"percent": float("nan")}, "from 0 to 100"),
        ({"percent": 0.005}, r"steps of 0\.01"),
        ({"shadow_percent": -1}, "shadow_percent of flag 'k'"),
        ({"variants": {}}, "no variant"),
        ({"variants": {"control": 1}}, "no variant of it"),
        ({"variants": {"a": 0}}, "weight 0"),
        ({"variants": {"a": True}}, "weight True"),
        ({"overrides": {"u": "other"}}, "not one of control, treatment"),
        ({"overrides": {"": "treatment"}}, "1 to 1,000 letters"),
        ({"key": None}, "key None"),
        ({"percent": "5"}, "from 0 to 100"),
        ({"percent": True}, "from 0 to 100"),
        ({"variants": ["a"]}, "variants=.* is not a mapping"),
        ({"overrides": "u"}, "overrides='u' is not a mapping"),
    ],
)
def test_what_is_refused(fields: dict[str, object], message: str) -> None:
    """One message that says what is wrong, and with which flag."""
    with pytest.raises(UsageError, match=message):
        Flag(**({"key": "k"} | fields))  # type: ignore[arg-type]
