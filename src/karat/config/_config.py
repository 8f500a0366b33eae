"""karat.toml, or ``[tool.karat]`` in pyproject.toml; a key that is unknown is a mistake."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from karat.core import InputError, did_you_mean, shorten
from karat.files import decode, read_bytes

_TABLES = ("golden", "pipeline", "system", "eval", "gate")
_GOLDEN = ("path", "format", "documents", "profile")
_EVAL: Mapping[str, type | tuple[type, ...]] = {
    "k": int,
    "measures": list,
    "system": str,
    "tenant": str,
    "unit": str,
    "paraphrases": bool,
    "repeat": int,
    "concurrency": int,
    "batch": int,
    "timeout": (int, float),
    "ready_timeout": (int, float),
    "warm_up": int,
}
ALIASES: Mapping[str, str] = {
    "chunking.max_tokens": "pipeline.chunk.size",
    "chunking.overlap_tokens": "pipeline.chunk.overlap",
    "reranking.threshold": "pipeline.rerank.threshold",
}
"""What source 000 calls some keys in its experiments.json."""
_OVERRIDDEN = ("pipeline", "system", "eval", "gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A project's choices; what it does not say has its default elsewhere."""

    folder: Path
    golden: Path
    golden_format: str | None = None
    documents: Path | None = None
    profile: str | None = None
    """The size and coverage that the linter asks of the golden set: small, agent or structured."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    system: Mapping[str, Any] = field(default_factory=dict)
    """A service behind HTTP that is asked instead of the pipeline."""
    eval: Mapping[str, Any] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)


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
        raise InputError(f"is no valid TOML: {error}", source=str(path)) from None


def _config(folder: Path, table: Mapping[str, Any], source: str) -> Config:
    _known(table, _TABLES, "", source)
    tables = {name: table.get(name, {}) for name in _TABLES}
    for name, value in tables.items():
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {shorten(value)}, not a table", source=source, hint=f"write [{name}]")
    golden, asked = tables["golden"], tables["eval"]
    _known(golden, _GOLDEN, "golden", source)
    for key, value in golden.items():
        _typed(value, str, f"[golden] {key}", source)
    _check_eval(asked, tables["system"], source)
    documents = golden.get("documents")
    return Config(
        folder=folder,
        golden=folder / golden.get("path", "."),
        golden_format=golden.get("format"),
        documents=None if documents is None else folder / documents,
        profile=golden.get("profile"),
        pipeline=tables["pipeline"],
        system=tables["system"],
        eval=asked,
        gate=tables["gate"],
    )


def _check_eval(asked: Mapping[str, Any], system: Mapping[str, Any], source: str) -> None:
    _known(asked, _EVAL, "eval", source)
    for key, value in asked.items():
        _typed(value, _EVAL[key], f"[eval] {key}", source)
    if asked.get("unit", "document") not in ("document", "target"):
        raise InputError(f"[eval] unit is {shorten(asked['unit'])}; choose document or target", source=source)
    if system and "system" in asked:
        raise InputError("has both [system] and [eval] system; which one is asked?", source=source)


def dotted(key: str) -> str:
    """Give the name that a dotted key has in karat.toml; refuse one of a table that cannot be changed.

    >>> dotted("chunking.max_tokens")
    'pipeline.chunk.size'
    >>> dotted("pipelin.depth")
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


def overridden(config: Config, changes: Mapping[str, Any], *, source: str = "") -> Config:
    """Give a configuration in which some dotted keys have other values; ``pipeline.chunk.size`` changes one option.

    A stage that is on, off or not named becomes a table with the option. The whole configuration is checked again.

    >>> made = Config(folder=Path(), golden=Path(), pipeline={"chunk": {"name": "fixed", "size": 512}, "lexical": True})
    >>> overridden(made, {"pipeline.chunk.size": 128, "pipeline.lexical.k1": 0.9}).pipeline
    {'chunk': {'name': 'fixed', 'size': 128}, 'lexical': {'k1': 0.9}}
    """
    tables: dict[str, Any] = {name: getattr(config, name) for name in _OVERRIDDEN}
    for key, value in changes.items():
        try:
            table, *path = dotted(key).split(".")
            tables[table] = _with(tables[table], path, value, key)
        except InputError as error:
            raise InputError(error.what, source=source, hint=error.hint) from None
    _check_eval(tables["eval"], tables["system"], source)
    return replace(config, **tables)


def _with(table: Mapping[str, Any], path: Sequence[str], value: Any, key: str) -> Mapping[str, Any]:
    """Give a copy of a table in which the value at a path is another."""
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
