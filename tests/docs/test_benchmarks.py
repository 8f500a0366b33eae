"""The benchmarks run, beside all their peers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "benchmarks" / "peers"
Bench = Callable[[str], str]

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(environment: dict[str, str]) -> Bench:
    """Run a benchmark on its small workload, and give what it prints.

    ranx is interpreted: to compile it takes a minute, which buys nothing at these sizes.
    """

    def run(name: str) -> str:
        process = subprocess.run(
            ["./scripts/bench", name, "--quick"],
            cwd=ROOT,
            env=environment | {"NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    return run


def test_the_scoring_benchmark_runs_and_karat_agrees_with_pytrec_eval(bench: Bench) -> None:
    """``./scripts/bench scoring --quick`` sets itself up, and finds no value of karat's that differs."""
    rows = [line.split("|") for line in bench("scoring").splitlines() if line.startswith("| ")]
    ours = [row for row in rows if row[1].startswith(" karat")]
    assert len(ours) == 6
    assert all(row[5].strip().startswith("0 of ") for row in ours)
    assert {"pytrec_eval", "ranx", "ir_measures"} < {row[1].strip() for row in rows}


def test_the_scale_benchmark_runs_and_all_engines_agree(bench: Bench) -> None:
    """``./scripts/bench scale --quick``: karat, DuckDB and Polars have the same values, from text and from Parquet."""
    runs, logs = bench("scale").split("\n\n")
    rows = [line.split("|") for line in runs.splitlines() if line.startswith("| 20,000")]
    assert len(rows) >= 6
    assert {"karat", "DuckDB", "Polars"} <= {row[2].strip() for row in rows}
    assert all(row[7].strip() == "0 of 20" for row in rows)
    assert [line.split("|")[2].strip() for line in logs.splitlines()[2:]] == ["report", "harvest", "estimates"]
    assert "failed" not in logs


def test_the_golden_benchmark_runs_and_finds_what_was_planted(bench: Bench) -> None:
    """``./scripts/bench golden --quick`` checks a made-up set through the CLI, and every planted pair is told."""
    assert "near-duplicates: 20 pairs planted, 20 told" in bench("golden")


def test_the_eval_benchmark_runs(bench: Bench) -> None:
    """``./scripts/bench eval --quick``: the hotel and varied documents by words, twice, and karat's own cost."""
    printed = bench("eval")
    assert "| hotel, by words |" in printed
    assert "karat's own cost:" in printed  # how much it is, a busy machine decides, and no test


def test_the_statistics_benchmark_runs(bench: Bench) -> None:
    """``./scripts/bench stats --quick``: karat's bootstrap and sign-flip test beside SciPy's and ranx's."""
    assert "| ranx |" in bench("stats")


def test_the_explain_benchmark_runs(bench: Bench) -> None:
    """``./scripts/bench explain --quick``: what karat explain and ablate cost beside an evaluation."""
    rows = [line.split("|")[1].strip() for line in bench("explain").splitlines() if line.startswith("| karat")]
    assert rows == ["karat eval", "karat explain", "karat ablate"]  # how much it is, a busy machine decides


def test_the_benchmark_of_judges_runs_beside_ragas_and_deepeval(bench: Bench) -> None:
    """``./scripts/bench judges --quick``: what it costs, and that karat alone does not leave out a lost verdict."""
    printed = bench("judges")
    assert {"| karat | not measurable |", "| ragas | 1.00 |", "| deepeval | 1.00 |"} <= set(printed.splitlines())
    assert "| karat | 2.0 |" in printed  # calls; the rest a busy machine decides
    table = [line for line in printed.splitlines() if line.startswith(("| context ", "| answer ", "| noise "))]
    page = (ROOT / "docs" / "from-ragas.md").read_text(encoding="utf-8")
    assert len(table) == 5
    assert [line for line in table if line not in page.splitlines()] == []


def test_the_benchmark_of_the_query_log_runs_and_karat_loses_nothing(bench: Bench) -> None:
    """``./scripts/bench online --quick``: three loads, and records lost when hosts are killed."""
    printed = bench("online")
    (lost,) = [line for line in printed.splitlines() if line.startswith("| karat |") and line.endswith("% |")]
    assert lost.endswith("| 0 | 0.0% |")
    assert "| OpenTelemetry, batches | one a millisecond |" in printed
    assert "records a CPU second" in printed  # how many, a busy machine decides


def test_the_benchmark_of_shadows_runs(bench: Bench) -> None:
    """``./scripts/bench shadow --quick``: what a shadow costs the caller, beside the control alone."""
    printed = bench("shadow")
    assert "| the control alone | one after the other |" in printed
    assert "| sampled, the queue is full | one a millisecond |" in printed  # how much, a busy machine decides
    faults = {line.split(" |")[0] for line in printed.partition("fault of the treatment")[2].splitlines()[2:]}
    assert {"| it hangs", "| it raises SystemExit", "| it computes in Python", "| the store is locked"} <= faults
    assert len(faults - {""}) == 10


def test_the_flags_benchmark_runs(bench: Bench) -> None:
    """``./scripts/bench flags --quick``: what it costs to ask for a flag, beside a dict and OpenFeature."""
    printed = bench("flags")
    for name in ("a look into a dict", "karat", "OpenFeature, its provider in memory", "OpenFeature, karat's provider"):
        assert f"\n{name}" in printed


def test_the_receiving_benchmark_runs_and_loses_nothing(bench: Bench) -> None:
    """``./scripts/bench receive --quick``: every query is in the store once, with its channels, session and answer."""
    assert "stored 1,200 of 1,200 queries, 0 twice, 1,200 whole" in bench("receive")


def test_the_workload_of_peers_means_the_same_to_those_that_are_installed_here(tmp_path: Path) -> None:
    """``./scripts/bench peers`` installs for minutes; what it gives to every tool is tried with two of them."""
    make = "from pathlib import Path; import workload; workload.make_workload(Path('.'), 2)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PEERS), str(ROOT / "src")])}
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, env=environment, check=True)

    def probe(tool: str, task: str) -> dict[str, Any]:
        command = [sys.executable, PEERS / "probes.py", tool, task, tmp_path]
        printed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        return json.loads(printed)  # type: ignore[no-any-return]

    ours, theirs = probe("karat", "score"), probe("pytrec_eval", "score")
    assert (ours["hosts"], theirs["hosts"]) == ([], [])
    for measure, values in theirs["values"].items():
        assert ours["values"][measure] == pytest.approx(values)
    assert (
        len(probe("pytrec_eval", "lost")["values"]["P@5"]) < len(values) == len(probe("karat", "lost")["values"]["P@5"])
    )
    decided = probe("karat", "gate")
    assert [outcome for outcome in decided["worse 0.02"] if outcome == "pass"] == []
