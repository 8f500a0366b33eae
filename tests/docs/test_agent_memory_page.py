"""The page on agent memory shows the program that it runs."""

from __future__ import annotations

from pathlib import Path

from karat import golden
from karat.golden.lint import check

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_the_memory_as_it_is_run():
    """What the reader copies is what the shell lines evaluate; apart from blank lines and its title it has 30 lines."""
    program = (ROOT / "examples/memory/memory.py").read_text(encoding="utf-8")
    assert f"```python\n{program}```" in (ROOT / "docs/agent-memory.md").read_text(encoding="utf-8")
    assert len([line for line in program.splitlines()[1:] if line.strip()]) == 30


def test_the_set_of_the_page_is_sound():
    """The linter has no error, and nothing to say about its sessions."""
    report = check(golden.read(ROOT / "examples/memory"))
    assert not [f for f in report.findings if f.severity == "error" or f.rule in ("memory-not-stored", "repeated-turn")]
