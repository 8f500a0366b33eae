"""Asking for a typed reply, which is repaired once if it is not what was asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from karat.chat._calls import asking_by
from karat.chat._fence import Part, fence
from karat.chat._model import Completion
from karat.chat._prompts import Prompt
from karat.chat._replies import Unreadable, read_reply

T = TypeVar("T")
Check = Callable[[Any], str]
"""Returns what is wrong with a reply that has the right type; empty if nothing is."""


class NotMeasurable(Exception):
    """There is no value, and the message says why. It is reported and counted, and never a number."""


class Dialogue(ABC):
    """Whom judges and answerers ask."""

    role = "judge"
    """What messages call the model."""

    def ask(
        self, prompt: Prompt, parts: Sequence[Part], kind: type[T], *, vote: int = 0, check: Check | None = None
    ) -> T:
        """Return the reply to a prompt about some texts.

        A reply that is not what was asked for is sent back once, with what is wrong. Raises NotMeasurable if that does
        not help or the server fails, Unreachable or NotAService if no other question would fare better, and
        BudgetSpent.
        """
        messages = [{"role": "system", "content": prompt.text}, {"role": "user", "content": fence(parts)}]
        with asking_by(prompt):
            return self._converse(messages, kind, vote, check)

    def _converse(self, messages: list[dict[str, str]], kind: type[T], vote: int, check: Check | None) -> T:
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
            raise NotMeasurable(f"the {self.role}'s reply cannot be used: {error}") from None

    @abstractmethod
    def _complete(self, messages: list[dict[str, str]], kind: type[Any], vote: int) -> Completion:
        """Return the reply to messages."""


def _read(text: str, kind: type[T], check: Check | None) -> T:
    value = read_reply(text, kind)
    if check is not None and (problem := check(value)):
        raise Unreadable(problem)
    return value
