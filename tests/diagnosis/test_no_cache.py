"""``--no-cache`` keeps nothing on disk, the vectors of distances among it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.gate_project import main

PROJECT = """
[golden]
path = "set"
[pipeline]
lexical = true
expand = true
[eval]
measures = ["DeltaS@2"]
[gate]
rules = [{ metric = "DeltaS@2", max = 1.9 }]
"""
SWEEP = '[grid]\n"pipeline.lexical.k1" = [1.2]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two documents, with an empty cache of the user's."""
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "golden.toml").write_text('name = "inn"\n')
    (folder / "documents.jsonl").write_text('{"id": "wifi", "text": "Free."}\n{"id": "pool", "text": "Noon."}\n')
    (folder / "queries.jsonl").write_text('{"id": "q", "text": "Is it free?"}\n{"id": "r", "text": "At noon?"}\n')
    rows = ('{"query": "q", "document": "wifi", "grade": 3}\n', '{"query": "r", "document": "pool", "grade": 3}\n')
    (folder / "judgments.jsonl").write_text("".join(rows))
    (tmp_path / "karat.toml").write_text(PROJECT)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["ablate", ".", "-m", "DeltaS@2"],
        ["sweep", "sweep.toml"],
    ],
)
def test_vectors_of_distances_are_kept_only_if_they_may_be(arguments: Sequence[str], project: Path) -> None:
    """Delta-S embeds by itself, whatever the pipeline embeds with; karat gain takes no measure of that kind."""
    assert main([*arguments, "--no-cache"]) == 0
    assert not (project / "cache").exists()
    assert not (project / ".karat").exists()
    assert main(arguments) == 0
    assert any((project / "cache").rglob("*"))
