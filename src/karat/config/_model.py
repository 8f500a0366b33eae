"""What is said of a language model, wherever one is named: for judges, for answers, and to ask it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """A model behind any server with OpenAI's API, and how it is asked."""

    url: str = ""
    """The part before ``/chat/completions``."""
    model: str = ""
    key_variable: str = ""
    """The environment variable that holds the key."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, each with the environment variable that holds its value."""
    proxy: str = ""
    """The proxy that requests go through; by default that of the environment."""
    temperature: float = 0.0
    seed: int | None = None
    max_tokens: int = 2048
    """The most tokens of a reply."""
    timeout: float = 120.0
    retries: int = 4
    input_price: float = 0.0
    """The price of a million tokens that are sent."""
    output_price: float = 0.0
    """The price of a million tokens of replies."""
