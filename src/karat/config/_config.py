"""karat.toml, or ``[tool.karat]`` in pyproject.toml; an unknown key is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from karat.config._settings import setting_types
from karat.core import InputError, Unit, did_you_mean, shorten
from karat.files import decode, read_bytes

_TABLES = ("golden", "pipeline", "system", "eval", "gate")
_GOLDEN = ("path", "format", "documents", "profile")
_NOT_CONFIGURED = ("sample", "seed", "fail_fast")
"""Settings of a single call, which a project does not have."""
_SETTINGS = {name: kind for name, kind in setting_types().items() if name not in _NOT_CONFIGURED}
_EVAL: Mapping[str, type] = {**_SETTINGS, "measures": list, "system": str, "tenant": str, "unit": str}
ALIASES: Mapping[str, str] = {
    "chunking.max_tokens": "pipeline.chunk.size",
    "chunking.overlap_tokens": "pipeline.chunk.overlap",
    "reranking.threshold": "pipeline.rerank.threshold",
}
"""The names that fit's experiments.json has for some keys."""
_OVERRIDDEN = ("pipeline", "system", "eval", "gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """The table ``[eval]``: how the system is asked, and what is scored."""

    measures: tuple[str, ...] = ()
    """Empty where the defaults are meant."""
    system: str = ""
    """``package.module:name`` of the system under test."""
    tenant: str = ""
    unit: Unit = "document"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that differ from the defaults of :class:`Settings`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The choices of a project; whatever it leaves out has its default in the room that uses it."""

    folder: Path
    golden: Path
    golden_format: str | None = None
    documents: Path | None = None
    profile: str | None = None
    """The size and coverage that the linter asks of the golden set: small, agent or structured."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """The stages of the built-in pipeline, which :class:`karat.systems.Stages` declares and checks."""
    system: Mapping[str, Any] = field(default_factory=dict)
    """An HTTP service that is asked instead of the pipeline."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    gate: Mapping[str, Any] = field(default_factory=dict)
    """The policy, which :func:`karat.gate.read_policy` declares and checks."""


def read_config(folder: Path) -> Config:
    """Read the configuration of a folder; one without a configuration is itself the golden set."""
    own, shared = folder / "karat.toml", folder / "pyproject.toml"
    if own.is_file():
        return _config(folder, _toml(own), str(own))
    if shared.is_file() and (table := _toml(shared).get("tool", {}).get("karat")):
        return _config(folder, table, f"{shared}, [tool.karat]")
    return Config(folder=folder if folder.is_dir() else folder.parent, golden=folder)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(decode(read_bytes(path), str(path)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", source=str(path)) from None


def _config(folder: Path, table: Mapping[str, Any], source: str) -> Config:
    _known(table, _TABLES, "", source)
    tables = {name: table.get(name, {}) for name in _TABLES}
    for name, value in tables.items():
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {shorten(value)}, not a table", source=source, hint=f"write [{name}]")
    golden = tables["golden"]
    _known(golden, _GOLDEN, "golden", source)
    for key, value in golden.items():
        _typed(value, str, f"[golden] {key}", source)
    documents = golden.get("documents")
    return Config(
        folder=folder,
        golden=folder / golden.get("path", "."),
        golden_format=golden.get("format"),
        documents=None if documents is None else folder / documents,
        profile=golden.get("profile"),
        pipeline=tables["pipeline"],
        system=tables["system"],
        eval=_read_eval(tables["eval"], tables["system"], source),
        gate=tables["gate"],
    )


def _read_eval(table: Mapping[str, Any], system: Mapping[str, Any], source: str) -> EvalConfig:
    _known(table, _EVAL, "eval", source)
    for key, value in table.items():
        _typed(value, (int, float) if _EVAL[key] is float else _EVAL[key], f"[eval] {key}", source)
    if "measures" in table and not table["measures"]:
        raise InputError("[eval] measures is empty", source=source, hint="name a measure, or leave it out")
    if table.get("unit", "document") not in get_args(Unit):
        raise InputError(f"[eval] unit is {shorten(table['unit'])}; choose document or target", source=source)
    if system and "system" in table:
        raise InputError("has both [system] and [eval] system; which one is asked?", source=source)
    return EvalConfig(
        measures=tuple(table.get("measures", ())),
        **{name: table[name] for name in ("system", "tenant", "unit") if name in table},
        settings={name: value for name, value in table.items() if name in _SETTINGS},
    )


def _eval_table(config: EvalConfig) -> dict[str, Any]:
    """Return the table that a configuration was read from, without what has its default."""
    table = {name: getattr(config, name) for name in ("system", "tenant", "unit")}
    given = {name: value for name, value in table.items() if value != getattr(EvalConfig(), name)}
    return {**({"measures": list(config.measures)} if config.measures else {}), **given, **config.settings}


def resolve_key(key: str) -> str:
    """Return the name that a dotted key has in karat.toml; one of a table that cannot be changed is an error.

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
    if table not in _OVERRIDDEN:
        own = [alias for alias in ALIASES if alias.startswith(f"{table}.")]
        if own:
            raise InputError(f"there is no key {shorten(key)}{did_you_mean(key, own) or '; known: ' + ', '.join(own)}")
        _known({table: None}, _OVERRIDDEN, "", "")
    if not path or not all(path):
        raise InputError(f"{shorten(key)} names no key", hint=f"write it as in {table or 'pipeline'}.key")
    return name


def override(config: Config, changes: Mapping[str, Any], *, source: str = "") -> Config:
    """Return a configuration with other values of some dotted keys; ``pipeline.chunk.size`` changes one option.

    A stage that is on, off or not named becomes a table with the option. The whole configuration is checked again.

    >>> made = Config(folder=Path(), golden=Path(), pipeline={"chunk": {"name": "fixed", "size": 512}, "lexical": True})
    >>> override(made, {"pipeline.chunk.size": 128, "pipeline.lexical.k1": 0.9}).pipeline
    {'chunk': {'name': 'fixed', 'size': 128}, 'lexical': {'k1': 0.9}}
    """
    tables: dict[str, Any] = {name: getattr(config, name) for name in _OVERRIDDEN}
    tables["eval"] = _eval_table(config.eval)
    for key, value in changes.items():
        try:
            table, *path = resolve_key(key).split(".")
            tables[table] = _with(tables[table], path, value, key)
        except InputError as error:
            raise InputError(error.what, source=source, hint=error.hint) from None
    tables["eval"] = _read_eval(tables["eval"], tables["system"], source)
    return replace(config, **tables)


def _with(table: Mapping[str, Any], path: Sequence[str], value: Any, key: str) -> Mapping[str, Any]:
    """Return a copy of a table with another value at a path."""
    name, *rest = path
    if not rest:
        return {**table, name: value}
    inner = table.get(name, {})
    if isinstance(inner, bool):
        inner = {}
    if not isinstance(inner, Mapping):
        what = f"{shorten(key)} cannot be set, because {name} is {shorten(inner)} and no table"
        raise InputError(what, hint=f"write {name} as a table in karat.toml")
    return {**table, name: _with(inner, rest, value, key)}


def _known(table: Mapping[str, Any], known: Any, name: str, source: str) -> None:
    for key in table:
        if key not in known:
            where = f"[{name}] has no key" if name else "there is no table"
            raise InputError(
                f"{where} {shorten(key)}{did_you_mean(key, known) or '; known: ' + ', '.join(known)}", source=source
            )


def _typed(value: object, kind: type | tuple[type, ...], what: str, source: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{what} is {shorten(value)}, which is of the wrong type", source=source)
