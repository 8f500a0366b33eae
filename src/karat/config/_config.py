"""karat.toml, or ``[tool.karat]`` in pyproject.toml; a key that is unknown is a mistake."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core import InputError, decode, did_you_mean, read_bytes, shorten

_TABLES = ("golden", "pipeline", "system", "eval")
_GOLDEN = ("path", "format", "documents")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A project's choices; what it does not say has its default elsewhere."""

    folder: Path
    golden: Path
    golden_format: str | None = None
    documents: Path | None = None
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    system: Mapping[str, Any] = field(default_factory=dict)
    """A service behind HTTP that is asked instead of the pipeline."""
    eval: Mapping[str, Any] = field(default_factory=dict)


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
    _known(asked, _EVAL, "eval", source)
    for key, value in golden.items():
        _typed(value, str, f"[golden] {key}", source)
    for key, value in asked.items():
        _typed(value, _EVAL[key], f"[eval] {key}", source)
    if asked.get("unit", "document") not in ("document", "target"):
        raise InputError(f"[eval] unit is {shorten(asked['unit'])}; choose document or target", source=source)
    if tables["system"] and "system" in asked:
        raise InputError("has both [system] and [eval] system; which one is asked?", source=source)
    documents = golden.get("documents")
    return Config(
        folder=folder,
        golden=folder / golden.get("path", "."),
        golden_format=golden.get("format"),
        documents=None if documents is None else folder / documents,
        pipeline=tables["pipeline"],
        system=tables["system"],
        eval=asked,
    )


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
