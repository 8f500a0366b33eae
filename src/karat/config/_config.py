"""Reading karat.toml, or ``[tool.karat]`` in pyproject.toml. An unknown key is an error."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from karat.config._judges import JudgesConfig, read_judges
from karat.config._online import OnlineConfig, read_online
from karat.config._scoring import CHOICES, SCORING, Scoring
from karat.config._settings import setting_types
from karat.config._telemetry import TelemetryConfig, read_telemetry
from karat.core import InputError, did_you_mean, shorten
from karat.files import read_toml

FrontMatter = Literal["text", "title"]
_TABLES = ("golden", "pipeline", "system", "eval", "judges", "gate", "online", "telemetry")
_GOLDEN = ("path", "format", "documents", "front_matter", "relevant", "profile")
_FRONT_MATTER = ("text", "title")
_HIGHEST = 255  # grade of any scale
_NOT_CONFIGURED = ("sample", "seed", "fail_fast")
"""Settings of a single call, which cannot be configured for a project."""
_SETTINGS = {name: kind for name, kind in setting_types().items() if name not in _NOT_CONFIGURED}
_EVAL: Mapping[str, type] = {
    **_SETTINGS, "measures": list, "system": str, "tenant": str, "parameters": dict,
    "unit": str, "undefined": str, "ids": str, "min_score": float,
}  # fmt: skip
RESERVED = ("query", "queries", "k", "company_id", "context", "contexts")
"""The arguments that karat itself passes to a retriever."""
ALIASES: Mapping[str, str] = {
    "chunking.max_tokens": "pipeline.chunk.size",
    "chunking.overlap_tokens": "pipeline.chunk.overlap",
    "reranking.threshold": "pipeline.rerank.threshold",
}
"""The names of some keys in fit's experiments.json, and their names in karat.toml."""
_VARIABLE = ("pipeline", "system", "eval", "gate")
"""The tables whose keys :func:`override` can change."""
_DEEPEST = 20  # parts of a dotted key


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """The table ``[eval]``: how the system is asked, and what is scored."""

    measures: tuple[str, ...] = ()
    """Empty for the default measures."""
    system: str = ""
    """``package.module:name`` of the system under test."""
    tenant: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The table ``[eval.parameters]``: what is passed to the system by name."""
    scoring: Scoring = field(default_factory=Scoring)
    """How runs are scored: the options that the table has; the others have the defaults of ``SCORING``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that the table has; the others have the defaults of :class:`Settings`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of a project. The default of a key that is left out is in the package that uses it."""

    folder: Path
    golden: Path
    golden_format: str | None = None
    documents: Path | None = None
    front_matter: FrontMatter = "text"
    """What the front matter of Markdown documents is: part of their text, or where their title comes from."""
    relevant: int | None = None
    """The lowest grade that is relevant in a golden set that does not say so."""
    profile: str | None = None
    """The size and coverage that the linter asks of the golden set: small, agent or structured."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """The stages of the built-in pipeline, which :class:`karat.systems.Stages` declares and checks."""
    system: Mapping[str, Any] = field(default_factory=dict)
    """An HTTP service to ask instead of the pipeline."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    judges: JudgesConfig = field(default_factory=JudgesConfig)
    """Who judges answers."""
    gate: Mapping[str, Any] = field(default_factory=dict)
    """The policy, which :func:`karat.gate.read_policy` declares and checks."""
    telemetry: TelemetryConfig = field(default_factory=TelemetryConfig)
    """Where OpenTelemetry's spans, metrics and logs go."""
    online: OnlineConfig = field(default_factory=OnlineConfig)
    """How live traffic is watched."""


def read_config(folder: Path) -> Config:
    """Return the configuration of a folder. A folder without one is taken as a golden set, with all defaults."""
    own, shared = folder / "karat.toml", folder / "pyproject.toml"
    if os.path.lexists(own):  # a link that leads nowhere must not mean the defaults
        return _read_tables(folder, read_toml(own), str(own))
    if shared.is_file() and (table := _find_tool(read_toml(shared), str(shared))):
        return _read_tables(folder, table, f"{shared}, [tool.karat]")
    return Config(folder=folder if folder.is_dir() else folder.parent, golden=folder)


def find_configured(path: Path) -> Path | None:
    """Return the nearest folder above a path that has a configuration; None if there is none, or it has its own."""
    folder = path.resolve()
    if _is_configured(folder):
        return None
    return next(filter(_is_configured, folder.parents), None)


def _is_configured(folder: Path) -> bool:
    if (folder / "karat.toml").is_file():
        return True
    shared = folder / "pyproject.toml"
    try:
        return shared.is_file() and bool(_find_tool(read_toml(shared), str(shared)))
    except InputError:  # whoever reads it as a configuration is told
        return False


def _find_tool(tables: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """Return the table [tool.karat] of a pyproject.toml; an empty one if it has none."""
    tools = tables.get("tool", {})
    table = tools.get("karat", {}) if isinstance(tools, Mapping) else tools
    if not isinstance(table, Mapping):
        raise InputError(f"[tool.karat] is {shorten(table)}, not a table", source=source)
    return table


def _read_tables(folder: Path, table: Mapping[str, Any], source: str) -> Config:
    _require_keys(table, _TABLES, "", source)
    tables = {name: table.get(name, {}) for name in _TABLES}
    for name, value in tables.items():
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {shorten(value)}, not a table", source=source, hint=f"write [{name}]")
    golden = tables["golden"]
    _require_keys(golden, _GOLDEN, "golden", source)
    for key, value in golden.items():
        _require_type(value, int if key == "relevant" else str, f"[golden] {key}", source)
    relevant = golden.get("relevant")
    if relevant is not None and not 1 <= relevant <= _HIGHEST:
        hint = f"write the lowest grade that is relevant, from 1 to {_HIGHEST}"
        raise InputError(f"[golden] relevant is {relevant}", source=source, hint=hint)
    documents = golden.get("documents")
    front_matter = golden.get("front_matter", "text")
    if front_matter not in _FRONT_MATTER:
        choices = " or ".join(_FRONT_MATTER)
        raise InputError(f"[golden] front_matter is {shorten(front_matter)}; choose {choices}", source=source)
    return Config(
        folder=folder,
        golden=folder / golden.get("path", "."),
        golden_format=golden.get("format"),
        documents=None if documents is None else folder / documents,
        front_matter=front_matter,
        relevant=relevant,
        profile=golden.get("profile"),
        pipeline=tables["pipeline"],
        system=tables["system"],
        eval=_read_eval(tables["eval"], tables["system"], source),
        judges=read_judges(tables["judges"], folder, source),
        gate=tables["gate"],
        telemetry=read_telemetry(tables["telemetry"], source),
        online=read_online(tables["online"], source),
    )


def _read_eval(table: Mapping[str, Any], system: Mapping[str, Any], source: str) -> EvalConfig:
    _require_keys(table, _EVAL, "eval", source)
    for key, value in table.items():
        _require_type(value, (int, float) if _EVAL[key] is float else _EVAL[key], f"[eval] {key}", source)
    if "measures" in table and not table["measures"]:
        raise InputError("[eval] measures is empty", source=source, hint="name a measure, or leave it out")
    for name, choices in CHOICES.items():
        if name in table and table[name] not in choices:
            raise InputError(
                f"[eval] {name} is {shorten(table[name])}; choose {', '.join(choices[:-1])} or {choices[-1]}",
                source=source,
            )
    if system and "system" in table:
        raise InputError("has both [system] and [eval] system", source=source, hint="remove one of them")
    check_parameters(table.get("parameters", {}), source=f"{source}, [eval.parameters]" if source else "")
    return EvalConfig(
        measures=tuple(table.get("measures", ())),
        parameters=dict(table.get("parameters", {})),
        **{name: table[name] for name in ("system", "tenant") if name in table},
        scoring=cast("Scoring", {name: table[name] for name in SCORING if name in table}),
        settings={name: value for name, value in table.items() if name in _SETTINGS},
    )


def check_parameters(parameters: Mapping[str, Any], *, source: str = "") -> None:
    """Refuse parameters that a system cannot be passed, or that no file can hold."""
    for name, value in parameters.items():
        if not name.isidentifier() or name in RESERVED:
            why = "karat passes it itself" if name in RESERVED else "write the name of a Python parameter"
            raise InputError(f"parameter {shorten(name)}: {why}", source=source)
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):  # dates and infinities
            hint = "write texts, numbers, true, false, or lists and tables of them"
            raise InputError(f"parameter {name} = {shorten(value)}", source=source, hint=hint) from None


def _write_eval(config: EvalConfig) -> dict[str, Any]:
    """Return the table that a configuration was read from, without the keys that have their default."""
    table = {name: getattr(config, name) for name in ("system", "tenant")}
    changed = {name: value for name, value in table.items() if value != getattr(EvalConfig(), name)}
    lists = {"measures": list(config.measures), "parameters": dict(config.parameters)}
    entries = {name: value for name, value in lists.items() if value}
    return {**entries, **changed, **config.scoring, **config.settings}


def resolve_key(key: str) -> str:
    """Return the name of a dotted key in karat.toml. A key of a table that :func:`override` cannot change is an error.

    >>> resolve_key("chunking.max_tokens")
    'pipeline.chunk.size'
    >>> resolve_key("pipelin.depth")
    Traceback (most recent call last):
    karat.core._errors.InputError: there is no table 'pipelin', did you mean 'pipeline'?
    """
    name = ALIASES.get(key, key)
    table, *path = name.split(".")
    if table == "golden":
        raise InputError(f"{shorten(key)}: another golden set is another project")
    if table not in _VARIABLE:
        aliases = [alias for alias in ALIASES if alias.startswith(f"{table}.")]
        if aliases:
            hint = did_you_mean(key, aliases) or f"; known: {', '.join(aliases)}"
            raise InputError(f"there is no key {shorten(key)}{hint}")
        _require_keys({table: None}, _VARIABLE, "", "")
    if not path or not all(path) or len(path) > _DEEPEST:
        raise InputError(f"{shorten(key)} does not name a key", hint=f"write it as {table or 'pipeline'}.key")
    return name


def override(config: Config, changes: Mapping[str, Any], *, source: str = "") -> Config:
    """Return a configuration with other values for some dotted keys, such as ``pipeline.chunk.size``.

    A stage that is on, off or left out becomes a table with the changed option. The result is checked like a file.

    >>> pipeline = {"chunk": {"name": "fixed", "size": 512}, "lexical": True}
    >>> config = Config(folder=Path(), golden=Path(), pipeline=pipeline)
    >>> override(config, {"pipeline.chunk.size": 128, "pipeline.lexical.k1": 0.9}).pipeline
    {'chunk': {'name': 'fixed', 'size': 128}, 'lexical': {'k1': 0.9}}
    """
    tables: dict[str, Any] = {name: getattr(config, name) for name in _VARIABLE}
    tables["eval"] = _write_eval(config.eval)
    for key, value in changes.items():
        try:
            table, *path = resolve_key(key).split(".")
            tables[table] = _replace_at(tables[table], path, value, key)
        except InputError as error:
            raise InputError(error.what, source=source, hint=error.hint) from None
    tables["eval"] = _read_eval(tables["eval"], tables["system"], source)
    return replace(config, **tables)


def _replace_at(table: Mapping[str, Any], path: Sequence[str], value: Any, key: str) -> Mapping[str, Any]:
    """Return a copy of a table with another value at a path."""
    name, *rest = path
    if not rest:
        return {**table, name: value}
    inner = table.get(name, {})
    if isinstance(inner, bool):
        inner = {}
    if not isinstance(inner, Mapping):
        message = f"{shorten(key)} cannot be set, because {name} is {shorten(inner)}, not a table"
        raise InputError(message, hint=f"write {name} as a table in karat.toml")
    return {**table, name: _replace_at(inner, rest, value, key)}


def _require_keys(table: Mapping[str, Any], keys: Any, name: str, source: str) -> None:
    for key in table:
        if key not in keys:
            where = f"[{name}] has no key" if name else "there is no table"
            hint = did_you_mean(key, keys) or f"; known: {', '.join(keys)}"
            raise InputError(f"{where} {shorten(key)}{hint}", source=source)


def _require_type(value: object, kind: type | tuple[type, ...], name: str, source: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{name} is {shorten(value)}, which is of the wrong type", source=source)
