"""A model behind any server with OpenAI's API, and what asking it costs: ``POST <url>/chat/completions``."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, get_args

from karat.chat._replies import describe_schema, make_schema
from karat.config import ModelOptions
from karat.core import SystemFailed, UsageError, shorten
from karat.net import Client, Endpoint, NotAService, encode_json

Rung = Literal["json_schema", "json_object", "prompt"]
RUNGS: tuple[Rung, ...] = get_args(Rung)
"""How a server is asked for JSON, the strictest way first: held to a schema, held to JSON, or only told so."""
_PROBE = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_HALF = re.compile("[\ud800-\udfff]")
_MILLION = 1_000_000
_MOST_TOKENS = 1_000_000_000
_MOST_PRICE = 1_000_000_000
_LONGEST_NAME = 200
_LIMITS = {
    "max_tokens": (1, _MOST_TOKENS),
    "temperature": (0, 2),
    "timeout": (0.001, 86_400),
    "retries": (0, 100),
    "input_price": (0, _MOST_PRICE),
    "output_price": (0, _MOST_PRICE),
}
"""The least and the most that an option can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(ModelOptions):
    """A model, where it is, and how it is asked.

    >>> Model(url="http://localhost:8080/v1", model="smollm2").parameters
    {'model': 'smollm2', 'temperature': 0.0, 'max_tokens': 2048}
    """

    url: str
    model: str
    backoff: float = 1.0

    @classmethod
    def from_options(cls, options: ModelOptions) -> Model:
        """Return the model that options name, whatever else they say."""
        return cls(**{option.name: getattr(options, option.name) for option in fields(ModelOptions)})

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError("the name of a model is missing; write it as in model = 'gpt-5-mini'")
        for name, (least, most) in _LIMITS.items():
            if not least <= (value := getattr(self, name)) <= most:  # also if it is not a number
                raise UsageError(f"{name} = {shorten(value)}; choose {least:g} to {most:,}")

    @property
    def endpoint(self) -> Endpoint:
        """The address that requests go to."""
        return Endpoint(
            url=f"{self.url.rstrip('/')}/chat/completions",
            key_variable=self.key_variable,
            headers=self.headers,
            proxy=self.proxy,
            timeout=self.timeout,
            retries=0,  # each attempt may cost money, and is counted where that is
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """What every request has, and what decides about a reply besides the messages."""
        seed = {} if self.seed is None else {"seed": self.seed}
        return {"model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens, **seed}

    def price(self, usage: Usage) -> float:
        """Return what tokens cost."""
        return (usage.sent * self.input_price + usage.received * self.output_price) / _MILLION


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were sent and received."""

    sent: int = 0
    received: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.sent + other.sent, self.received + other.received)


@dataclass(frozen=True, slots=True)
class Completion:
    """The text of a reply, and its tokens."""

    text: str
    usage: Usage | None
    """None if the server does not say."""
    id: str = field(default="", repr=False, compare=False)
    """The server's own id of the reply; empty if it has none, or was in the cache."""
    model: str = field(default="", repr=False, compare=False)
    """The model that replied, as the server calls it."""


class CutOff(SystemFailed):
    """A reply that ends at the limit of its tokens, which were spent."""

    def __init__(self, message: str, usage: Usage | None) -> None:
        super().__init__(message)
        self.usage = usage


class Meter(Protocol):
    """Counts calls, and refuses one that would cost too much."""

    def reserve(self, size: int) -> float:
        """Reserve a call whose messages have ``size`` bytes, and return the money that it may cost at most."""
        ...

    def settle(self, reserved: float, usage: Usage | None) -> None:
        """Count what a call has cost; all that was reserved if nobody knows."""
        ...


class Chat:
    """Sends messages to a model, from any number of threads; ``role`` is what messages call it.

    ``rung`` says how the server is asked for JSON, if that is known; if not, ``keep`` is told once it is.
    """

    def __init__(
        self,
        model: Model,
        rung: Rung | None = None,
        keep: Callable[[Rung], None] | None = None,
        *,
        role: str = "judge",
    ) -> None:
        self.model, self.role, self._keep = model, role, keep
        self._client = Client(model.endpoint, role)
        self._rung = rung
        self._lock = threading.Lock()
        self.meter: Meter | None = None
        """What counts the requests that find out how the server is asked for JSON."""
        self.on_probe: Callable[[bytes], AbstractContextManager[Any]] | None = None
        """What is entered around each of these requests; it yields something with their reply and their number."""

    @property
    def is_probed(self) -> bool:
        """Whether it is known how the server is asked for JSON, so that nobody has to find out."""
        return self._rung is not None

    @property
    def rung(self) -> Rung:
        """How the server is asked for JSON: the strictest way that it accepts, found out once."""
        with self._lock:
            if self._rung is None:
                self._rung = self._probe()
                if self._keep is not None:
                    self._keep(self._rung)
            return self._rung

    def _probe(self) -> Rung:
        for rung, body in make_probes(self.model).items():
            try:
                self._post_probe(encode_json(body))
            except CutOff:  # by a server that knows what was asked for; a model that thinks aloud needs more tokens
                return rung
            except NotAService:
                raise
            except SystemFailed as error:
                if not _is_refusal(error):
                    raise
            else:
                return rung
        return RUNGS[-1]

    def _post_probe(self, data: bytes) -> None:
        reserved = 0.0 if self.meter is None else self.meter.reserve(len(data))
        usage: Usage | None = Usage()  # a server that refuses a request makes no tokens
        try:
            usage = self._ask_probe(data).usage
        except CutOff as error:
            usage = error.usage
            raise
        finally:
            if self.meter is not None:
                self.meter.settle(reserved, usage)

    def _ask_probe(self, data: bytes) -> Completion:
        if self.on_probe is None:
            return _read(self._client.post_encoded(data), self.role)
        with self.on_probe(data) as attempts:
            attempts.count = 1
            attempts.reply = reply = _read(self._client.post_encoded(data), self.role)
            return reply

    def make_body(self, messages: list[dict[str, str]], kind: type[Any]) -> dict[str, Any]:
        """Return the body of a request for a reply of a kind."""
        return make_body(self.model, self.rung, messages, kind)

    def complete(self, body: bytes) -> Completion:
        """Send the encoded body of a request, and return the reply; SystemFailed if there is none."""
        reply = _read(self._client.post_encoded(body), self.role)
        if _HALF.search(reply.text):
            raise SystemFailed(f"{self.role}: a reply with half a character (a lone surrogate), which is no text")
        return reply


def make_probes(model: Model) -> dict[Rung, dict[str, Any]]:
    """Return the bodies of the requests that find out how a server can be asked for JSON, until it accepts one."""
    question = {"messages": [{"role": "user", "content": 'Reply with the JSON object {"ok": true}.'}], "max_tokens": 16}
    return {rung: {**model.parameters, **question, **_ask_for(rung, _PROBE)} for rung in RUNGS[:-1]}


def make_body(model: Model, rung: Rung, messages: list[dict[str, str]], kind: type[Any]) -> dict[str, Any]:
    """Return the body of a request for a reply of a kind, to a server that is asked for JSON in this way."""
    if rung != "json_schema":
        instruction = f"\n\nReply with one JSON object of this schema, and nothing else:\n{describe_schema(kind)}"
        first, *rest = messages
        messages = [{**first, "content": first["content"] + instruction}, *rest]
    return {**model.parameters, "messages": messages, **_ask_for(rung, make_schema(kind), kind.__name__)}


def _ask_for(rung: Rung, schema: dict[str, Any], name: str = "reply") -> dict[str, Any]:
    if rung == "json_schema":
        described = {"name": name, "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": described}}
    return {"response_format": {"type": "json_object"}} if rung == "json_object" else {}


def _is_refusal(error: SystemFailed) -> bool:
    """Return whether a server understood a request and did not want it, as one that does not know a field."""
    return any(f": {status} " in str(error) for status in (400, 422))


def _read(response: Any, role: str) -> Completion:
    """Return the reply in a response, whatever a careless server makes of the protocol."""
    try:
        choice = response["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise SystemFailed(f"{role}: a response without choices[0].message.content: {shorten(str(response))}") from None
    usage = _read_usage(response.get("usage"))
    if choice.get("finish_reason") == "length":
        raise CutOff(f"{role}: a reply that was cut off at max_tokens; raise max_tokens", usage)
    if not isinstance(text, str):
        raise SystemFailed(f"{role}: a reply without text: {shorten(str(choice))}")
    return Completion(text, usage, _read_name(response, "id"), _read_name(response, "model"))


def _read_name(response: Any, key: str) -> str:
    value = response.get(key)
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _read_usage(usage: Any) -> Usage | None:
    fields: dict[str, Any] = usage if isinstance(usage, dict) else {}
    sent, received = fields.get("prompt_tokens"), fields.get("completion_tokens")
    if type(sent) is int and type(received) is int and 0 <= min(sent, received) <= max(sent, received) <= _MOST_TOKENS:
        return Usage(sent, received)
    return None  # also for a number that no model has
