"""Asking many questions at once."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from each import each
from karat.core import Context, UsageError
from karat.runs import _ask
from karat.runs._workers import Workers
from karat.systems import adapt


def ask_all(system, texts, k, **options):
    """Ask questions that belong to no session."""
    return _ask.ask_all(system, ((text, Context()) for text in texts), k, **options)


@each("options", [{}, {"timeout": 600}, {"concurrency": 4}, {"concurrency": 4, "timeout": 600}])
def test_answers_come_in_the_order_of_the_questions(options):
    """Whoever is faster does not overtake."""

    def find(query, k):
        time.sleep(0.02 if int(query) % 3 == 0 else 0)
        return [query]

    answers = list(ask_all(adapt(find), map(str, range(20)), 5, **options))
    assert [answer.hits[0].id for answer in answers] == [str(i) for i in range(20)]
    assert all(answer.milliseconds >= 0 for answer in answers)


def test_no_more_than_allowed_at_once():
    """Concurrency is a bound, and is reached: three questions wait for each other."""
    now, most, lock, three = 0, 0, threading.Lock(), threading.Barrier(3)

    def find(query, k):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        three.wait(600)
        with lock:
            now -= 1
        return []

    assert len(list(ask_all(adapt(find), "abcdefghijkl", 1, concurrency=3))) == 12
    assert most == 3


@pytest.mark.slow
def test_one_that_hangs_is_given_up_and_the_others_go_on():
    """A question without an answer in time fails, and another worker takes the place of the one that hangs."""
    stop = threading.Event()

    def find(query, k):
        if query in "bc":  # both at once: no worker is left that answers
            stop.wait()
        return [query]

    answers = list(ask_all(adapt(find), "abcdefgh", 1, concurrency=2, timeout=2))
    stop.set()
    late = "no answer within 2 s"
    assert [answer.error for answer in answers] == ["", late, late, "", "", "", "", ""]


def test_what_a_system_raises_is_its_answer():
    """A failure is told in the system's own words, and stops nothing."""

    def find(query, k):
        if query == "b":
            raise KeyError("no such shard")
        return [query]

    assert [answer.error for answer in ask_all(adapt(find), "abc", 1)] == ["", "KeyError: 'no such shard'", ""]


def test_async_systems_share_one_loop():
    """Coroutines run at the same time, all in one loop, as clients with a connection pool need it."""
    loops, everyone = set(), asyncio.Barrier(20)

    async def find(query, k):
        loops.add(asyncio.get_running_loop())
        await asyncio.wait_for(everyone.wait(), 600)
        return [query]

    answers = list(ask_all(adapt(find), map(str, range(20)), 1, concurrency=20))
    assert len(loops) == 1
    assert [answer.hits[0].id for answer in answers] == [str(i) for i in range(20)]


# Several questions in one call


class Many:
    """Takes any number of questions at once, and notes how many."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def retrieve_many(self, queries: list[str], k: int) -> list[list[str]]:
        self.sizes.append(len(queries))
        if "raise" in queries:
            raise ConnectionError("refused")
        return [[f"{query}-{i}" for i in range(k)] if query != "odd" else "odd" for query in queries]  # type: ignore[misc]


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_questions_in_batches(timeout: float | None) -> None:
    """Seven questions in threes are three calls; answers come in order, each with its share of the time."""
    system = Many()
    questions = [f"q{i}" for i in range(7)]
    answers = list(ask_all(adapt(system), questions, 2, batch=3, timeout=timeout))
    assert [[hit.id for hit in answer.hits] for answer in answers] == [[f"{q}-0", f"{q}-1"] for q in questions]
    assert system.sizes == [3, 3, 1]
    assert answers[0].milliseconds == answers[1].milliseconds


def test_a_batch_fails_together_and_an_answer_alone() -> None:
    """An exception is that of every question of its call; a list that is none is its question's only."""
    answers = list(ask_all(adapt(Many()), ["a", "raise", "b", "odd"], 1, batch=2))
    assert [answer.error for answer in answers[:2]] == ["ConnectionError: refused"] * 2
    assert [hit.id for hit in answers[2].hits] == ["b-0"]
    assert answers[3].error.startswith("the system returned 'odd', not a list of hits")


def test_too_few_lists_for_a_batch() -> None:
    """A call that answers fewer questions than it was asked has answered none."""

    class Short:
        def retrieve_many(self, queries: list[str], k: int) -> list[list[str]]:
            return [["a"]][:k]

    answers = list(ask_all(adapt(Short()), ["a", "b"], 1, batch=2))
    assert all("for 2 questions, not a list for each" in answer.error for answer in answers)
    assert [hit.id for answer in ask_all(adapt(Short()), ["a", "b"], 1) for hit in answer.hits] == ["a", "a"]


def test_a_batch_in_time() -> None:
    """The time limit is for the call, and all its questions have failed when it is over."""

    class Slow:
        def retrieve_many(self, queries: list[str], k: int) -> list[list[str]]:
            time.sleep(30)
            return []

    answers = list(ask_all(adapt(Slow()), ["a", "b"], 1, batch=2, timeout=0.05))
    assert [answer.error for answer in answers] == ["no answer within 0.05 s"] * 2


def test_batches_need_a_system_that_takes_them() -> None:
    """A plain function cannot be asked several questions at once."""
    with pytest.raises(UsageError, match="has no retrieve_many"):
        list(ask_all(adapt(lambda query, k: []), ["a"], 1, batch=2))


def test_answers_do_not_wait_for_a_question_that_hangs(monkeypatch):
    """Though the worker was late, so that the first look found none of them."""
    wait, looks, came = Workers._wait, [], threading.Event()

    def look_at_once(self, job, seconds):
        looks.append(seconds)
        if len(looks) > 1:  # the first look is over before the worker begins
            wait(self, job, seconds)

    monkeypatch.setattr(Workers, "_wait", look_at_once)
    answers = ask_all(adapt(lambda query, k: [str(query != "c" or came.wait(600))]), "abc", 1, timeout=600)
    assert [next(answers).hits[0].id for _ in "ab"] == ["True", "True"]
    came.set()
    assert next(answers).hits[0].id == "True"
