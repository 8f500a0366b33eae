"""Answers that a language model writes from the hits, with words of them that it copies first."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from karat.chat import (
    Asker,
    Budget,
    Chat,
    Completion,
    Metered,
    Model,
    NotMeasurable,
    Pace,
    Part,
    Prompt,
    Replies,
    Reply,
    Usage,
    parse_prompt,
)
from karat.config import ModelOptions
from karat.core import Answer, Citation, SystemFailed, UsageError, shorten
from karat.files import decode, read_bytes
from karat.net import strip_secrets
from karat.systems._hits import Retrieved
from karat.systems.answer._answerer import Passage
from karat.systems.answer._quotes import find_quote
from karat.systems.index import LexicalIndex

_REPLIES = "answers.db"
_ROLE = "answerer"


class Quote(Reply, frozen=True):
    """Words of a text."""

    text: int
    quote: str


class CitedAnswer(Reply, frozen=True):
    """What a model replies: citations come first, so that the answer is written from them."""

    citations: list[Quote]
    refused: bool
    answer: str


@dataclass(frozen=True, kw_only=True)
class Generating(ModelOptions):
    """Asks a model behind any server with OpenAI's API for an answer from the best hits.

    The model copies the words that it answers from; a citation whose words are not in the text that it names does not
    count, and is recorded in the trace as ``invalid_citations``. Replies are kept in the project, so that a second run
    makes no call; who asks the same question again within a run gets another reply, and not a copy of the first.
    """

    url: str
    model: str
    max_tokens: int = 1024
    requests_per_minute: float | None = None
    budget: float | None = None
    """The money that one run may spend."""
    calls: int | None = None
    """The calls that one run may make."""
    hits: int = 5
    """How many of the best hits the model reads."""
    prompt: str = ""
    """A file with a prompt of your own."""
    cache: Path | None = None
    """The folder in which replies are kept; None for none."""
    say: Callable[[str], None] | None = None
    _asked: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _invalid: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.hits < 1:
            raise UsageError(f"[pipeline.answer] hits = {self.hits}; choose 1 or more")
        # Made now, so that a mistake is reported before the first question.
        _ = self._model.endpoint, self._prompt, Pace(self.requests_per_minute)
        Budget(self._model, most_calls=self.calls, most_money=self.budget)

    @cached_property
    def _model(self) -> Model:
        return Model.from_options(self)

    @cached_property
    def _prompt(self) -> Prompt:
        if self.prompt:
            return parse_prompt("answer", decode(read_bytes(Path(self.prompt)), self.prompt), self.prompt)
        own = files("karat.systems.answer").joinpath("prompts", "answer.md")
        return parse_prompt("answer", own.read_text("utf-8"), "answer.md")

    @cached_property
    def _replies(self) -> Replies | None:
        return None if self.cache is None else Replies(self.cache / _REPLIES)

    @cached_property
    def _asker(self) -> Asker:
        budget = Budget(self._model, most_calls=self.calls, most_money=self.budget)
        replies = self._replies
        open_chat = Chat if replies is None else replies.open_chat
        chat = open_chat(self._model, role=_ROLE)
        return Asker(chat, budget, replies, Pace(self.requests_per_minute))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the answer."""
        return {
            "kind": "model",
            "url": strip_secrets(self.url),
            **self._model.parameters,
            "prompt": f"{self._prompt.version} {self._prompt.digest}",
            "hits": self.hits,
        }

    def __call__(self, query: str, passages: Sequence[Passage], _: LexicalIndex) -> Answer:
        """Return the model's answer, with the citations whose words are there."""
        parts: list[Part] = [(f"text {number}", passage.text) for number, passage in enumerate(passages, 1)]
        parts.append(("question", query))
        vote = self._count(parts)
        with self._lock:  # one thread opens the file of replies
            meter = Metered(self._asker)
        start = time.perf_counter()
        try:
            reply = meter.ask(self._prompt, parts, CitedAnswer, vote=vote)
        except NotMeasurable as error:
            raise SystemFailed(str(error)) from None
        taken = self._recall_time(parts, vote, (time.perf_counter() - start) * 1000)
        return self._make_answer(reply, passages, meter.usage, taken)

    def _make_answer(
        self, reply: CitedAnswer, passages: Sequence[Passage], usage: Usage | None, milliseconds: float
    ) -> Answer:
        citations, invalid = read_citations(reply.citations, passages)
        if invalid:
            with self._lock:
                self._invalid.extend(invalid)
        priced = bool(self.input_price or self.output_price)
        return Answer(
            reply.answer,
            () if reply.refused else citations,
            Retrieved((), {}, milliseconds),
            refused=reply.refused,
            tokens={"input": usage.sent, "output": usage.received} if usage else {},
            cost=self._model.price(usage) if usage and priced else None,
            telemetry={"invalid_citations": [shorten(text) for text in invalid]} if invalid else {},
        )

    def _count(self, parts: Sequence[Part]) -> int:
        """Return how often the same was asked before in this run, which is the number of the vote."""
        key = _hash(parts)
        with self._lock:
            vote = self._asked.get(key, 0)
            self._asked[key] = vote + 1
        return vote

    def _recall_time(self, parts: Sequence[Part], vote: int, taken: float) -> float:
        """Return how long the model took: what it took when it was really asked, if the reply was kept."""
        if self._replies is None:
            return taken
        key = f"milliseconds {_hash([*parts, ('asked', repr((self.describe(), vote)))])}"
        known = self._replies.get(key)
        if known is None:
            self._replies.put(key, Completion(repr(taken), None))
            return taken
        return max(taken, float(known.text))

    def close(self) -> None:
        """Close the file of replies, and tell how many citations did not count."""
        if self._invalid and self.say is not None:
            self.say(
                f"{len(self._invalid):,} citations of {self.model} do not count: their words are not in the text that "
                f"they name, such as {shorten(self._invalid[0])}"
            )
        if self.cache is not None and "_replies" in vars(self) and self._replies is not None:
            self._replies.close()


def read_citations(quotes: Sequence[Quote], passages: Sequence[Passage]) -> tuple[list[Citation], list[str]]:
    """Return the citations whose words are in the text that they name, each once, and the words of the others."""
    citations: dict[Citation, None] = {}
    invalid = []
    for quote in quotes:
        passage = passages[quote.text - 1] if 1 <= quote.text <= len(passages) else None
        place = find_quote(quote.quote, passage.text) if passage else None
        if passage is None or place is None:
            invalid.append(quote.quote)
        else:
            citations[passage.cite(*place)] = None
    return list(citations), invalid


def _hash(parts: Sequence[Part]) -> str:
    return hashlib.sha256("\0".join(text for part in parts for text in part).encode(errors="replace")).hexdigest()
