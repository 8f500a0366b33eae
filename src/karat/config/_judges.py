"""The table ``[judges]`` of karat.toml: who judges answers, and what that may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from karat.config._model import ModelOptions
from karat.core import InputError, did_you_mean, shorten
from karat.files import read_toml

_FILES = ("prompts", "rubrics", "labels")
_TABLES = ("headers", *_FILES)
_COUNTS = ("concurrency", "votes", "texts")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesConfig(ModelOptions):
    """Who judges the answers of a project. A judge that asks no model needs nothing of this."""

    names: tuple[str, ...] = ()
    """The judges, by name."""
    concurrency: int = 8
    requests_per_minute: float | None = None
    votes: int = 1
    """How often each judge is asked about each answer."""
    texts: int | None = None
    """How many of the hits a judge sees; all by default."""
    budget: float | None = None
    """The money that one run of judges may spend."""
    calls: int | None = None
    """The calls that one run of judges may make."""
    language: str = ""
    """The language of reasons, such as German; that of the texts, or English, if it is not said."""
    prompts: Mapping[str, Path] = field(default_factory=dict)
    """Files that take the place of karat's own prompts, by name."""
    rubrics: Mapping[str, Path] = field(default_factory=dict)
    """Files with rubrics, each of which is a judge of this name."""
    labels: Mapping[str, Path] = field(default_factory=dict)
    """Files with people's labels, by the name of the judge that they correct in the gate."""
    entails: str = ""
    """A function of yours, as package.module:name, that says how far texts entail sentences."""


def read_judges(table: Mapping[str, Any], folder: Path, source: str) -> JudgesConfig:
    """Return the table as a typed value; InputError for an unknown key or a value of the wrong type."""
    if not table:
        return JudgesConfig()
    kinds = get_type_hints(JudgesConfig)
    names = [entry.name for entry in fields(JudgesConfig)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in names:
            hint = did_you_mean(key, names) or f"; known: {', '.join(names)}"
            raise InputError(f"[judges] has no key {shorten(key)}{hint}", source=source)
        values[key] = _read_value(key, value, kinds[key], source)
    for key in _FILES:
        values[key] = {name: folder / path for name, path in values.get(key, {}).items()}
    return JudgesConfig(**values)


def read_judges_file(path: Path) -> JudgesConfig:
    """Return the table ``[judges]`` of a TOML file; InputError if it has none."""
    table = read_toml(path).get("judges")
    if not isinstance(table, Mapping) or not table:
        raise InputError("has no table [judges]", source=str(path), hint="write who judges, as in karat.toml")
    return read_judges(table, path.parent, str(path))


def _read_value(key: str, value: Any, kind: Any, source: str) -> Any:
    where = f"[judges] {key}"
    if key in _TABLES:
        if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
            raise InputError(f"{where} is not a table of texts", source=source)
        return dict(value)
    if key == "names":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise InputError(f"{where} is {shorten(value)}, not a list of names", source=source)
        return tuple(value)
    accepted = tuple(option for option in (get_args(kind) or (kind,)) if option is not type(None))
    if float in accepted:
        accepted += (int,)
    if not isinstance(value, accepted) or isinstance(value, bool):
        shown = "(a secret?)" if key in ("url", "key_variable", "proxy") else shorten(value)
        raise InputError(f"{where} = {shown} is of the wrong type", source=source)
    if key in _COUNTS and value < 1:
        raise InputError(f"{where} = {value}; choose 1 or more", source=source)
    return value
