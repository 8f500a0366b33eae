"""Asking a model: the reply is taken from the cache or from the server, within the budget."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from karat.chat._budget import Budget
from karat.chat._calls import Attempts, Listener, listening
from karat.chat._dialogue import Dialogue, NotMeasurable
from karat.chat._model import Chat, Completion, CutOff, Usage
from karat.chat._pace import Pace
from karat.chat._reply_file import Replies, make_key
from karat.core import SystemFailed
from karat.net import Busy, NotAService, Unreachable, encode_json

LONGEST_PAUSE = 60.0  # seconds


class Asker(Dialogue):
    """Asks one model for one run; ``listener`` gets every call."""

    def __init__(
        self,
        chat: Chat,
        budget: Budget,
        replies: Replies | None = None,
        pace: Pace | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.chat, self.budget, self._replies, self._pace = chat, budget, replies, pace or Pace()
        self._listener = listener
        self.role = chat.role
        chat.meter = budget
        chat.on_probe = lambda data: listening(listener, chat.model, data, is_probe=True)
        self._turns = _Turns()

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
        data = encode_json(body)
        with listening(self._listener, self.chat.model, data) as attempts:
            attempts.reply = self._attempt(data, attempts)
            return attempts.reply

    def _attempt(self, data: bytes, attempts: Attempts) -> Completion:
        """Send a request, again after failures that may pass. The budget counts each attempt: it may cost as much."""
        model = self.chat.model
        for attempt in range(model.retries + 1):
            self._pace.wait()
            reserved, usage = self.budget.reserve(len(data)), None
            attempts.count += 1
            try:
                reply = self.chat.complete(data)
                usage = reply.usage
                return reply
            except CutOff as error:
                usage = error.usage
                raise
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


class Metered(Dialogue):
    """Asks as an asker does, and sums up the tokens of its own replies."""

    def __init__(self, asker: Asker) -> None:
        self._asker, self.role = asker, asker.role
        self.usage: Usage | None = Usage()
        """The tokens so far; None if the server does not say."""

    def _complete(self, messages: list[dict[str, str]], kind: type[Any], vote: int) -> Completion:
        reply = self._asker._complete(messages, kind, vote)
        self.usage = self.usage + reply.usage if self.usage and reply.usage else None
        return reply


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
