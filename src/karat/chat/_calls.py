"""What a model was asked, for whoever wants to know: each call with its time, its tokens, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from karat.chat._model import Completion, CutOff, Model, Usage
from karat.chat._prompts import Prompt
from karat.core import KaratError


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a model is asked about."""

    query: str
    judge: str = ""
    paraphrase: int = 0
    repeat: int = 0
    vote: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that was sent to a model, again if need be, and what came of it."""

    model: Model
    body: bytes
    """The request as it was sent."""
    begun: float
    """Seconds since 1970, UTC."""
    seconds: float
    """How long it took, with all attempts and the pauses between them."""
    attempts: int = 1
    usage: Usage | None = None
    """The tokens; None if the server does not say."""
    reply: Completion | None = None
    error: str = ""
    """Why there is no reply."""
    kind: str = ""
    """The name of the error's class."""
    prompt: Prompt | None = None
    """None for a request that finds out how a server is asked for JSON."""
    subject: Subject | None = None


Listener = Callable[[Call], None]

_subject: ContextVar[Subject | None] = ContextVar("karat.chat.subject", default=None)
_listener: ContextVar[Listener | None] = ContextVar("karat.chat.listener", default=None)
_prompt: ContextVar[Prompt | None] = ContextVar("karat.chat.prompt", default=None)


@contextmanager
def asking_about(subject: Subject | None, listener: Listener | None = None) -> Iterator[None]:
    """Mark the calls in a block, in this thread, as being about a subject; ``listener`` is told of them.

    An asker that has a listener of its own tells that one instead.
    """
    tokens = _subject.set(subject), _listener.set(listener)
    try:
        yield
    finally:
        _subject.reset(tokens[0])
        _listener.reset(tokens[1])


@contextmanager
def asking_by(prompt: Prompt) -> Iterator[None]:
    """Mark the calls in a block, in this thread, as having a prompt."""
    token = _prompt.set(prompt)
    try:
        yield
    finally:
        _prompt.reset(token)


class Attempts:
    """Counts the attempts of a call, and keeps its reply."""

    def __init__(self) -> None:
        self.count = 0
        self.reply: Completion | None = None


@contextmanager
def listening(listener: Listener | None, model: Model, body: bytes, *, is_probe: bool = False) -> Iterator[Attempts]:
    """Call a listener with a call of a model, once it is over. One that the budget did not allow is none.

    Without one, that of the block is called in which the thread asks, if there is any.
    """
    listener = listener or _listener.get()
    attempts, begun, clock = Attempts(), time.time(), time.perf_counter()
    failure: Exception | None = None
    try:
        yield attempts
    except KaratError as error:
        failure = error
        raise
    finally:
        if listener is not None and attempts.count:
            reply = attempts.reply
            usage = reply.usage if reply is not None else failure.usage if isinstance(failure, CutOff) else None
            listener(
                Call(
                    model=model,
                    body=body,
                    begun=begun,
                    seconds=time.perf_counter() - clock,
                    attempts=attempts.count,
                    usage=usage,
                    reply=reply,
                    error="" if failure is None else str(failure),
                    kind="" if failure is None else type(failure).__name__,
                    prompt=None if is_probe else _prompt.get(),
                    subject=None if is_probe else _subject.get(),
                )
            )
