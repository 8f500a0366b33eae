"""Asking a model for a typed reply: from the cache or from the server, within the budget, repaired once."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from karat.core import SystemFailed
from karat.judges._budget import Budget
from karat.judges._fence import Part, fence
from karat.judges._model import Chat, Completion
from karat.judges._pace import Pace
from karat.judges._prompts import Prompt
from karat.judges._replies import Unreadable, read_reply
from karat.judges._reply_file import Replies, make_key
from karat.net import Busy, NotAService, Unreachable

T = TypeVar("T")
LONGEST_PAUSE = 60.0  # seconds
Check = Callable[[Any], str]
"""Returns what is wrong with a reply that has the right type; empty if nothing is."""


class NotMeasurable(Exception):
    """There is no value, and the message says why. It is reported and counted, and never a number."""


class Asker:
    """Asks one model for one run."""

    def __init__(self, chat: Chat, budget: Budget, replies: Replies | None = None, pace: Pace | None = None) -> None:
        self.chat, self.budget, self._replies, self._pace = chat, budget, replies, pace or Pace()
        self._turns = _Turns()

    def ask(
        self, prompt: Prompt, parts: Sequence[Part], kind: type[T], *, vote: int = 0, check: Check | None = None
    ) -> T:
        """Return the reply to a prompt about some texts.

        A reply that is not what was asked for is sent back once, with what is wrong. Raises NotMeasurable if that does
        not help or the server fails, Unreachable or NotAService if no other question would fare better, and
        BudgetSpent.
        """
        messages = [{"role": "system", "content": prompt.text}, {"role": "user", "content": fence(parts)}]
        reply = self._complete(messages, kind, vote)
        try:
            return _read(reply.text, kind, check)
        except Unreadable as error:
            problem = str(error)
        messages += [
            {"role": "assistant", "content": reply.text},
            {
                "role": "user",
                "content": f"That reply cannot be used: {problem}. Reply again, with nothing but the JSON.",
            },
        ]
        reply = self._complete(messages, kind, vote)
        try:
            return _read(reply.text, kind, check)
        except Unreadable as error:
            raise NotMeasurable(f"the judge's reply cannot be used: {error}") from None

    def _complete(self, messages: list[dict[str, str]], kind: type[Any], vote: int) -> Completion:
        body = self.chat.make_body(messages, kind)
        try:
            if self._replies is None:
                return self._send(body)
            key = make_key(self.chat.model.url, body, vote)
            with self._turns.take(key):  # who asks the same at the same time waits for the reply
                if (known := self._replies.get(key)) is not None:
                    self.budget.count_cached()
                    return known
                reply = self._send(body)
                self._replies.put(key, reply)
                return reply
        except (Unreachable, NotAService):
            raise
        except SystemFailed as error:
            raise NotMeasurable(str(error)) from None

    def _send(self, body: dict[str, Any]) -> Completion:
        """Send a request, again after failures that may pass. Each attempt is a call, since it may cost as much."""
        model, size = self.chat.model, len(json.dumps(body))
        for attempt in range(model.retries + 1):
            self._pace.wait()
            reserved, usage = self.budget.reserve(size), None
            try:
                reply = self.chat.complete(body)
                usage = reply.usage
                return reply
            except (Busy, Unreachable) as error:
                if attempt == model.retries:
                    raise
                if isinstance(error, Busy) and error.pause > 0:
                    self._pace.hold(min(error.pause, LONGEST_PAUSE))
                else:  # spread, so that not all threads come back at the same moment
                    time.sleep(min(model.backoff * 2**attempt, LONGEST_PAUSE) * random.uniform(0.5, 1.5))  # noqa: S311
            finally:
                self.budget.settle(reserved, usage)
        raise AssertionError("a model has no retries below 0")


class _Turns:
    """Lets threads that want the same thing do so one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def take(self, key: str) -> Iterator[None]:
        with self._lock:
            turn, count = self._waiting.get(key, (threading.Lock(), 0))
            self._waiting[key] = turn, count + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, count = self._waiting.pop(key)
                if count > 1:
                    self._waiting[key] = turn, count - 1


def _read(text: str, kind: type[T], check: Check | None) -> T:
    value = read_reply(text, kind)
    if check is not None and (problem := check(value)):
        raise Unreadable(problem)
    return value
