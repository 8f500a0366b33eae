"""Measures of other packages: the decorator that CONTRIBUTING.md teaches."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def test_the_example_of_contributing_is_a_measure() -> None:
    """The code there imports only public names, and what it registers can be scored, and explains itself."""
    _, _, rest = CONTRIBUTING.read_text(encoding="utf-8").partition("## Add a measure")
    code = textwrap.dedent(rest.partition("```python\n")[2].partition("```")[0])
    assert "._" not in code
    use = """
        import karat
        from karat.core import MEASURES
        qrels, run = {"q": {"a": 1, "b": 1}, "r": {"c": 0}}, {"q": {"a": 2, "x": 1}, "r": {"c": 1}}
        scores = karat.score(qrels, run, ["Miss@5", "miss_rate@1"])
        assert scores.mean() == {"Miss@5": 0.5, "Miss@1": 0.5}
        assert scores.reason("r", "Miss@5") == "no relevant documents"
        assert MEASURES.get("Miss").doc.startswith("Miss rate: the share")
    """
    # In a process of its own: a measure can be registered only once, and is there for all tests.
    subprocess.run([sys.executable, "-c", code + textwrap.dedent(use)], check=True, timeout=600)
