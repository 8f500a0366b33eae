"""``karat export``: runs and experiments into MLflow."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import validate

from karat import golden
from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.schema import json_schema
from warm import Warm

VERB = "export"
ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[str, str]]
Karat = Callable[..., tuple[int, str, str]]
SET = GoldenSet(
    name="tiny",
    grades=("no", "yes"),
    relevant=1,
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in ("pool", "wifi")),
    queries=tuple(Query(id=f"q-{name}", text=f"where is the {name}") for name in ("pool", "wifi")),
    judgments=tuple(Judgment(query=f"q-{name}", target=Target(document=name), grade=1) for name in ("pool", "wifi")),
)
TREC = "q-pool Q0 pool 1 2.0 mine\nq-wifi Q0 pool 1 2.0 mine\nq-wifi Q0 wifi 2 1.0 mine\n"
ENTRY = {"id": "exp-001", "date": "2026-01-15", "results": {"mrr": 0.5}, "verdict": "ACCEPTED"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A golden set, answers to it, and a log of experiments."""
    golden.write(SET, tmp_path / "set")
    (tmp_path / "karat.toml").write_text('[golden]\npath = "set"\n[eval]\nmeasures = ["RR@10"]\n')
    (tmp_path / "answers.txt").write_text(TREC)
    (tmp_path / "experiments.json").write_text(json.dumps({"experiments": [ENTRY]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def karat(
    python_of: Callable[[str], Path], warm_mlflow: Warm, environment: dict[str, str], folder: Path, tmp_path: Path
) -> Karat:
    """Call ``karat export`` where MLflow is installed; give its exit code, its output and its errors."""
    program = warm_mlflow.write_program(tmp_path.with_name(f"{tmp_path.name}-karat"), "karat")

    def call(*arguments: str, cold: bool = False) -> tuple[int, str, str]:
        start: list[str | Path] = [python_of("mlflow"), "-m", "karat"] if cold else [program]
        process = subprocess.run(
            [*start, "export", *arguments],
            cwd=folder,
            env=environment | {"HOME": str(folder / "home"), "COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert "Traceback" not in process.stderr
        return process.returncode, process.stdout, process.stderr

    return call


def test_without_mlflow_it_says_what_is_missing(run: Run, folder: Path) -> None:
    """Exit code 2 before anything is read or written."""
    _, err = run("--mlflow", "sqlite:///mlflow.db", "no-such-file", code=2)
    assert err.startswith("karat: export to MLflow is not possible here (No module named 'mlflow'); pip install ")
    assert not (folder / "mlflow.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("answers.txt",), "Missing option '--mlflow'"),
        (("--mlflow", "x"), "Missing argument 'RUN|EXPERIMENTS_JSON...'"),
    ],
)
def test_a_place_and_files_have_to_be_named(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """Nothing is exported to a default."""
    _, err = run(*arguments, code=2)
    assert message in err


def test_what_was_done_is_shown(karat: Karat, folder: Path) -> None:
    """A row for each run and experiment, then the counts; MLflow's own chatter is not among the results."""
    code, out, err = karat("--mlflow", "./mlruns", "answers.txt", "experiments.json")
    assert code == 0, err
    assert out == (
        "kind        name         outcome\n"
        "run         answers.txt  created\n"
        "experiment  exp-001      created\n\n"
        "experiment karat at ./mlruns: 2 created\n"
    )
    assert err == (
        "karat: MLflow only maintains folders; its own commands open one with MLFLOW_ALLOW_FILE_STORE=true, "
        "or take sqlite\n"
    )
    (folder / "experiments.json").write_text(json.dumps({"experiments": [ENTRY | {"verdict": "REJECTED"}]}))
    _, out, _ = karat("--mlflow", "./mlruns", "answers.txt", "experiments.json")
    assert out.endswith("\nexperiment karat at ./mlruns: 1 updated, 1 unchanged\n")


def test_json_has_the_ids_that_mlflow_gave(karat: Karat, folder: Path) -> None:
    """The id is that of the run in the store, which has the measures that were asked for."""
    code, out, _ = karat(
        "--mlflow", "./mlruns", "--experiment", "hotel é", "-m", "P@1", "--golden", ".", "--json", "answers.txt"
    )
    document = json.loads(out)
    validate(document, json_schema("export"))
    assert (code, document["mlflow"], document["experiment"]) == (0, "./mlruns", "hotel é")
    (first,) = document["exported"]
    assert (first["file"], first["kind"], first["name"], first["outcome"]) == (
        "answers.txt",
        "run",
        "answers.txt",
        "created",
    )
    (metric,) = folder.glob(f"mlruns/*/{first['run_id']}/metrics/P_at_1")
    assert float(metric.read_text().split()[1]) == 0.5


def test_nothing_is_written_when_a_file_is_wrong(karat: Karat, folder: Path) -> None:
    """All files are read first, so that half of an export is no outcome."""
    (folder / "broken.jsonl").write_text('{"karat": "run"}\n')
    code, out, err = karat("--mlflow", "sqlite:///mlflow.db", "answers.txt", "broken.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("karat: broken.jsonl: ")
    assert not (folder / "mlflow.db").exists()


def test_an_empty_log_is_no_mistake(karat: Karat, folder: Path) -> None:
    """There is nothing to export, and it says so."""
    (folder / "experiments.json").write_text('{"experiments": []}')
    code, out, _ = karat("--mlflow", "./mlruns", "experiments.json")
    assert (code, out) == (0, "kind  name  outcome\n\nexperiment karat at ./mlruns: nothing to export\n")


def test_the_page_shows_what_is_printed(karat: Karat, folder: Path) -> None:
    """docs/export.md cannot run its example where MLflow is not installed; here it is what is printed."""
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    example = re.search(r"```text\nkarat export (.+)\n```\n\n```text\n(.+?)```", page, re.DOTALL)
    assert example
    runs = folder / "runs"
    runs.mkdir()
    (folder / "answers.txt").rename(runs / "answers.txt")
    _, out, _ = karat(*example[1].split(), cold=True)
    assert out == example[2]
