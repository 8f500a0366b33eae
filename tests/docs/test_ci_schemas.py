"""The files that others' CI reads fit the schemas that are published for them; check-jsonschema brings those along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from karat.start import Start, start_project

ROOT = Path(__file__).resolve().parents[2]


def wrong(kind: str, path: Path) -> str:
    """Return what a schema has against a file, or nothing."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}", str(path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert process.returncode in (0, 1), process.stderr
    return process.stdout if process.returncode else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "good", "bad"),
    [
        ("github-workflows", ".github/workflows/karat.yml", "runs-on:", "run-on:"),
        ("gitlab-ci", ".gitlab-ci.yml", "when: always", "when: sometimes"),
        ("github-actions", "action.yml", "using: composite", "using: compsite"),
    ],
)
def test_the_schema_finds_nothing_wrong_and_would(tmp_path: Path, kind: str, name: str, good: str, bad: str) -> None:
    """As they are written they fit; with a mistake they do not."""
    start_project(Start(folder=tmp_path, system="app.search:find", ci="both"))
    path = ROOT / name if name == "action.yml" else tmp_path / name
    assert wrong(kind, path) == ""
    (tmp_path / "bad.yml").write_text(path.read_text().replace(good, bad))
    assert wrong(kind, tmp_path / "bad.yml")
