"""Runs the notebook of the docs, and writes what it shows into it and into its page: ``./scripts/docs`` calls this.

docs/notebook.ipynb is a notebook like any other. Its cells run in plain Python, in the folder of the docs, and the
value of a cell's last line is shown as Jupyter shows it: by ``_repr_html_`` if it has one. docs/notebook.md has the
same for people without Jupyter, since a page of the docs needs no other program to be built.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOK, PAGE = DOCS / "notebook.ipynb", DOCS / "notebook.md"
MARK = "<!-- Written by scripts/docs from notebook.ipynb. Change the notebook instead. -->\n"


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells."""
    names: dict[str, Any] = {}
    cells, count = [], 0
    before = Path.cwd()
    os.chdir(DOCS)
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            count += 1
            outputs = run_cell("".join(cell["source"]), names, count)
            cells.append(cell | {"execution_count": count, "outputs": outputs})
    finally:
        os.chdir(before)
    return notebook | {"cells": cells}


def run_cell(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell, and return what it prints and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if show := getattr(value, "_repr_html_", None):
            data = {"text/html": [show()], **data}
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def make_page(notebook: dict[str, Any]) -> str:
    """Return a notebook as a page: its code is shown, and what it gave stands as HTML or text."""
    parts = [MARK]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```py\n{source}\n```")
        for output in cell["outputs"]:
            shown = output.get("data", {}).get("text/html")
            text = "".join(output.get("text") or output.get("data", {}).get("text/plain", ()))
            parts.append("".join(shown) if shown else f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts).replace(f"{MARK}\n\n", f"{MARK}\n") + "\n"


def main() -> None:
    """Write the notebook with its outputs, and its page."""
    notebook = run_notebook(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(make_page(notebook), encoding="utf-8")


if __name__ == "__main__":
    main()
