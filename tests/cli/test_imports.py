"""What a check imports: nothing that takes long and that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target

LETTERS = GoldenSet(
    name="letters",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in "ab"),
    queries=tuple(Query(id=f"q{name}", text=f"about {name}?") for name in "ab"),
    judgments=tuple(Judgment(query=f"q{name}", target=Target(document=name), grade=1) for name in "ab"),
)
NEEDLESS = {
    *("asyncio", "email.message", "httpx2", "importlib.metadata", "sysconfig"),
    *("numpy.ma", "pandas", "polars", "scipy", "tokenizers", "onnxruntime"),
    *("karat.golden.formats._trec", "karat.systems.adapters._http", "karat.traces._spans"),
    *("karat.net._client", "karat.text._prose", "karat.stats.ranks", "karat.stats.trust", "karat.systems.rerank"),
    *("karat.evaluation._stability", "karat.gate._blocks", "karat.gate._document", "karat.schema.judging._bridge"),
    "karat.systems.index._hnsw",
}
PROGRAM = """
import sys
import karat.cli
try:
    karat.cli.main()
except SystemExit as ended:
    print(*sys.modules)
    raise
"""


@pytest.mark.slow
def test_a_check_imports_nothing_needless(tmp_path: Path) -> None:
    """Each of these takes more than a hundredth of the time of a check, or stands for what does."""
    golden.write(LETTERS, tmp_path / "set")
    (tmp_path / "karat.toml").write_text(
        '[golden]\npath = "set"\n[pipeline]\ndense = false\n'
        '[gate]\nextends = "none"\n[[gate.rules]]\nmetric = "RR@10"\nmin = 0.5\n'
    )
    command = [sys.executable, "-c", PROGRAM, "check"]
    for _ in range(2):  # the second time the index is kept
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert process.returncode == 0, process.stderr
    modules = set(process.stdout.splitlines()[-1].split())
    assert "karat.gate" in modules
    assert modules & NEEDLESS == set()


def test_the_help_imports_no_verb() -> None:
    process = subprocess.run([sys.executable, "-c", PROGRAM, "--help"], capture_output=True, text=True, timeout=600)
    assert "Check a golden set, evaluate on it and gate the run" in process.stdout
    modules = process.stdout.splitlines()[-1].split()
    assert "karat.cli._verbs" in modules
    assert {
        name for name in modules if name.startswith(("karat.cli._check", "karat.config", "karat.core._measure"))
    } == set()
