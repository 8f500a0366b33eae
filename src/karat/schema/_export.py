"""What ``karat export --json`` prints, and the file karat.json that it puts beside each run of MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct


class ExportedRecord(Struct, frozen=True, kw_only=True):
    """A run or an experiment, and what the export did with it."""

    file: str
    kind: Literal["run", "experiment"]
    name: str
    id: str
    run_id: str
    """The id of the run in MLflow."""
    outcome: Literal["created", "updated", "unchanged"]


class ExportReport(Struct, frozen=True, kw_only=True):
    """A finished export."""

    mlflow: str
    """The URI, without the secrets that it may hold."""
    experiment: str
    exported: tuple[ExportedRecord, ...]


class ExportedRun(Struct, frozen=True, kw_only=True):
    """karat.json of a run: everything that is known about it, without its hits."""

    karat: Literal["export"] = "export"
    format: Literal[1] = 1
    kind: Literal["run"] = "run"
    id: str
    name: str
    golden: Mapping[str, Any]
    system: Mapping[str, Any]
    fingerprint: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    definitions: Mapping[str, str]
    means: Mapping[str, float | None]
    latency: Mapping[str, Mapping[str, float]]
    failed: Mapping[str, str]
    unfound: tuple[str, ...]
    names: Mapping[str, str]
    """The true names of MLflow's keys, where they differ."""


class ExportedExperiment(Struct, frozen=True, kw_only=True):
    """karat.json of an experiment: the entry as it is in the log."""

    karat: Literal["export"] = "export"
    format: Literal[1] = 1
    kind: Literal["experiment"] = "experiment"
    id: str
    experiment: Mapping[str, Any]
    names: Mapping[str, str]
