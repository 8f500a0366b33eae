"""Asking many questions at once."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from karat.experiments._ask import ask_all
from karat.systems import adapt


@pytest.mark.parametrize("options", [{}, {"timeout": 5}, {"concurrency": 4}, {"concurrency": 4, "timeout": 5}])
def test_answers_come_in_the_order_of_the_questions(options):
    """Whoever is faster does not overtake."""

    def find(query, k):
        time.sleep(0.02 if int(query) % 3 == 0 else 0)
        return [query]

    answers = list(ask_all(adapt(find), map(str, range(20)), 5, **options))
    assert [answer.hits[0].id for answer in answers] == [str(i) for i in range(20)]
    assert all(answer.milliseconds >= 0 for answer in answers)


def test_no_more_than_allowed_at_once():
    """Concurrency is a bound."""
    now, most, lock = 0, 0, threading.Lock()

    def find(query, k):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return []

    assert len(list(ask_all(adapt(find), "abcdefghijkl", 1, concurrency=3))) == 12
    assert 1 < most <= 3


def test_one_that_hangs_is_given_up_and_the_others_go_on():
    """A question without an answer in time fails, and another worker takes the place of the one that hangs."""
    stop = threading.Event()

    def find(query, k):
        if query in "be":
            stop.wait(30)
        return [query]

    start = time.monotonic()
    answers = list(ask_all(adapt(find), "abcdefgh", 1, concurrency=2, timeout=0.2))
    stop.set()
    assert time.monotonic() - start < 5
    assert [answer.error for answer in answers] == [
        "",
        "no answer within 0.2 s",
        "",
        "",
        "no answer within 0.2 s",
        "",
        "",
        "",
    ]


def test_what_a_system_raises_is_its_answer():
    """A failure is told in the system's own words, and stops nothing."""

    def find(query, k):
        if query == "b":
            raise KeyError("no such shard")
        return [query]

    assert [answer.error for answer in ask_all(adapt(find), "abc", 1)] == ["", "KeyError: 'no such shard'", ""]


def test_async_systems_share_one_loop():
    """Coroutines run at the same time, all in one loop, as clients with a connection pool need it."""
    loops = set()

    async def find(query, k):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        return [query]

    start = time.monotonic()
    answers = list(ask_all(adapt(find), map(str, range(20)), 1, concurrency=20))
    assert time.monotonic() - start < 0.8
    assert len(loops) == 1
    assert [answer.hits[0].id for answer in answers] == [str(i) for i in range(20)]
