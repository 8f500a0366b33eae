"""docs/from-ragas.md: no metric of ragas or deepeval is forgotten."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_METRICS = {
    "BaseArenaMetric",
    "BaseConversationalMetric",
    "BaseMetric",
    "DeepAcyclicGraph",
    "GEvalTemplate",
    "Verdict",
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("package", "door"), [("ragas", "metrics/collections"), ("deepeval", "metrics")])
def test_every_metric_is_on_the_page(package: str, door: str, python_of: Callable[[str], Path]) -> None:
    """Whatever the door of their installed package exports; to import it would take seconds."""
    search = f"import importlib.util; print(importlib.util.find_spec({package!r}).origin)"
    place = subprocess.run([python_of("judges"), "-c", search], capture_output=True, text=True, check=True).stdout
    tree = ast.parse((Path(place.strip()).parent / door / "__init__.py").read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    metrics = {name for name in names if re.match("[A-Z]", name)} - NO_METRICS
    page = (ROOT / "docs" / "from-ragas.md").read_text(encoding="utf-8")
    assert len(metrics) > 20
    assert sorted(name for name in metrics if not re.search(rf"\b{name}\b", page)) == []
