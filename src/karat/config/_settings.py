"""How a system is asked: the settings of ``[eval]`` in karat.toml, ``karat eval``, ``evaluate`` and ``check``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from karat.core import UsageError

IDENTIFYING = ("k", "paraphrases", "repeat", "sample", "seed")
"""The settings that decide which questions are asked, and are therefore part of a run's identity."""


def _setting(help: str, *, default: Any, least: int | None = None) -> Any:
    return field(default=default, metadata={"help": help, "least": least})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a system is asked.

    >>> Settings(k=0)
    Traceback (most recent call last):
    karat.core._errors.UsageError: k=0; choose at least 1
    """

    k: int = _setting("How many hits to ask for.", default=10, least=1)
    paraphrases: bool = _setting("Ask every paraphrase too; a query counts its mean.", default=False)
    repeat: int = _setting("Ask everything this many times, to see the noise.", default=1, least=1)
    sample: int | None = _setting("Ask only this many queries, drawn at random.", default=None, least=1)
    seed: int = _setting("With --sample: the same seed draws the same queries.", default=0)
    concurrency: int = _setting("How many questions to ask at the same time.", default=1, least=1)
    batch: int = _setting("Pass this many questions at a time to your retrieve_many.", default=1, least=1)
    timeout: float | None = _setting("Seconds after which a query has failed; 0 for no limit.", default=60.0)
    warm_up: int = _setting("How many questions to ask first without counting them.", default=1, least=0)
    without_sessions: bool = _setting("Do not tell the system which session a question belongs to.", default=False)
    fail_fast: bool = _setting("Stop at the first query that fails.", default=False)
    patience: int = _setting("Stop if so many first queries all fail alike; 0 asks every query.", default=5, least=0)
    ready_timeout: float = _setting("Seconds to wait until the system is ready.", default=60.0)

    def __post_init__(self) -> None:
        for setting in fields(self):
            value, least = getattr(self, setting.name), setting.metadata["least"]
            if least is not None and value is not None and value < least:
                raise UsageError(f"{setting.name}={value}; choose at least {least}")
        for name in ("timeout", "ready_timeout"):
            if (seconds := getattr(self, name)) is not None and not seconds > 0:
                raise UsageError(f"{name}={seconds}; choose a number of seconds above 0")

    def identity(self) -> dict[str, Any]:
        """Return the settings that are part of the identity of a run."""
        identity = {name: getattr(self, name) for name in IDENTIFYING}
        # Left out by default, so that runs keep the identity that they had before there was this setting.
        return {**identity, "without_sessions": True} if self.without_sessions else identity


def setting_types() -> dict[str, type]:
    """Return the type of each setting; for an optional setting, the type of its value.

    >>> setting_types()["sample"], setting_types()["fail_fast"]
    (<class 'int'>, <class 'bool'>)
    """
    hints = get_type_hints(Settings)
    return {name: next((kind for kind in get_args(hint) if kind is not NoneType), hint) for name, hint in hints.items()}
