"""The published schemas: every document has a name, a type and a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import msgspec

from karat.core import UsageError, did_you_mean

DRAFT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "comparison": ("_comparison", "Comparison"),
    "experiment": ("_experiment", "ExperimentEntry"),
    "experiment-diff": ("_experiment", "ExperimentDiff"),
    "experiments": ("_experiment", "ExperimentLog"),
    "export": ("_export", "ExportReport"),
    "exported-experiment": ("_export", "ExportedExperiment"),
    "exported-run": ("_export", "ExportedRun"),
    "power": ("_power", "PowerPlan"),
    "sweep": ("_sweep", "SweepReport"),
    "sweep-entry": ("_experiment", "SweepEntry"),
    "sweep-plan": ("_sweep", "SweepPlan"),
    "trend": ("_trend", "TrendReport"),
}
"""The module and the class of each published document, by the document's name."""


def json_schema(document: str | type) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document: one of ``DOCUMENTS`` by its name, or a type.

    Keys that a schema does not name are allowed, so that a later version of karat may add some.

    >>> json_schema("power")["title"]
    'PowerPlan'
    """
    schema = msgspec.json.schema(_type(document) if isinstance(document, str) else document)
    name = schema.get("$ref", "").rpartition("/")[2]
    described = schema.get("$defs", {}).get(name, {})
    head = {key: described[key] for key in ("title", "description") if key in described}
    return {"$schema": DRAFT, **head, **schema}


def _type(name: str) -> type:
    if name not in DOCUMENTS:
        others = did_you_mean(name, DOCUMENTS) or f"; there are {', '.join(DOCUMENTS)}"
        raise UsageError(f"no document is called {name!r}{others}")
    module, class_name = DOCUMENTS[name]
    document: type = getattr(import_module(f"karat.schema.{module}"), class_name)
    return document
