"""The benchmarks run, beside all their peers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_scoring_benchmark_runs_and_karat_agrees_with_pytrec_eval() -> None:
    """``./scripts/bench scoring --quick`` sets itself up, and finds no value of karat's that differs."""
    done = subprocess.run(
        ["./scripts/bench", "scoring", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| karat")]
    assert len(rows) == 6
    assert all(row[5].strip().startswith("0 of ") for row in rows)


@pytest.mark.slow
def test_the_golden_benchmark_runs_and_finds_what_was_planted() -> None:
    """``./scripts/bench golden --quick`` checks a made-up set through the CLI, and every planted pair is told."""
    done = subprocess.run(
        ["./scripts/bench", "golden", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "near-duplicates: 20 pairs planted, 20 told" in done.stdout


@pytest.mark.slow
def test_the_eval_benchmark_runs() -> None:
    """``./scripts/bench eval --quick``: the hotel and varied documents by words, twice, and karat's own cost."""
    done = subprocess.run(
        ["./scripts/bench", "eval", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| hotel, by words |" in done.stdout
    assert "karat's own cost:" in done.stdout  # how much it is, a busy machine decides, and no test


@pytest.mark.slow
def test_the_statistics_benchmark_runs() -> None:
    """``./scripts/bench stats --quick``: karat's bootstrap and sign-flip test beside SciPy's and ranx's."""
    done = subprocess.run(
        ["./scripts/bench", "stats", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ranx" in done.stdout
