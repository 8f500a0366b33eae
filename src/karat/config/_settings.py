"""How a system is asked: declared once, for ``[eval]`` of karat.toml, ``karat eval``, ``evaluate`` and ``check``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from karat.core import UsageError

IDENTIFYING = ("k", "paraphrases", "repeat", "sample", "seed")
"""The settings that decide what is asked, and so are part of a run's identity."""


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
    repeat: int = _setting("Ask everything so many times, to see the noise.", default=1, least=1)
    sample: int | None = _setting("Ask only so many queries, drawn at random.", default=None, least=1)
    seed: int = _setting("With a sample: the same seed, the same queries.", default=0)
    concurrency: int = _setting("How many questions at once.", default=1, least=1)
    batch: int = _setting("Give your retrieve_many so many questions at once.", default=1, least=1)
    timeout: float | None = _setting("Seconds after which a query has failed; 0 for none.", default=60.0)
    warm_up: int = _setting("How many questions are asked first and not counted.", default=1, least=0)
    fail_fast: bool = _setting("Stop at the first query that fails.", default=False)
    ready_timeout: float = _setting("Seconds to wait until the system says that it is ready.", default=60.0)

    def __post_init__(self) -> None:
        for setting in fields(self):
            value, least = getattr(self, setting.name), setting.metadata["least"]
            if least is not None and value is not None and value < least:
                raise UsageError(f"{setting.name}={value}; choose at least {least}")
        for name in ("timeout", "ready_timeout"):
            if (seconds := getattr(self, name)) is not None and not seconds > 0:
                raise UsageError(f"{name}={seconds}; choose seconds above 0, or none")

    def identity(self) -> dict[str, Any]:
        """Return the settings that belong to the identity of a run."""
        return {name: getattr(self, name) for name in IDENTIFYING}


def setting_types() -> dict[str, type]:
    """Return the type of each setting; one that may be left out has that of its value.

    >>> setting_types()["sample"], setting_types()["fail_fast"]
    (<class 'int'>, <class 'bool'>)
    """
    hints = get_type_hints(Settings)
    return {name: next((t for t in get_args(hint) if t is not NoneType), hint) for name, hint in hints.items()}
