"""The notebook of the docs was run, and shows what its cells give now."""

from __future__ import annotations

import json

import pytest
from notebooks import NOTEBOOK, PAGE, make_page, run_notebook


@pytest.mark.slow
def test_the_notebook_and_its_page_have_the_outputs_of_its_cells() -> None:
    """./scripts/docs was run after the last change of the cells, of what they show, or of the example."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert run_notebook(notebook) == notebook, "run ./scripts/docs"
    assert make_page(notebook) == PAGE.read_text(encoding="utf-8"), "run ./scripts/docs"
    shown = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 4
